// Tests how a lost operation becomes a new local write.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../../web/src/sync/change.ts";
import { outboxKey } from "../../web/src/sync/partition-log.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import { restoreLost } from "../../web/src/sync/restore.ts";
import { key, properties, remoteRow, scripted } from "./scripted.ts";

const of = key("1");
const id = outboxKey("p", 7);
const named = (name: string, value: string): Properties =>
  new Map([[name, { type: "String", value }]]);

/** Restores an operation while the row is this one. Returns the new operation's change. */
async function restore(change: Change, local: Properties | undefined, row: Properties | undefined) {
  const { store } = await scripted();
  await store.transact((draft) => {
    const op = { number: 7, group: 7, key: of, change };
    draft.put("lost", id, { op, local, remote: undefined, outcome: "notApplied" });
    const version = { etag: "1", timestamp: 1n };
    if (row) draft.put("rows", of, { properties: row, version });
  });
  await store.transact((draft) => restoreLost(draft, id));
  assert.deepEqual(store.keys("lost"), []);
  const [op] = [...store.view.entries("outbox", "")].map(([, value]) => value);
  const base = store.view.get("bases", of);
  return { change: op?.change, base, row: store.view.get("rows", of)?.properties };
}

test("an edit changes its properties in the row as it is now", async () => {
  const change: Change = { kind: "edit", set: named("b", "mine"), unset: new Set(["c"]) };
  const row = new Map([...properties(1), ...named("b", "theirs"), ...named("c", "theirs")]);
  const restored = await restore(change, named("b", "mine"), row);
  assert.deepEqual(restored.row, new Map([...properties(1), ...named("b", "mine")]));
  assert.equal(restored.change?.kind, "edit");
  assert.deepEqual(restored.base, { kind: "row", row: { ...remoteRow(1, "1"), properties: row } });
});

test("an edit of a row that is gone creates it as it was here", async () => {
  const change: Change = { kind: "edit", set: named("b", "mine"), unset: new Set() };
  const local = new Map([...properties(1), ...named("b", "mine")]);
  const restored = await restore(change, local, undefined);
  assert.deepEqual(restored.row, local);
  assert.deepEqual(restored.base, { kind: "absent" });
});

test("a delete deletes, and without an effect there is no write", async () => {
  const deleted = await restore({ kind: "delete" }, undefined, properties(1));
  assert.deepEqual([deleted.row, deleted.change], [undefined, { kind: "delete" }]);
  const nothing = await restore({ kind: "delete" }, undefined, undefined);
  assert.deepEqual([nothing.change, nothing.base], [undefined, undefined]);
});

test("a creation replaces the row", async () => {
  const change: Change = { kind: "create", properties: named("b", "mine") };
  const restored = await restore(change, named("b", "mine"), properties(1));
  assert.deepEqual(restored.row, named("b", "mine"));
});

test("an operation that is not lost any more is not restored", async () => {
  const { store } = await scripted();
  await store.transact((draft) => restoreLost(draft, id));
  assert.equal(store.commit, 0);
});
