// Steps of a change feed that continues after a sequence, and of the log that is kept for it. Only
// entitable has them.

import type { EntitableDatabase } from "./adapters/entitable.ts";
import { type InsertOptions, Inserts } from "./insert-steps.ts";
import { load, type Values } from "./list-steps.ts";
import type { LiveDatabase } from "./live-adapter.ts";
import { timedTurns } from "./turns.ts";

// Loads rows while a durable reader keeps the log, and then reads all changes from it.
export async function resumeFeed(db: LiveDatabase, rows: number): Promise<Values> {
  const { store } = db as EntitableDatabase;
  const reader = await store.reader("behind");
  await load(db, rows);
  await store.flush();
  const keys = new Set<string>();
  let changes = 0;
  const began = performance.now();
  for await (const batch of store.changes({ since: reader.acknowledged })) {
    changes += batch.changes.length;
    for (const { partitionKey, rowKey } of batch.changes) keys.add(`${partitionKey} ${rowKey}`);
    if (changes >= rows) break;
  }
  const ms = performance.now() - began;
  if (changes !== rows || keys.size !== rows) throw new Error("wrong result of the feed");
  return { resume: ms };
}

// Inserts in turns into two databases. A durable reader of the first never acknowledges anything.
export async function insertsWithHistory(
  databases: readonly [LiveDatabase, LiveDatabase],
  { rows, enoughMs }: InsertOptions,
): Promise<Values> {
  const [first] = databases;
  const reader = await (first as EntitableDatabase).store.reader("behind");
  await reader.close(); // the store keeps the log for it nevertheless
  const kinds = databases.map((db) => new Inserts(db, "y", true));
  const turns = await timedTurns(kinds, rows / Inserts.turnRows, enoughMs);
  return { "history-ratio": turns.ratio(0, 1) };
}
