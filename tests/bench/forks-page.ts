// The part of forks.ts that runs in the page.

import type { MockStore, Savepoint } from "../../web/src/testing/index.ts";
import { dexie } from "./peers/adapters/dexie.ts";
import { timed } from "./peers/timing.ts";
import { entityAt, groupRows, keyOf, random } from "./peers/workload.ts";

type Testing = typeof import("../../web/src/testing/index.ts");

const load = () => import("/dist/testing/index.js" as string) as Promise<Testing>;
const table = "rows";

async function filled(entities: number): Promise<MockStore> {
  const store = await (await load()).mockStore();
  const rows = store.table(table);
  await rows.createTable();
  for (let i = 0; i < entities; i += groupRows) {
    const group = Array.from({ length: groupRows }, (_, k) => entityAt(i + k));
    await rows.submitTransaction(group.map((entity) => ["create", entity]));
  }
  store.requests.clear();
  return store;
}

const anyOf = (entities: number) => (i: number) => keyOf(random(i, 99) % entities);

export interface Times {
  fork: number; // all times are in milliseconds
  rollback: number;
  changedFork: number;
  changedRollback: number;
  change: number;
  get: number;
  dexie: number;
}

async function measure(entities: number): Promise<Times> {
  const key = anyOf(entities);
  const store = await filled(entities);
  const change = (of: MockStore, i: number) =>
    of.table(table, { durability: "deferred" }).updateEntity({ ...key(i), count: i });
  const savepoints: Savepoint[] = [store.savepoint()];
  await change(store, 1);
  savepoints.push(store.savepoint());
  const [before, after] = savepoints as [Savepoint, Savepoint];
  const times = {
    fork: await timed(() => store.fork().close()),
    rollback: await timed((i) => store.rollback(i % 2 === 0 ? before : after)),
    changedFork: await timed(async (i) => {
      const fork = store.fork();
      await change(fork, i);
      await fork.close();
    }),
    changedRollback: await timed(async (i) => {
      await change(store, i);
      store.rollback(before);
    }),
    change: await timed((i) => change(store, i)),
    get: await timed((i) => {
      const { partitionKey, rowKey } = key(i);
      return store.table(table).getEntity(partitionKey, rowKey);
    }),
  };
  await store.close();
  return { ...times, dexie: await dexieRead(entities) };
}

async function dexieRead(entities: number): Promise<number> {
  const peer = dexie();
  await peer.prepare();
  const name = "forks";
  await peer.remove(name);
  const db = await peer.open(name, "relaxed", true);
  for (let i = 0; i < entities; i += groupRows) {
    await db.insertGroup(Array.from({ length: groupRows }, (_, k) => entityAt(i + k)));
  }
  const key = anyOf(entities);
  const found = await timed((i) => {
    const { partitionKey, rowKey } = key(i);
    return db.get(partitionKey, rowKey);
  });
  await db.close();
  await peer.remove(name);
  return found;
}

let kept: { store: MockStore; forks: MockStore[] } | undefined;

// Creates a store with this many entities. It stays open until its memory has been measured; fork()
// then adds forks of it.
async function hold(entities: number): Promise<void> {
  kept = { store: await filled(entities), forks: [] };
}

// Returns the index of the first entity that fork number `f` changes.
const firstOf = (f: number, changes: number, entities: number) =>
  random(f, 99) % (entities - changes + 1);

async function fork(forks: number, changes: number, entities: number): Promise<void> {
  if (kept === undefined) throw new Error("there is no store");
  for (let f = 0; f < forks; ++f) {
    const one = kept.store.fork();
    const from = firstOf(f, changes, entities);
    for (let i = from; i < from + changes; ++i) {
      await one
        .table(table, { durability: "deferred" })
        .updateEntity({ ...keyOf(i), count: mark(f) });
    }
    one.requests.clear();
    kept.forks.push(one);
  }
}

// the `count` that fork number `f` writes; entities initially have no negative count
const mark = (f: number) => -1 - f;

// Checks that each fork sees its own changes, and no other fork does.
async function check(changes: number, entities: number): Promise<void> {
  if (kept === undefined) throw new Error("there is no store");
  const { store, forks } = kept;
  const expect = async (of: MockStore, i: number, count: unknown, what: string) => {
    const { partitionKey, rowKey } = keyOf(i);
    const found = (await of.table(table).getEntity(partitionKey, rowKey))["count"];
    if (found !== count) throw new Error(`${what}: ${rowKey} has ${found}, not ${count}`);
  };
  for (const [f, one] of forks.entries()) {
    const from = firstOf(f, changes, entities);
    const after = from + changes;
    if (changes > 0) {
      await expect(one, from, mark(f), `fork ${f}, its first`);
      await expect(one, after - 1, mark(f), `fork ${f}, its last`);
      await expect(store, from, entityAt(from).count, "the store");
    }
    if (after < entities)
      await expect(one, after, entityAt(after).count, `fork ${f}, what is next`);
  }
}

export const bench = { measure, hold, fork, check };

(globalThis as { bench?: typeof bench }).bench = bench;
