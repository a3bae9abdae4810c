// idb: IndexedDB with promises. One record per entity, under a compound key. IndexedDB stores
// dates, bigints and bytes without conversion.

import type { Database, DatabaseAdapter, Level } from "../database-adapter.ts";
import { type Entity, type Key, matches, type Range } from "../workload.ts";

// The part of the package that is used.
interface Idb {
  openDB(name: string, version: number, o: { upgrade(db: Db): void }): Promise<Db>;
  deleteDB(name: string): Promise<void>;
}
interface Db {
  createObjectStore(name: string, options: { keyPath: string[] }): void;
  transaction(name: string, mode: IDBTransactionMode, options?: IDBTransactionOptions): Transaction;
  close(): void;
}
interface Transaction {
  store: {
    get(key: IDBValidKey): Promise<Entity>;
    getAll(range?: IDBKeyRange, count?: number): Promise<Entity[]>;
    add(value: Entity): Promise<unknown>;
    put(value: Entity): Promise<unknown>;
  };
  done: Promise<void>;
}

let idb: Idb;

export function idbAdapter(): DatabaseAdapter {
  return {
    levels: ["relaxed", "strict"],
    async prepare() {
      idb = (await import("/library/idb.js" as string)) as Idb;
    },
    async open(name, level) {
      const upgrade = (db: Db) =>
        db.createObjectStore("rows", { keyPath: ["partitionKey", "rowKey"] });
      return database(await idb.openDB(name, 1, { upgrade }), level) as Database;
    },
    remove: (name) => idb.deleteDB(name),
  };
}

const batch = 1000;

function database(db: Db, level: Level): Database<Entity> {
  const durability = level === "strict" ? "strict" : "relaxed";
  const read = () => db.transaction("rows", "readonly").store;
  const write = () => db.transaction("rows", "readwrite", { durability });
  const insertGroup = async (entities: readonly Entity[]) => {
    const { store, done } = write();
    await Promise.all([...entities.map((entity) => store.add(entity)), done]);
  };
  const insert = (entity: Entity) => insertGroup([entity]);
  const change = (key: Key, to: (entity: Entity) => boolean) => changeIn(write(), key, to);
  return {
    insertGroup,
    insert,
    insertInFlight: (entities) => Promise.all(entities.map(insert)),
    get: (p, r) => read().get([p, r]),
    getMany(keys) {
      const store = read();
      return Promise.all(keys.map((key) => store.get([key.partitionKey, key.rowKey])));
    },
    range: (range) => read().getAll(keyRange(range)),
    partition: async (key, filter) =>
      (await read().getAll(wholePartition(key))).filter(matches(filter)),
    async scan(filter) {
      const fits = matches(filter);
      const found: Entity[] = [];
      await eachBatch(db, (rows) => found.push(...rows.filter(fits)));
      return found;
    },
    all: (visit) => eachBatch(db, visit),
    merge: (partitionKey, rowKey, count) =>
      change({ partitionKey, rowKey }, (entity) => {
        entity.count = count;
        return true;
      }),
    mergeIf: (partitionKey, rowKey, count, token) =>
      change({ partitionKey, rowKey }, (entity) => {
        if (entity.version !== token) return false;
        Object.assign(entity, { count, version: entity.version + 1 });
        return true;
      }),
    token: ({ version }) => version,
    entity: (row) => row,
    flush: () => {},
    close: () => db.close(),
  };
}

async function changeIn(
  { store, done }: Transaction,
  { partitionKey, rowKey }: Key,
  to: (entity: Entity) => boolean,
): Promise<boolean> {
  const entity = await store.get([partitionKey, rowKey]);
  const changed = to(entity);
  if (changed) await store.put(entity);
  await done;
  return changed;
}

const keyRange = ({ partitionKey, from, to }: Range) =>
  IDBKeyRange.bound([partitionKey, from], [partitionKey, to], false, true);

// In IndexedDB, an array sorts after every string.
const wholePartition = (key: string) => IDBKeyRange.bound([key], [key, []]);

// Reads a thousand rows at a time by getAll(); a cursor is ten times slower.
async function eachBatch(db: Db, visit: (rows: readonly Entity[]) => void): Promise<void> {
  const { store } = db.transaction("rows", "readonly");
  let after: IDBKeyRange | undefined;
  for (;;) {
    const rows = await store.getAll(after, batch);
    visit(rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < batch) return;
    after = IDBKeyRange.lowerBound([last.partitionKey, last.rowKey], true);
  }
}
