// The interface that each compared database implements by an adapter (folder adapters/).

import type { Entity, Filter, Key, Range } from "./workload.ts";

export type MaybePromise<T> = T | Promise<T>;

// When a write is acknowledged. memory: nothing is ever stored. deferred: before it is stored.
// relaxed: when it survives a crash of the browser. strict: when it is flushed to disk.
export type Level = "memory" | "deferred" | "relaxed" | "strict";

export const levelLetters = { memory: "M", deferred: "S", relaxed: "R", strict: "D" } as const;

export interface DatabaseAdapter {
  // The levels that the database supports, the weakest first. The data for reads is loaded at the
  // first level.
  readonly levels: readonly [Level, ...Level[]];
  // Loads the database's code. Must be called first.
  prepare(): Promise<void>;
  // Opens a database with one table of entities. `fresh`: creates it.
  open(name: string, level: Level, fresh: boolean): Promise<Database>;
  remove(name: string): Promise<void>;
}

// `Row` is the type that reads return. An adapter must convert values that need a conversion to be
// those of an Entity, unless the database holds JSON and leaves this to its users.
export interface Database<Row = unknown> {
  // Inserts at most 100 new entities of one partition, all or none.
  insertGroup(entities: readonly Entity[]): MaybePromise<unknown>;
  insert(entity: Entity): MaybePromise<unknown>;
  // Inserts entities as separate writes, all of which are started before the first one is
  // acknowledged.
  insertInFlight(entities: readonly Entity[]): MaybePromise<unknown>;
  get(partitionKey: string, rowKey: string): MaybePromise<Row>;
  getMany(keys: readonly Key[]): MaybePromise<readonly Row[]>;
  range(range: Range): MaybePromise<readonly Row[]>;
  partition(partitionKey: string, filter: Filter): MaybePromise<readonly Row[]>;
  scan(filter: Filter): MaybePromise<readonly Row[]>;
  // Passes all rows to `visit`, some of them at a time.
  all(visit: (rows: readonly Row[]) => void): MaybePromise<unknown>;
  // Changes one property of an existing entity.
  merge(partitionKey: string, rowKey: string, count: number): MaybePromise<unknown>;
  // Like merge(), if the entity has not changed since `token` was taken. Otherwise returns false.
  mergeIf(
    partitionKey: string,
    rowKey: string,
    count: number,
    token: unknown,
  ): MaybePromise<boolean>;
  token(row: Row): unknown;
  // Converts a row to an Entity. Used for checks; not measured.
  entity(row: Row): Entity;
  // Resolves when all writes are stored.
  flush(): MaybePromise<unknown>;
  close(): MaybePromise<unknown>;
}
