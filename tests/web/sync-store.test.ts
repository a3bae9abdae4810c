// The store over the real engine must do what the store of the simulation does: random drafts and
// local writes on both, after which both have the same in all tables, also in a new process, and
// if parts are not in memory.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { RequestEncoder } from "../../web/src/client/request-encoder.ts";
import { ResponseDecoder } from "../../web/src/client/response-decoder.ts";
import type { StoreError } from "../../web/src/errors.ts";
import { Draft, operationsPerCommit, type TableView } from "../../web/src/sync/draft.ts";
import type { Base, FrozenPush, OutboxOp, TableName } from "../../web/src/sync/hidden-tables.ts";
import { keyAfter, keyOf, partitionRange } from "../../web/src/sync/keys.ts";
import { outboxKey } from "../../web/src/sync/partition-log.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { Value } from "../../web/src/sync/value.ts";
import { EngineStore } from "../../web/src/sync-store/engine-store.ts";
import {
  type OpaqueTable,
  places,
  rowKeyOf,
  type TableNumber,
  tableNumber,
} from "../../web/src/sync-store/hidden-keys.ts";
import { etagOf, ticksOf } from "../../web/src/sync-store/timestamps.ts";
import { createEngine, type Engine, PartsNeeded } from "../../web/src/wasm/engine.ts";
import { Disk, type FakeStore } from "../sync/fake-store.ts";
import { checkpoint, operationsOf, tables } from "../sync/real-engine.ts";
import { Scheduler } from "../sync/scheduler.ts";

const table = "people";
const nowMs = 1_800_000_000_000;
const encoder = new RequestEncoder(false);
const decoder = new ResponseDecoder();
const int32 = (value: number): Value => ({ type: "Int32", value });
const remoteTicks = 17_000_000_000_000_000n;

/** What a process leaves in storage. */
class Files {
  manifest: Uint8Array | undefined;
  readonly parts = new Map<number, Uint8Array>();
  readonly segments: (Uint8Array | undefined)[] = []; // by sequence, from 1

  /** Opens a store without its parts. */
  async open(): Promise<Engine> {
    const engine = await createEngine();
    engine.recover(this.manifest);
    for (const [index, segment] of this.segments.entries())
      if (segment) engine.replaySegment(index + 1, segment);
    engine.finishRecovery();
    await engine.loadDeferredModule("sync");
    engine.enableSync();
    return engine;
  }

  storePending(engine: Engine): void {
    const sealed = engine.seal();
    if (sealed === undefined) return;
    for (const [i, segment] of sealed.segments.entries())
      this.segments[sealed.sequence - 1 + i] = segment;
    engine.markStored(sealed.sequence + sealed.segments.length - 1);
  }

  checkpoint(engine: Engine): void {
    this.storePending(engine);
    const end = checkpoint(engine, this.parts, nowMs);
    if (end === undefined) return;
    this.manifest = end.manifest;
    this.segments.fill(undefined, 0, end.segmentsBelow - 1);
    engine.markCheckpointCommitted();
  }

  /** Repeats the call, and loads what it needs. */
  withParts<T>(engine: Engine, call: () => T | PartsNeeded): T {
    for (;;) {
      const result = call();
      if (!(result instanceof PartsNeeded)) return result;
      this.loaded += result.ids.length;
      for (const id of result.ids) engine.loadPart(id, this.parts.get(id));
    }
  }
  loaded = 0;
}

class Pair {
  readonly fake: FakeStore;
  readonly files = new Files();
  engine: Engine;
  real: EngineStore;
  #opened = 0; // the last commit when the process opened the store

  constructor(fake: FakeStore, engine: Engine) {
    this.fake = fake;
    this.engine = engine;
    this.real = new EngineStore(engine, table);
  }

  /** A new process: it has what is stored. */
  async reopen(): Promise<void> {
    this.files.storePending(this.engine);
    this.engine.close();
    this.engine = await this.files.open();
    assert(this.engine.hasSyncedTables);
    this.real = new EngineStore(this.engine, table);
    this.#opened = this.fake.commit;
  }

  transact(decide: (draft: Draft) => void): void {
    void this.fake.transact(decide);
    this.files.withParts(this.engine, () => this.real.apply(decide, true, nowMs));
    this.compare();
  }

  /** A local write, as a client of the store makes it. */
  write(rows: ReadonlyMap<string, Properties | undefined>): void {
    const request = encoder.write(table, operationsOf(rows), true, undefined, (bytes) =>
      bytes.slice(),
    );
    const staged = this.files.withParts(this.engine, () =>
      this.engine.stageAndPublish([request], nowMs),
    );
    decoder.etagsOfWrite(staged.responses[0] as Uint8Array);
    const edits = new Map([...rows].map(([key, properties]) => [key, () => properties]));
    this.fake.write(this.engine.lastCommit, edits);
    this.compare();
  }

  compare(): void {
    assert.equal(this.real.view.commit, this.fake.commit + commitsBefore);
    for (const name of tables) {
      const content = this.read((view) => contentOf(view, name));
      assert.deepEqual(content, contentOf(this.fake.view, name), name);
    }
    // A new process knows nothing of earlier commits.
    for (const commit of [this.fake.commit - 1, this.fake.commit - 4]) {
      for (const key of someKeys) {
        const touched = this.read((view) => view.isTouchedSince(key, commit + commitsBefore));
        const isKnown = commit >= this.#opened;
        assert.equal(touched, !isKnown || this.fake.view.isTouchedSince(key, commit), key);
      }
    }
  }

  read<T>(look: (view: EngineStore["view"]) => T): T {
    return this.files.withParts(this.engine, () => {
      const read = this.real.read(look);
      return read instanceof PartsNeeded ? read : read.result;
    });
  }
}

/** Of the real store: the table is created, and begins to be synced. */
const commitsBefore = 2;

const someKeys = ["p", "q"].flatMap((partition) =>
  ["0", "1", "2", "3"].map((row) => keyOf(partition, row)),
);

type View = Pick<FakeStore["view"], "entries" | "get">;

/** Without what the two stores choose differently: versions of dirty rows, numbers of commits. */
function contentOf(view: View, name: TableName): unknown {
  return [...view.entries(name, "")].map(([key, value]) => {
    assert.deepEqual(withoutUndefined(view.get(name, key)), withoutUndefined(value), name);
    if (name === "outbox") return { ...(value as OutboxOp), number: 0, group: 0 };
    if (name !== "rows") return [key, withoutUndefined(value)];
    const isDirty = view.get("bases", key) !== undefined;
    return [key, isDirty ? { ...(value as object), version: undefined } : value];
  });
}

/** The real store does not keep members that are undefined, but returns what was put last as is. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null || value instanceof Map || value instanceof Set)
    return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutUndefined(member)]));
}

async function openPair(seed: number): Promise<[Pair, Scheduler]> {
  const scheduler = new Scheduler(seed);
  const engine = await new Files().open();
  encoder.createTable(table, (request) => engine.stageAndPublish([request], nowMs));
  engine.setSynced(table, "begin", true, nowMs);
  return [new Pair(new Disk(scheduler, () => {}).open(), engine), scheduler];
}

test("Timestamps and ETags are those of the store", () => {
  const ticks = ticksOf("2020-07-24T14:34:48.4767123Z");
  assert.equal(etagOf(ticks), `W/"datetime'2020-07-24T14%3A34%3A48.4767123Z'"`);
  assert.equal(
    etagOf(ticksOf("2020-07-24T14:34:48.4767Z")),
    `W/"datetime'2020-07-24T14%3A34%3A48.4767Z'"`,
  );
  assert.equal(etagOf(ticksOf("2020-07-24T14:34:48Z")), `W/"datetime'2020-07-24T14%3A34%3A48Z'"`);
});

const text = (units: number): Value => ({ type: "String", value: "x".repeat(units) });
const binary = (bytes: number): Value => ({
  type: "Binary",
  value: Buffer.alloc(bytes, "b").toString("base64"),
});

/** About as much as one entity can have, of strings or of bytes. */
const large = (value: Value): Properties =>
  new Map(Array.from({ length: 15 }, (_, i) => [`p${i}`, value]));

/** Ends of key ranges are not always keys of entities. */
const rangeEnds = [
  "",
  "p",
  partitionRange("p").to as string,
  keyAfter(keyOf("p", "1")),
  keyOf("p".repeat(512), `${"r".repeat(512)}\u0001`),
];

function randomDraft(seed: number, step: number, { chance, below }: Random) {
  const key = someKeys[below(someKeys.length)] as string;
  const partition = key.slice(0, 1);
  const properties = someProperties({ chance, below });
  const timestamp = remoteTicks + BigInt(step);
  const version = { timestamp, etag: step % 2 ? etagOf(timestamp) : `W/"${step}"` };
  const bases: readonly Base[] = [
    { kind: "absent" },
    { kind: "outdated", properties: undefined },
    { kind: "outdated", properties },
    { kind: "row", row: { properties, ...version } },
  ];
  const rangeEnd = rangeEnds[below(rangeEnds.length)] as string;
  const op = { number: step, group: 0, key, change: { kind: "delete" } } as const;
  const choice = below(6);
  const isErased = chance(0.3);
  const local = chance(0.05) ? large(text(32_000)) : properties;
  return (draft: Draft) => {
    if (choice === 0 && draft.get("bases", key) === undefined)
      draft.put("rows", key, { properties, version });
    else if (choice === 1 && draft.get("bases", key))
      draft.put("bases", key, bases[step % 4] as Base);
    else if (choice === 2) {
      for (const [outbox, pending] of draft.entries("outbox", "")) {
        if (pending.key !== key) continue;
        const { change } = pending;
        if (seed % 2 && step % 3 === 0 && change.kind === "edit") {
          const unwritten = new Set(["b", "c"]);
          const creation = { kind: "create", properties: change.set, unwritten } as const;
          draft.put("outbox", outbox, { ...pending, change: creation });
        } else if (seed % 2) draft.put("outbox", outbox, { ...pending, wasResent: true });
        else {
          draft.delete("outbox", outbox);
          draft.put("bases", key, { kind: "absent" });
        }
      }
    } else if (choice === 3) {
      const lost = { op, local, remote: undefined, outcome: "unknown" } as const;
      draft.put("lost", outboxKey(partition, step), lost);
      const member = { key, base: bases[step % 4] as Base, intended: local };
      const push = { partition, token: "t", upTo: step, groups: 1, members: [member] };
      if (isErased) draft.delete("pushes", partition);
      else draft.put("pushes", partition, { ...push, idleKeys: [key] });
      draft.put("parked", outboxKey(partition, 0), { group: 0, reason: "r", ops: [op] });
    } else if (choice === 4) {
      if (isErased) for (const name of ["marks", "settling"] as const) draft.delete(name, key);
      else draft.put("settling", key, true);
      if (isErased) draft.delete("scans", rangeEnd);
      else draft.put("scans", rangeEnd, { to: key, delta: undefined, watermark: timestamp });
      if (isErased) draft.delete("receipts", partition);
      else draft.put("receipts", partition, { etag: version.etag });
    } else {
      draft.put("marks", key, { at: step });
      draft.put("tries", partition, step);
      draft.put("server", "time", BigInt(step));
      draft.put("overlap", "ms", step);
    }
  };
}

interface Random {
  readonly chance: (probability: number) => boolean;
  readonly below: (limit: number) => number;
}

function someProperties({ chance, below }: Random): Properties {
  const properties = new Map([["a", int32(below(3))]]);
  if (chance(0.3)) properties.set("b", { type: "String", value: "\ud800ä" });
  if (chance(0.3)) properties.set("c", { type: "Double", value: -0 });
  // Other clients can write properties with the names that ours has for system properties.
  for (const name of ["etag", "timestamp", "partitionKey", "rowKey", "__proto__"])
    if (chance(0.2)) properties.set(name, text(below(3)));
  // Those of rows of the outbox and of Bases.
  if (properties.has("b") && properties.has("etag")) properties.set("_Kind", text(1));
  if (properties.has("c") && properties.has("rowKey")) properties.set("_Key", int32(1));
  return properties;
}

function randomWrite(pair: Pair, random: Random): Map<string, Properties | undefined> {
  const { chance } = random;
  const rows = new Map<string, Properties | undefined>();
  const partition = chance(0.5) ? "p" : "q";
  for (const key of someKeys) {
    if (!key.startsWith(partition) || !chance(0.4)) continue;
    const before = pair.fake.view.get("rows", key);
    const value = chance(0.5) ? text(32_000) : binary(65_000);
    const after = chance(0.05) ? large(value) : someProperties(random);
    const isDeleted = before !== undefined && chance(0.3);
    // Unlike the core, the simulation's store makes nothing of a write without a difference.
    const isSame =
      JSON.stringify([...(before?.properties ?? [])]) ===
      JSON.stringify(isDeleted ? [] : [...after]);
    if (!isSame) rows.set(key, isDeleted ? undefined : after);
  }
  return rows;
}

test("random drafts and writes have the same result as in the simulation's store", async () => {
  for (let seed = 1; seed <= 4; ++seed) {
    const [pair, scheduler] = await openPair(seed);
    const below = (n: number) => scheduler.below(n);
    const random: Random = { below, chance: (probability) => scheduler.chance(probability) };
    for (let step = 0; step < 40; ++step) {
      const kind = below(9);
      if (kind < 3) {
        const rows = randomWrite(pair, random);
        if (rows.size > 0) pair.write(rows);
      } else if (kind === 3) await pair.reopen();
      else if (kind === 4) pair.files.checkpoint(pair.engine);
      else pair.transact(randomDraft(seed, step, random));
    }
    pair.files.checkpoint(pair.engine);
    await pair.reopen();
    pair.compare();
    assert(pair.files.loaded > 0, "parts were loaded");
    pair.engine.close();
  }
});

test("an operation with a megabyte of bytes keeps all of its properties when it is rewritten", async () => {
  for (const value of [text(32_000), binary(65_000)]) {
    const [pair] = await openPair(1);
    pair.write(new Map([[keyOf("p", "1"), large(value)]]));
    pair.transact((draft) => {
      for (const [key, op] of draft.entries("outbox", ""))
        draft.put("outbox", key, { ...op, wasResent: true });
    });
    pair.transact((draft) => {
      for (const [key, op] of draft.entries("outbox", ""))
        draft.put("outbox", key, {
          ...op,
          change: { kind: "edit", set: new Map(), unset: new Set(["p1"]) },
        });
    });
    pair.engine.close();
  }
});

test("reading a value in several rows reads no others", async () => {
  const [pair] = await openPair(1);
  const op = { number: 1, group: 1, key: keyOf("p", "1"), change: { kind: "delete" } } as const;
  const lost = { op, local: large(text(32_000)), remote: undefined, outcome: "unknown" } as const;
  const putLost = (draft: Draft) => {
    for (let i = 0; i < 6; ++i) draft.put("lost", outboxKey("p", i), lost);
  };
  pair.real.apply(putLost, true, nowMs);
  let bytes = 0;
  const engine = {
    lastCommit: pair.engine.lastCommit,
    applySynced: () => false,
    readSynced(number: number, request: Uint8Array) {
      const response = pair.engine.readSynced(number, request);
      if (!(response instanceof PartsNeeded)) bytes += response.length;
      return response;
    },
  };
  const { view } = new EngineStore(engine, table);
  assert(view.get("lost", outboxKey("p", 0)));
  assert(bytes < 1.2e6, `${bytes} bytes`);
  bytes = 0;
  for (const [key] of view.entries("lost", "")) if (key !== "") break;
  assert(bytes < 4e6, `${bytes} bytes`);
  pair.engine.close();
});

test("values are written and read as bytes, without the detour of base64", async (t) => {
  const [{ engine, real }] = await openPair(1);
  const calls = [t.mock.method(globalThis, "btoa"), t.mock.method(globalThis, "atob")];
  const [[name, key, value] = []] = sampleValues().filter(([of]) => of === "pushes");
  assert(name && key);
  real.apply((draft) => draft.put(name, key, value as never), true, nowMs);
  assert.deepEqual([...real.view.entries(name, "")], [[key, withoutUndefined(value)]]);
  assert.deepEqual(
    calls.map(({ mock }) => mock.callCount()),
    [0, 0],
  );
  engine.close();
});

test("a push that was written last is not decoded, unless another one is stored", async () => {
  const [{ engine, real }] = await openPair(1);
  const [[, key = "", value] = []] = sampleValues().filter(([of]) => of === "pushes");
  const put = (push: unknown) =>
    real.apply((draft) => draft.put("pushes", key, push as FrozenPush), true, nowMs);
  put(value);
  assert.equal(real.view.get("pushes", key), value);
  const another = new EngineStore(engine, table);
  assert.deepEqual(another.view.get("pushes", key), withoutUndefined(value));
  another.apply(
    (draft) => draft.put("pushes", key, { ...(value as FrozenPush), token: "u" }),
    true,
    nowMs,
  );
  assert.equal(real.view.get("pushes", key)?.token, "u");
  put(value);
  real.apply((draft) => draft.delete("pushes", key), true, nowMs);
  assert.equal(real.view.get("pushes", key), undefined);
  engine.close();
});

test("any number of operations can be lost in one commit", async () => {
  const [pair] = await openPair(1);
  const change = { kind: "delete" } as const;
  const count = 25_000;
  pair.real.apply(
    (draft) => {
      for (let i = 0; i < count; ++i) {
        const op = { number: i, group: 0, key: keyOf("p", "1"), change };
        draft.put("outbox", outboxKey("p", i), op);
      }
    },
    true,
    nowMs,
  );
  const lost = (op: OutboxOp) =>
    ({ op, local: undefined, remote: undefined, outcome: "unknown" }) as const;
  const applied = pair.real.apply(
    (draft) => {
      for (const [key, op] of draft.entries("outbox", "")) {
        draft.delete("outbox", key);
        draft.put("lost", key, lost(op));
      }
    },
    true,
    nowMs,
  );
  assert(!(applied instanceof PartsNeeded) && applied.changes);
  assert.equal([...pair.real.view.entries("outbox", "")].length, 0);
  assert.equal([...pair.real.view.entries("lost", "")].length, count);
  pair.engine.close();
});

test("one commit can insert and update more rows than 2 bytes can count the effects of", async () => {
  const [{ engine, real }] = await openPair(1);
  const mark = (draft: Draft, from: number, to: number) => {
    for (let i = from; i < to; ++i) draft.put("marks", keyOf("p", String(i)), { at: 1 });
  };
  real.apply((draft) => mark(draft, 0, 1), true, nowMs);
  const applied = real.apply((draft) => mark(draft, 0, 4 * 65_536 + 1), true, nowMs);
  assert(!(applied instanceof PartsNeeded) && applied.changes);
  real.apply((draft) => draft.delete("marks", keyOf("p", "0")), true, nowMs);
  assert.equal(real.view.get("marks", keyOf("p", "0")), undefined);
  engine.close();
});

test("a clean row has no byte in hidden tables", async () => {
  const [pair] = await openPair(1);
  const timestamp = remoteTicks;
  const version = { timestamp, etag: etagOf(timestamp) };
  const properties = new Map([["a", int32(1)]]);
  const before = pair.engine.stats().bytes;
  pair.transact((draft) => {
    for (const key of someKeys) draft.put("rows", key, { properties, version });
  });
  const { bytes, rows } = pair.engine.stats();
  assert.equal(rows, someKeys.length);
  assert(bytes > before);
  for (let number = 0; number <= tableNumber.state; ++number) {
    const from = { partitionKey: "", rowKey: "" };
    const hidden = [...pair.real.view.reader.range(number as TableNumber, from, undefined)];
    assert.deepEqual(hidden, []);
  }
  pair.engine.close();
});

// One value of each table, with everything that values can have. tests/testdata/sync/values.txt has
// the rows in which they are stored (web/src/sync-store/VALUES.md). Values that an earlier version
// has written must stay readable, so lines are only added there.
function sampleValues(): [OpaqueTable, string, unknown][] {
  const key = keyOf("CH", "Bern");
  const set: Properties = new Map<string, Value>([
    ["Text", { type: "String", value: "Zürich 😀" }],
    ["Share", { type: "Double", value: -0 }],
    ["None", { type: "Double", value: Number.NaN }],
    ["Big", { type: "Int64", value: "9007199254740993" }],
  ]);
  const change = { kind: "edit", set, unset: new Set(["Old"]) } as const;
  const op = { number: 2_752_512, group: 42, key, change, wasResent: true } as const;
  const row = { properties: set, etag: 'W/"7"', timestamp: 17_000_000_000_000_000n };
  const member = { key, base: { kind: "row", row }, intended: undefined } as const;
  const [partition, upTo] = ["CH", 2_752_513];
  const receipt = { etag: 'W/"8"' };
  const delta = { since: 16n, nextWatermark: 17n, after: key };
  const census = { after: key, beganAt: 1_800_000_000_000 };
  return [
    ["parked", outboxKey("CH", 42), { group: 42, reason: "EntityTooLarge", ops: [op] }],
    [
      "pushes",
      partition,
      { partition, token: "t", upTo, groups: 1, members: [member], idleKeys: [key], receipt },
    ],
    ["tries", partition, 3],
    ["receipts", partition, receipt],
    ["settling", key, true],
    ["marks", key, { at: 42 }],
    ["scans", "", { to: partitionRange("CH").to, watermark: 17n, delta, census }],
    // Of a version that did not store when a census began.
    ["scans", "CH", { to: undefined, watermark: 17n, census: { after: key } }],
    ["lost", outboxKey("CH", 2_752_512), { op, local: set, outcome: "unknown" }],
    [
      "lost",
      outboxKey("CH", 2_752_513),
      { op, base: set, local: set, remote: set, isRemoteKnown: true, outcome: "notApplied" },
    ],
    ["server", "time", 17_000_000_000_000_000n],
    ["overlap", "ms", 120_000],
    ["client", "name", "a1b2"],
    ["client", "remote", "cosmos"],
    [
      "feed",
      "state",
      {
        position: 18n,
        store: "s",
        scope: "",
        witness: { sequence: 17n, text: "w" },
        isComplete: true,
      },
    ],
  ];
}

const valuesFile = new URL("../testdata/sync/values.txt", import.meta.url);

test("values are written as described, and samples of them can be read", async () => {
  const [{ engine, real }] = await openPair(1);
  const samples = sampleValues();
  real.apply(
    (draft) => {
      for (const [name, key, value] of samples) draft.put(name, key, value as never);
    },
    true,
    nowMs,
  );
  const lines: string[] = [];
  for (const number of new Set(samples.map(([name]) => places[name].number))) {
    for (const { partitionKey, rowKey, binary } of real.view.reader.range(
      number,
      { partitionKey: "", rowKey: "" },
      undefined,
    )) {
      const value = new TextDecoder().decode(binary.get("V0"));
      lines.push(`${number} ${JSON.stringify([partitionKey, rowKey])} ${value}`);
    }
  }
  if (process.env["ENTITABLE_REWRITE"]) writeFileSync(valuesFile, `${lines.join("\n")}\n`);
  assert.deepEqual(readFileSync(valuesFile, "utf8").trimEnd().split("\n"), lines);
  for (const [name, key, sample] of samples) {
    assert.deepEqual(withoutUndefined(real.view.get(name, key)), withoutUndefined(sample), name);
    const ofName = samples.filter(([other]) => other === name);
    assert.deepEqual(
      [...real.view.entries(name, "")],
      ofName.map(([, key, sample]) => [key, withoutUndefined(sample)]),
      name,
    );
  }
  engine.close();
});

test("a draft that changes nothing makes no commit, but touches its keys", async () => {
  const [pair] = await openPair(1);
  const before = pair.engine.lastCommit;
  const applied = pair.real.apply(
    (draft) => {
      for (const name of tables) if (name !== "outbox") draft.delete(name, keyOf("p", "1"));
      draft.delete("outbox", outboxKey("p", 1));
    },
    true,
    nowMs,
  );
  assert(!(applied instanceof PartsNeeded) && !applied.changes);
  assert.equal(pair.engine.lastCommit, before);
  // An answer that says "absent" of what the store does not have is newer than those before it.
  assert(pair.real.view.isTouchedSince(keyOf("p", "1"), before));
  assert(!pair.real.view.isTouchedSince(keyOf("p", "1"), before + 1));
  pair.engine.close();
});

test("rows that sync has not written are absent, or cannot be read, but stop no writes", async () => {
  const [pair, scheduler] = await openPair(3);
  const values: readonly Value[] = [int32(9), text(3), binary(5)];
  const names = ["_Kind", "_Key", "_Etag", "_Group", "V0", "V1", "x"];
  const rowKeys = ["1", "0000000000000001", "0000000000000001s0", "0000000000000001000"];
  const mayBeAbsent = new Set<TableName>([
    "tries",
    "receipts",
    "scans",
    "server",
    "overlap",
    "client",
  ]);
  const unreadable = new Set<TableName>();
  for (let step = 0; step < 300; ++step) {
    const entity = Object.fromEntries(
      names
        .filter(() => scheduler.chance(0.4))
        .map((name) => [name, values[scheduler.below(values.length)]]),
    );
    if (scheduler.chance(0.5)) entity["_Kind"] = int32(scheduler.below(4)); // a kind that there is
    const rowKey = rowKeys[scheduler.below(rowKeys.length)] as string;
    const message = encoder.write(
      table,
      [{ kind: "insertOrReplace", partitionKey: "p", rowKey, entity }],
      true,
      undefined,
      (bytes) => bytes.slice(),
    );
    const part = { table: scheduler.below(13), message, timestamps: [0n] };
    pair.engine.applySynced([part], pair.engine.lastCommit, true, nowMs);
    for (const name of tables) {
      try {
        for (const [key, value] of pair.real.view.entries(name, "")) {
          assert.deepEqual(pair.real.view.get(name, key), value, name);
          if (name === "outbox") assert(Number.isSafeInteger((value as OutboxOp).number), key);
        }
      } catch (error) {
        assert.equal((error as StoreError).code, "Corrupted", String(error));
        assert(!mayBeAbsent.has(name), name);
        unreadable.add(name);
      }
    }
    if (scheduler.chance(0.1)) {
      const request = encoder.write(
        table,
        [{ kind: "insertOrReplace", partitionKey: "p", rowKey: "1", entity }],
        false,
        undefined,
        (bytes) => bytes.slice(),
      );
      const staged = pair.engine.stageAndPublish([request], nowMs);
      assert(!(staged instanceof PartsNeeded) && staged.changes);
    }
  }
  assert.deepEqual([...unreadable].sort(), [
    "bases",
    "lost",
    "marks",
    "outbox",
    "parked",
    "pushes",
  ]);
  pair.engine.close();
});

test("an operation whose row has a wrong key or group cannot be read", async () => {
  const good = { _Key: "1", _Kind: int32(0) } as const;
  const int64 = (value: string): Value => ({ type: "Int64", value });
  const number = "0000000000131072"; // of commit 2
  const cases: [isReadable: boolean, rowKey: string, entity: Record<string, unknown>][] = [
    [true, number, good],
    [true, number, { ...good, _Group: int64("0") }],
    [true, number, { ...good, _Group: int64("2") }],
    [false, number, { ...good, _Group: int64("3") }],
    [false, number, { ...good, _Group: int64("-1") }],
    [false, number, { ...good, _Group: int32(1) }],
    [false, number, { ...good, _Group: true }],
    [false, number, { ...good, _Kind: int64("0") }],
    [false, "x", { ...good, _Group: int64("0") }],
    [false, "00000000001310720", { ...good, _Group: int64("0") }],
    [false, "9999999999999999", { ...good, _Group: int64("0") }],
  ];
  for (const [isReadable, rowKey, entity] of cases) {
    const [{ engine, real }] = await openPair(1);
    putHidden(engine, tableNumber.outbox, rowKey, entity);
    const read = () => [...real.view.entries("outbox", "")].length;
    if (isReadable) assert.equal(read(), 1);
    else assert.throws(read, { code: "Corrupted" }, JSON.stringify([rowKey, entity]));
    engine.close();
  }
});

test("a value of another shape counts as one that cannot be read", async () => {
  const [{ engine, real }] = await openPair(1);
  const put = (number: TableNumber, rowKey: string, json: string) =>
    putHidden(engine, number, rowKey, { V0: binaryOf(json) });
  const mark = outboxKey("p", 1);
  put(tableNumber.pushes, "000", "[1,{}]");
  put(tableNumber.marks, rowKeyOf(mark).rowKey, "[1,null]");
  put(tableNumber.tries, "", '[1,{"$number":"NaN"}]');
  put(tableNumber.receipts, "", "[1,[]]");
  put(tableNumber.settling, rowKeyOf(mark).rowKey, "[1,null]");
  assert.throws(() => real.view.get("pushes", "p"), { code: "Corrupted" });
  assert.throws(() => [...real.view.entries("pushes", "")], { code: "Corrupted" });
  assert.throws(() => real.view.get("marks", mark), { code: "Corrupted" });
  assert.equal(real.view.get("tries", "p"), undefined);
  assert.equal(real.view.get("receipts", "p"), undefined);
  assert.equal(real.view.get("settling", mark), true); // the row alone says everything
  engine.close();
});

test("a value without its first row cannot be read, but can be replaced and deleted", async () => {
  const [{ engine, real }] = await openPair(1);
  const sample = sampleValues().find(([name]) => name === "pushes")?.[2] as FrozenPush;
  const orphan = () => putHidden(engine, tableNumber.pushes, "001", { V0: binaryOf("[1,0]") });
  orphan();
  assert.throws(() => real.view.get("pushes", "p"), { code: "Corrupted" });
  assert.throws(() => [...real.view.entries("pushes", "")], { code: "Corrupted" });
  real.apply((draft) => draft.put("pushes", "p", sample), true, nowMs);
  assert.equal(real.view.get("pushes", "p")?.token, sample.token);
  orphan();
  real.apply((draft) => draft.delete("pushes", "p"), true, nowMs);
  assert.equal(real.view.get("pushes", "p"), undefined);
  assert.deepEqual([...real.view.entries("pushes", "")], []);
  engine.close();
});

const binaryOf = (text: string): Value => ({
  type: "Binary",
  value: Buffer.from(text).toString("base64"),
});

function putHidden(engine: Engine, number: TableNumber, rowKey: string, entity: object): void {
  const write = { kind: "insertOrReplace", partitionKey: "p", rowKey, entity } as const;
  const message = encoder.write(table, [write] as never, true, undefined, (bytes) => bytes.slice());
  const part = { table: number, message, timestamps: [0n] };
  assert(engine.applySynced([part], engine.lastCommit, true, nowMs));
}

test("numbers of operations are exact, or not given", () => {
  const commitMax = 2 ** 37 - 1; // OutboxWriter::commit_max
  const draftAfter = (commit: number) => new Draft({ commit } as TableView);
  assert.equal(draftAfter(commitMax - 1).nextNumber(), commitMax * operationsPerCommit);
  assert.throws(() => draftAfter(commitMax).nextNumber(), RangeError);
});

test("the changes of one call are all of one table", async () => {
  const [{ engine }] = await openPair(1);
  const parts = [table, "other"].map((name) => {
    const write = { kind: "insertOrReplace", partitionKey: "p", rowKey: name, entity: {} } as const;
    const message = encoder.write(name, [write], true, undefined, (bytes) => bytes.slice());
    return { table: tableNumber.rows, message, timestamps: [0n] };
  });
  const apply = (given: typeof parts) => engine.applySynced(given, engine.lastCommit, true, nowMs);
  assert.throws(() => apply(parts));
  assert.throws(() => apply([...parts].reverse()));
  assert(apply(parts.slice(0, 1)));
  engine.close();
});

test("the store says why it refuses, and stays usable", async () => {
  const [{ engine, real }] = await openPair(1);
  const refuses = (call: () => unknown, code: string) => assert.throws(call, { code });
  refuses(() => engine.setSynced(table, "begin", true, nowMs), "TableAlreadyExists");
  refuses(() => engine.setSynced("cities", "begin", true, nowMs), "TableNotFound");
  refuses(() => engine.setSynced("cities", "end", true, nowMs), "TableNotFound");
  refuses(() => engine.applySynced([], engine.lastCommit, true, nowMs), "TableNotFound");
  const decide = (draft: Draft) => draft.put("marks", keyOf("p", "1"), { at: 1 });
  const late = new EngineStore(
    {
      lastCommit: 1,
      readSynced: (number, request) => engine.readSynced(number, request),
      applySynced: (parts, seen, publishes, now) => engine.applySynced(parts, seen, publishes, now),
    },
    table,
  );
  refuses(() => late.apply(decide, true, nowMs), "UpdateConditionNotSatisfied");
  const entity = { a: 1 };
  const write = { kind: "insert", partitionKey: "p", rowKey: "1", entity } as const;
  const send = (request: Uint8Array) => {
    const staged = engine.stageAndPublish([request], nowMs);
    assert(!(staged instanceof PartsNeeded));
    decoder.etagsOfWrite(staged.responses[0] as Uint8Array);
  };
  assert.equal(engine.hasPendingOperations(), false);
  encoder.write(table, [write], false, undefined, send);
  assert.equal(engine.hasPendingOperations(), true);
  refuses(() => engine.setSynced(table, "end", true, nowMs), "TableHasPendingOperations");
  refuses(() => encoder.dropTable(table, send), "TableHasPendingOperations");
  const applied = real.apply(decide, true, nowMs);
  assert(!(applied instanceof PartsNeeded) && applied.changes);
  engine.setSynced(table, "discard", true, nowMs);
  assert.equal(engine.hasSyncedTables, false);
  encoder.dropTable(table, send);
  engine.close();
});
