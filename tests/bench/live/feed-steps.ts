// Steps of a change feed that continues after a sequence, and of the log that is kept for it. Only
// entitable has them.

import type { ChangeBatch, Store } from "../../../web/src/index.ts";
import { groupRows } from "../peers/workload.ts";
import type { EntitableDatabase } from "./adapters/entitable.ts";
import { createRows, groupsOf } from "./created-rows.ts";
import { type InsertOptions, Inserts } from "./insert-steps.ts";
import { load, type Values } from "./list-steps.ts";
import type { LiveDatabase } from "./live-adapter.ts";
import { timedTurns } from "./turns.ts";
import { rowsUnder } from "./workload.ts";

// Loads rows while a durable reader keeps the log, and then reads all changes from it. Beside it,
// the least that this takes is measured: reading the log's bytes, and creating an object for each
// change.
export async function resumeFeed(db: LiveDatabase, rows: number): Promise<Values> {
  const { store } = db as EntitableDatabase;
  const { acknowledged: since } = await store.reader("behind");
  await load(db, rows);
  await store.flush();
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  let changes = 0;
  const resume = await elapsed(() =>
    readChanges(store, since, rows, (batch) => {
      changes += batch.changes.length;
    }),
  );
  const log = await elapsed(readLogEntries);
  const objects = await createdInTurn(rows);
  const keys = new Set<string>();
  await readChanges(store, since, rows, (batch) => {
    for (const { partitionKey, rowKey } of batch.changes) keys.add(`${partitionKey} ${rowKey}`);
  });
  if (changes !== rows || keys.size !== rows) throw new Error("wrong result of the feed");
  return { resume, "resume-log": log, "resume-objects": objects };
}

const idleMs = 2000; // what a checkpoint of all rows takes

async function elapsed(run: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

async function readChanges(
  store: Store,
  since: bigint,
  rows: number,
  take: (batch: ChangeBatch) => void,
): Promise<void> {
  let count = 0;
  for await (const batch of store.changes({ since })) {
    take(batch);
    count += batch.changes.length;
    if (count >= rows) break;
  }
}

// Reads the entries of the log from IndexedDB, as many at once as the store does.
async function readLogEntries(): Promise<void> {
  for (const { name } of await indexedDB.databases()) {
    const db = await result(indexedDB.open(name as string));
    const files = db.transaction("FILE_DATA").objectStore("FILE_DATA");
    const isSegment = (key: IDBValidKey) => String(key).includes("/wal-");
    const keys = (await result(files.getAllKeys())).filter(isSegment);
    for (let i = 0; i < keys.length; i += segmentsAtOnce) {
      const last = keys[Math.min(i + segmentsAtOnce, keys.length) - 1];
      await result(files.getAll(IDBKeyRange.bound(keys[i], last)));
    }
    db.close();
  }
}

const segmentsAtOnce = 256;

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// Returns the milliseconds of creating the objects of the rows, a thousand at a time.
async function createdInTurn(rows: number): Promise<number> {
  let ms = 0;
  for (let first = 0; first < rows; first += 1000) {
    const groups = groupsOf(rowsUnder("p", first, 1000), groupRows);
    ms += await elapsed(async () => {
      for (const group of groups) createRows(group, []);
    });
  }
  return ms;
}

// Inserts in turns into three databases. A durable reader of the first never acknowledges anything;
// the others have none.
export async function insertsWithHistory(
  databases: readonly [LiveDatabase, LiveDatabase, LiveDatabase],
  { rows, enoughMs }: InsertOptions,
): Promise<Values> {
  const [first] = databases;
  const reader = await (first as EntitableDatabase).store.reader("behind");
  await reader.close(); // the store keeps the log for it nevertheless
  const kinds = databases.map((db) => new Inserts(db, "y", true));
  const turns = await timedTurns(kinds, (3 * rows) / Inserts.turnRows, enoughMs);
  return { "history-ratio": turns.ratio(0, 1), "history-never-ratio": turns.ratio(2, 1) };
}
