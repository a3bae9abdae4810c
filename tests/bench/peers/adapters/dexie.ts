// Dexie on IndexedDB, with its bulk calls and a compound primary key.

import type { Database, DatabaseAdapter, Level } from "../database-adapter.ts";
import { type Entity, matches } from "../workload.ts";

// The part of the package that is used.
interface DexieClass {
  new (name: string, options: { chromeTransactionDurability: "relaxed" | "strict" }): DexieDb;
  delete(name: string): Promise<void>;
}
interface DexieDb {
  version(n: number): { stores(schema: Record<string, string>): void };
  open(): Promise<unknown>;
  close(): void;
  table(name: string): Rows;
  transaction<T>(mode: "rw" | "r", table: Rows, scope: () => Promise<T>): Promise<T>;
}
interface Rows {
  get(key: string[]): Promise<Entity>;
  bulkGet(keys: string[][]): Promise<Entity[]>;
  add(entity: Entity): Promise<unknown>;
  put(entity: Entity): Promise<unknown>;
  bulkAdd(entities: readonly Entity[]): Promise<unknown>;
  update(key: string[], changes: object): Promise<number>;
  where(index: string): {
    between(from: unknown[], to: unknown[], withFrom?: boolean, withTo?: boolean): Rows;
    above(key: unknown[]): Rows;
  };
  limit(count: number): Rows;
  toArray(): Promise<Entity[]>;
}

let Dexie: DexieClass;

export function dexie(): DatabaseAdapter {
  return {
    levels: ["relaxed", "strict"],
    async prepare() {
      Dexie = ((await import("/library/dexie.js" as string)) as { Dexie: DexieClass }).Dexie;
    },
    async open(name, level) {
      const db = new Dexie(name, { chromeTransactionDurability: durability(level) });
      db.version(1).stores({ rows: "[partitionKey+rowKey]" });
      await db.open();
      return database(db) as Database;
    },
    remove: (name) => Dexie.delete(name),
  };
}

const durability = (level: Level) => (level === "strict" ? "strict" : "relaxed");
const primary = "[partitionKey+rowKey]";
const batch = 1000;

function database(db: DexieDb): Database<Entity> {
  const rows = db.table("rows");
  const insert = (entity: Entity) => rows.add(entity);
  return {
    insertGroup: (entities) => rows.bulkAdd(entities),
    insert,
    insertInFlight: (entities) => Promise.all(entities.map(insert)),
    get: (p, r) => rows.get([p, r]),
    getMany: (keys) => rows.bulkGet(keys.map((key) => [key.partitionKey, key.rowKey])),
    range: ({ partitionKey, from, to }) =>
      rows.where(primary).between([partitionKey, from], [partitionKey, to]).toArray(),
    partition: async (key, filter) =>
      (await rows.where(primary).between([key], [key, []]).toArray()).filter(matches(filter)),
    async scan(filter) {
      const fits = matches(filter);
      const found: Entity[] = [];
      await eachBatch(db, rows, (some) => found.push(...some.filter(fits)));
      return found;
    },
    all: (visit) => eachBatch(db, rows, visit),
    merge: (p, r, count) => rows.update([p, r], { count }),
    mergeIf: (p, r, count, token) =>
      db.transaction("rw", rows, async () => {
        const entity = await rows.get([p, r]);
        if (entity.version !== token) return false;
        await rows.put({ ...entity, count, version: entity.version + 1 });
        return true;
      }),
    token: ({ version }) => version,
    entity: (row) => row,
    flush: () => {},
    close: () => db.close(),
  };
}

// Reads a thousand rows at a time. each() would use a slow cursor; reading all rows at once would
// need a second copy of all of them.
async function eachBatch(
  db: DexieDb,
  rows: Rows,
  visit: (rows: readonly Entity[]) => void,
): Promise<void> {
  await db.transaction("r", rows, async () => {
    let after: unknown[] = [];
    for (;;) {
      const some = await rows.where(primary).above(after).limit(batch).toArray();
      visit(some);
      const last = some.at(-1);
      if (last === undefined || some.length < batch) return;
      after = [last.partitionKey, last.rowKey];
    }
  });
}
