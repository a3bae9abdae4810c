// What a store has to be able to do to take part. One adapter each, in adapters/.

import type { Entity, Filter, Key, Range } from "./workload.ts";

export type MaybePromise<T> = T | Promise<T>;

// When a write is acknowledged: never stored; before it is stored; when it survives the death of
// the browser; when it is flushed.
export type Level = "memory" | "deferred" | "relaxed" | "strict";

export const levelLetters = { memory: "M", deferred: "S", relaxed: "R", strict: "D" } as const;

export interface DatabaseAdapter {
  // What it can promise, the weakest first: what is read was loaded at that.
  readonly levels: readonly [Level, ...Level[]];
  // Gets its code. Nothing of it is loaded before.
  prepare(): Promise<void>;
  // Opens a database with one table of entities; `fresh`: makes it.
  open(name: string, level: Level, fresh: boolean): Promise<Database>;
  remove(name: string): Promise<void>;
}

// `Row` is what it hands out. Whatever needs a conversion to be an Entity is converted in it,
// unless the store is one that holds JSON and leaves that to its user.
export interface Database<Row = unknown> {
  // At most 100 new entities of one partition, all or none.
  insertGroup(entities: readonly Entity[]): MaybePromise<unknown>;
  insert(entity: Entity): MaybePromise<unknown>;
  // Each acknowledged by itself, all asked for before the first is.
  insertInFlight(entities: readonly Entity[]): MaybePromise<unknown>;
  get(partitionKey: string, rowKey: string): MaybePromise<Row>;
  getMany(keys: readonly Key[]): MaybePromise<readonly Row[]>;
  range(range: Range): MaybePromise<readonly Row[]>;
  partition(partitionKey: string, filter: Filter): MaybePromise<readonly Row[]>;
  scan(filter: Filter): MaybePromise<readonly Row[]>;
  // All of them as objects, some at a time.
  all(visit: (rows: readonly Row[]) => void): MaybePromise<unknown>;
  // Changes one property of an entity that is there.
  merge(partitionKey: string, rowKey: string, count: number): MaybePromise<unknown>;
  // Likewise if it is as it was when `token` was taken; false otherwise.
  mergeIf(
    partitionKey: string,
    rowKey: string,
    count: number,
    token: unknown,
  ): MaybePromise<boolean>;
  token(row: Row): unknown;
  // For the checks, not for the clock.
  entity(row: Row): Entity;
  // Resolves when all of it is stored.
  flush(): MaybePromise<unknown>;
  close(): MaybePromise<unknown>;
}
