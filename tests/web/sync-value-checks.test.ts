// Tests which decoded values count as values that sync has put.

import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../../web/src/sync/keys.ts";
import type { OpaqueTable } from "../../web/src/sync-store/hidden-keys.ts";
import { isValid } from "../../web/src/sync-store/value-checks.ts";

const key = keyOf("p", "1");
const properties = new Map([["a", { type: "Int32", value: 1 }]]);
const op = { number: 65_536, group: 1, key, change: { kind: "create", properties } };
const row = { properties, etag: "e", timestamp: 1n };
const member = { key, base: { kind: "absent" }, intended: properties };
const push = { partition: "p", token: "t", upTo: 1, groups: 1, members: [member], idleKeys: [key] };
const lost = { op, local: properties, remote: undefined, outcome: "unknown" };
const parked = { group: 1, reason: "r", ops: [op] };
const withChange = (change: unknown) => ({ ...parked, ops: [{ ...op, change }] });
const withBase = (base: unknown) => ({ ...push, members: [{ ...member, base }] });

const feed = { position: 2n, store: "s", scope: "", isComplete: true };
const valid: Readonly<Record<OpaqueTable, readonly unknown[]>> = {
  parked: [
    parked,
    withChange({ kind: "edit", set: properties, unset: new Set(["b"]) }),
    withChange({ kind: "delete" }),
    { ...parked, ops: [{ ...op, wasResent: true }] },
    { ...parked, ops: [{ ...op, change: { ...op.change, unwritten: new Set(["a"]) } }] },
    { ...parked, later: 1 },
  ],
  pushes: [
    push,
    { ...push, receipt: { etag: "e" }, members: [], idleKeys: [] },
    withBase({ kind: "row", row }),
    withBase({ kind: "outdated", properties }),
    withBase({ kind: "outdated" }),
    { ...push, members: [{ ...member, intended: undefined }] },
  ],
  tries: [0, 3],
  receipts: [{ etag: "e" }],
  settling: [true],
  marks: [{ at: 0 }, { at: 1, etag: "e" }],
  scans: [
    {},
    { to: "q", watermark: 1n, delta: { since: -1n, nextWatermark: 2n, after: key }, census: {} },
    { to: "q", delta: { hadRows: true } },
    { to: "q", delta: {}, census: { after: key }, comparedAt: 1_800_000_000_000.5 },
    { to: "q", census: { after: key, beganAt: 1_800_000_000_000.5 } },
  ],
  lost: [lost, { ...lost, base: properties, isRemoteKnown: true, outcome: "notApplied" }],
  server: [0n, 2_534_023_007_999_999_999n],
  overlap: [0, 1.5, 120_000],
  client: ["", "c"],
  feed: [feed, { ...feed, isComplete: false, witness: { sequence: 1n, text: "w" } }],
};

const nothing = [undefined, null, "x", {}, [], [[]], Number.NaN];
const invalid: Readonly<Record<OpaqueTable, readonly unknown[]>> = {
  parked: [
    ...nothing,
    { ...parked, group: -1 },
    { ...parked, reason: undefined },
    { ...parked, ops: op },
    { ...parked, ops: [null] },
    { ...parked, ops: [{ ...op, number: 2 ** 53 }] },
    { ...parked, ops: [{ ...op, key: 1 }] },
    { ...parked, ops: [{ ...op, wasResent: false }] },
    withChange(undefined),
    withChange({ kind: "other" }),
    withChange({ kind: "toString" }),
    withChange({ kind: "create" }),
    withChange({ kind: "create", properties, unwritten: ["a"] }),
    withChange({ kind: "create", properties: new Map([["a", null]]) }),
    withChange({ kind: "create", properties: new Map([[1, { type: "Int32", value: 1 }]]) }),
    withChange({ kind: "edit", set: properties, unset: ["b"] }),
  ],
  pushes: [
    ...nothing,
    { ...push, token: 1 },
    { ...push, upTo: "1" },
    { ...push, upTo: Number.POSITIVE_INFINITY },
    { ...push, members: undefined },
    { ...push, members: { length: 1 } },
    { ...push, idleKeys: [1] },
    { ...push, receipt: {} },
    { ...push, receipt: null },
    withBase(null),
    withBase({ kind: "row" }),
    withBase({ kind: "row", row: { ...row, timestamp: 1 } }),
  ],
  tries: [undefined, null, "3", -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 3n],
  receipts: [...nothing, { etag: 1 }],
  settling: [...nothing, false, 1],
  marks: [...nothing, { at: "1" }, { at: Number.NaN }, { at: 1, etag: 1 }],
  scans: [
    undefined,
    null,
    [],
    "x",
    { to: 1 },
    { watermark: 1 },
    { watermark: 2_534_023_008_000_000_000n },
    { delta: null },
    { delta: { after: 1 } },
    { delta: { hadRows: 1 } },
    { census: { after: null } },
    { census: { after: key, beganAt: "" } },
    { comparedAt: "1" },
    { comparedAt: Number.POSITIVE_INFINITY },
  ],
  lost: [
    ...nothing,
    { ...lost, op: undefined },
    { ...lost, base: {} },
    { ...lost, local: {} },
    { ...lost, isRemoteKnown: 1 },
    { ...lost, outcome: "x" },
  ],
  server: [...nothing, 1, 2_534_023_008_000_000_000n],
  overlap: [...nothing, -1, Number.POSITIVE_INFINITY, 10n, "1"],
  client: [undefined, null, 1, {}, ["c"]],
  feed: [
    ...nothing,
    { ...feed, position: 2 },
    { ...feed, position: -1n },
    { ...feed, position: 2n ** 63n },
    { ...feed, store: undefined },
    { ...feed, scope: 1 },
    { ...feed, witness: { sequence: 1n } },
    { ...feed, isComplete: undefined },
  ],
};

for (const table of Object.keys(isValid) as OpaqueTable[]) {
  test(`a value of ${table}`, () => {
    for (const value of valid[table]) assert(isValid[table](value), JSON.stringify(value, text));
    for (const value of invalid[table]) assert(!isValid[table](value), JSON.stringify(value, text));
  });
}

const text = (_: string, value: unknown) =>
  typeof value === "object" && value !== null ? value : String(value);
