// LokiJS with its incremental IndexedDB adapter: objects in memory in a JSON form, saved from time
// to time. Reads return the stored objects themselves, with dates, 64-bit numbers and bytes in
// their JSON form.

import type { Database, DatabaseAdapter } from "../database-adapter.ts";
import { fromJson, type JsonEntity, toJson } from "../json-entity.ts";
import { type Entity, matches } from "../workload.ts";

interface Row extends JsonEntity {
  id: string;
}

// The part of the package that is used.
interface Library {
  Loki: new (name: string, options: object) => LokiDb;
  IncrementalIndexedDBAdapter: new () => Adapter;
}
interface Adapter {
  deleteDatabase(name: string, done: (result: { success: boolean }) => void): void;
}
interface LokiDb {
  addCollection(name: string, options: object): Collection;
  getCollection(name: string): Collection | null;
  saveDatabase(done: (error?: unknown) => void): void;
  close(done: (error?: unknown) => void): void;
}
interface Collection {
  insert(rows: Row | Row[]): void;
  update(row: Row): void;
  by(field: string, value: string): Row;
  find(query: object): Row[];
  where(fits: (row: Row) => boolean): Row[];
  chain(): { find(query: object): { where(fits: (row: Row) => boolean): { data(): Row[] } } };
  data: Row[];
}

let library: Library;

export function lokijs(): DatabaseAdapter {
  return {
    levels: ["deferred"],
    async prepare() {
      library = (await import("/library/lokijs.js" as string)) as Library;
    },
    open: async (name) => database(await opened(name)) as Database,
    remove: (name) =>
      new Promise((resolve, reject) => {
        new library.IncrementalIndexedDBAdapter().deleteDatabase(name, ({ success }) =>
          success ? resolve() : reject(new Error("LokiJS could not delete its database")),
        );
      }),
  };
}

function opened(name: string): Promise<LokiDb> {
  return new Promise((resolve, reject) => {
    const db = new library.Loki(name, {
      adapter: new library.IncrementalIndexedDBAdapter(),
      autoload: true,
      autosave: true,
      autosaveInterval: 4000,
      autoloadCallback: (error: unknown) => (error ? reject(error) : resolve(db)),
    });
  });
}

const idOf = (partitionKey: string, rowKey: string) => `${partitionKey}|${rowKey}`;
const between = (from: string, to: string) => ({ id: { $between: [from, to] } });
const stored = (entity: Entity): Row => ({
  id: idOf(entity.partitionKey, entity.rowKey),
  ...toJson(entity),
});

function database(db: LokiDb): Database<Row> {
  const indexes = { unique: ["id"], indices: ["id"] };
  const rows = db.getCollection("rows") ?? db.addCollection("rows", indexes);
  const get = (p: string, r: string) => rows.by("id", idOf(p, r));
  const insert = (entity: Entity) => rows.insert(stored(entity));
  return {
    insertGroup: (entities) => rows.insert(entities.map(stored)),
    insert,
    insertInFlight: (entities) => entities.forEach(insert),
    get,
    getMany: (keys) => keys.map(({ partitionKey, rowKey }) => get(partitionKey, rowKey)),
    range: ({ partitionKey, from, to }) => {
      const found = rows.find(between(idOf(partitionKey, from), idOf(partitionKey, to)));
      return found.filter(({ rowKey }) => rowKey < to); // $between includes both ends
    },
    partition: (key, filter) =>
      rows
        .chain()
        .find(between(idOf(key, ""), idOf(key, "~")))
        .where(matches(filter))
        .data(),
    scan: (filter) => rows.where(matches(filter)),
    all: (visit) => visit(rows.data.slice()),
    merge(p, r, count) {
      const row = get(p, r);
      row.count = count;
      rows.update(row);
    },
    mergeIf(p, r, count, token) {
      const row = get(p, r);
      if (row.version !== token) return false;
      Object.assign(row, { count, version: row.version + 1 });
      rows.update(row);
      return true;
    },
    token: ({ version }) => version,
    entity: fromJson,
    flush: () => finished((done) => db.saveDatabase(done)),
    close: () => finished((done) => db.close(done)),
  };
}

function finished(work: (done: (error?: unknown) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    work((error) => (error ? reject(error) : resolve()));
  });
}
