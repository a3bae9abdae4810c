// TinyBase: rows of plain cells in memory, with its own index over partitions. Its IndexedDB
// persister writes the whole store each time. A competent user would therefore not save after every
// change.

import type { Database, DatabaseAdapter } from "../database-adapter.ts";
import { fromJson, type JsonEntity, toJson } from "../json-entity.ts";
import { type Entity, type Filter, matches } from "../workload.ts";

// The part of the package that is used.
interface Library {
  createStore(): TinyStore;
  createIndexes(store: TinyStore): Indexes;
  createIndexedDbPersister(store: TinyStore, name: string): Persister;
}
interface TinyStore {
  transaction(actions: () => void): void;
  hasRow(table: string, id: string): boolean;
  getRow(table: string, id: string): JsonEntity;
  setRow(table: string, id: string, row: JsonEntity): void;
  getCell(table: string, id: string, cell: string): unknown;
  setCell(table: string, id: string, cell: string, value: number): void;
  forEachRow(table: string, visit: (id: string) => void): void;
}
interface Indexes {
  setIndexDefinition(id: string, table: string, by: string, sortBy: string): void;
  getSliceRowIds(index: string, slice: string): string[];
}
interface Persister {
  load(): Promise<unknown>;
  save(): Promise<unknown>;
  destroy(): Promise<unknown>;
}

let library: Library;
const saveEveryMs = 4000; // the same as LokiJS

export function tinybase(): DatabaseAdapter {
  return {
    levels: ["deferred"],
    async prepare() {
      library = (await import("/library/tinybase.js" as string)) as Library;
    },
    async open(name) {
      const store = library.createStore();
      const persister = library.createIndexedDbPersister(store, name);
      await persister.load();
      const indexes = library.createIndexes(store);
      indexes.setIndexDefinition("partitions", "rows", "partitionKey", "rowKey");
      return database(store, indexes, saving(persister)) as Database;
    },
    remove: (name) =>
      new Promise((resolve, reject) => {
        const request = indexedDB.deleteDatabase(name);
        request.onsuccess = () => resolve();
        request.onerror = () => reject(request.error);
      }),
  };
}

// Saves the store from time to time, one save after the other.
interface Saving {
  changed(): void;
  now(): Promise<unknown>;
  end(): Promise<unknown>;
}

function saving(persister: Persister): Saving {
  let dirty = false;
  const now = async () => {
    if (dirty) {
      dirty = false;
      await persister.save();
    }
  };
  const timer = setInterval(now, saveEveryMs);
  return {
    changed: () => {
      dirty = true;
    },
    now,
    end: async () => {
      clearInterval(timer);
      await now();
      await persister.destroy();
    },
  };
}

const idOf = (partitionKey: string, rowKey: string) => `${partitionKey}|${rowKey}`;

function database(store: TinyStore, indexes: Indexes, saver: Saving): Database<JsonEntity> {
  const getById = (id: string) => store.getRow("rows", id);
  const insert = (entity: Entity) => {
    const id = idOf(entity.partitionKey, entity.rowKey);
    if (store.hasRow("rows", id)) throw new Error("it is there already");
    store.setRow("rows", id, toJson(entity));
    saver.changed();
  };
  const fits = (id: string, { city, count }: Filter) => {
    const cell = (name: string) => store.getCell("rows", id, name);
    return matches({ city, count })({
      city: cell("city") as string,
      count: cell("count") as number,
    });
  };
  const insertGroup = (entities: readonly Entity[]) =>
    store.transaction(() => entities.forEach(insert));
  const slice = (partitionKey: string) => indexes.getSliceRowIds("partitions", partitionKey);
  const setCell = (id: string, cell: string, value: number) => {
    store.setCell("rows", id, cell, value);
    saver.changed();
  };
  return {
    insertGroup,
    insert,
    insertInFlight: insertGroup,
    get: (p, r) => getById(idOf(p, r)),
    getMany: (keys) => keys.map((key) => getById(idOf(key.partitionKey, key.rowKey))),
    range({ partitionKey, from, to }) {
      const ids = slice(partitionKey);
      const at = (rowKey: string) => position(ids, idOf(partitionKey, rowKey));
      return ids.slice(at(from), at(to)).map(getById);
    },
    partition: (key, filter) =>
      slice(key)
        .filter((id) => fits(id, filter))
        .map(getById),
    scan(filter) {
      const found: JsonEntity[] = [];
      store.forEachRow("rows", (id) => {
        if (fits(id, filter)) found.push(getById(id));
      });
      return found;
    },
    all: (visit) => eachBatch(store, visit),
    merge: (p, r, count) => setCell(idOf(p, r), "count", count),
    mergeIf(p, r, count, token) {
      const id = idOf(p, r);
      if (store.getCell("rows", id, "version") !== token) return false;
      store.transaction(() => {
        setCell(id, "count", count);
        setCell(id, "version", (token as number) + 1);
      });
      return true;
    },
    token: ({ version }) => version,
    entity: fromJson,
    flush: saver.now,
    close: saver.end,
  };
}

function eachBatch(store: TinyStore, visit: (rows: readonly JsonEntity[]) => void): void {
  let batch: JsonEntity[] = [];
  store.forEachRow("rows", (id) => {
    if (batch.push(store.getRow("rows", id)) < 1000) return;
    visit(batch);
    batch = [];
  });
  visit(batch);
}

// Returns the index of the first id that is not below `id`.
function position(sorted: readonly string[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
