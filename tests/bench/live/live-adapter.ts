// The interface that an adapter (folder adapters/) implements for each compared database.

import type { MaybePromise } from "../peers/database-adapter.ts";
import type { Key } from "../peers/workload.ts";
import type { LiveRow, Query } from "./workload.ts";

export interface LiveAdapter {
  // Loads the database's code. Must be called first.
  prepare(): Promise<void>;
  // Opens or creates a database with one table. `shared`: several tabs open it, and see each
  // other's writes; without it, only this page uses the database.
  open(name: string, shared: boolean): Promise<LiveDatabase>;
}

export interface LiveDatabase {
  // Inserts at most 100 new rows of one partition in one transaction.
  insertGroup(rows: readonly LiveRow[]): MaybePromise<unknown>;
  insert(row: LiveRow): MaybePromise<unknown>;
  // Changes one property of an existing row.
  update(key: Key, count: number): MaybePromise<unknown>;
  list(query: Query): MaybePromise<readonly LiveRow[]>;
  // Returns the live query when it has its first result. Calls `onChange` after later changes.
  live(query: Query, onChange: () => void): MaybePromise<OpenLive>;
  // Opens a live query of the number of rows, which holds no rows. Waits for the first result.
  liveCount?(query: Query): MaybePromise<unknown>;
  // Reads all later changes. Calls `onChanges` with how many rows have changed.
  feed?(onChanges: (rows: number) => void): MaybePromise<{ close(): MaybePromise<unknown> }>;
}

export interface OpenLive {
  // Returns the present result: one row at most if the query is for an entity.
  read(): readonly LiveRow[];
  close(): MaybePromise<unknown>;
}

export const liveDatabaseIds = [
  "entitable",
  "dexie",
  "rxdb",
  "tinybase",
  "tanstack",
  "pglite",
  "signaldb",
] as const;
export type LiveDatabaseId = (typeof liveDatabaseIds)[number];
