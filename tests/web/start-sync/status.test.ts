// Tests snapshots of the status, and what other tabs and threads are told of it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  changesOf,
  StatusSnapshots,
  sumOf,
  unknownStatus,
  withChanges,
} from "../../../web/src/start-sync/status.ts";
import type { SyncStatus, TableSyncStatus } from "../../../web/src/start-sync/types.ts";

const idle = unknownStatus("idle");
const statusOf = (tables: Record<string, TableSyncStatus>): SyncStatus => sumOf(tables);

describe("a snapshot", () => {
  test("is the same object until something changes", () => {
    let pending = 0;
    const error = { code: "RemoteClock", message: "m", hint: "h" } as const;
    const read = () =>
      statusOf({ people: { ...idle, pending, lastPulledAt: new Date(5), error: { ...error } } });
    const snapshots = new StatusSnapshots(read);
    const first = snapshots.current;
    assert.equal(snapshots.current, first);
    assert(Object.isFrozen(first.tables.people));
    pending = 1;
    assert.equal(snapshots.current.pending, 1);
    assert.notEqual(snapshots.current, first);
  });

  test("does not look at the keys of suspects", () => {
    const keys = new Proxy([], {
      get: () => assert.fail("a key was read"),
    });
    const suspects = Object.freeze([Object.freeze({ id: "1", table: "people", keys })]);
    const snapshots = new StatusSnapshots(() => statusOf({ people: { ...idle, suspects } }));
    assert.equal(snapshots.current, snapshots.current);
  });
});

test("without tables, nothing is followed", () => {
  assert.equal(sumOf({}).following, false);
  assert.equal(sumOf({ people: { ...idle, following: true } }).following, true);
});

describe("changes of the status", () => {
  const people = { ...idle, pending: 1, suspects: [{ id: "1", table: "people", keys: [] }] };
  const before = statusOf({ people, lamps: idle });

  test("are what is different, and lead to the same status", () => {
    const after = statusOf({ people: { ...people, pending: 2 }, lamps: idle });
    const changes = changesOf(before, after);
    assert.deepEqual(changes, { people: { pending: 2 } });
    assert.deepEqual(withChanges(before, changes), after);
    assert.deepEqual(changesOf(after, after), {});
  });

  test("are everything for those who know nothing", () => {
    const changes = structuredClone(changesOf(undefined, before));
    assert.deepEqual(withChanges(undefined, changes), before);
  });

  test("have values that become undefined, and tables that are not synced any more", () => {
    const pulled = statusOf({ people: { ...people, lastPulledAt: new Date(1) }, lamps: idle });
    const after = statusOf({ people });
    const changes = structuredClone(changesOf(pulled, after));
    assert.deepEqual(changes, { people: { lastPulledAt: undefined }, lamps: undefined });
    assert.deepEqual(withChanges(pulled, changes), after);
  });
});
