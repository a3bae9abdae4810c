// A process that writes the rows 1, 2, … to a store in files, and reads them with a durable reader,
// until it is killed. It appends what happens to a file, because messages to its parent could be
// lost. Arguments: the store's path, the file, and a seed.

import { openSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "../../../web/src/types.ts";
import { openStore } from "./package.ts";
import { seededRandom } from "./random.ts";

// Sequences are text, because they are bigints.
export type ReaderEvent =
  | { is: "open"; at: string } // what the reader has acknowledged
  | { is: "read"; sequence: string; row: number }
  | { is: "acknowledging" | "acknowledged"; at: string };

async function newestRow(store: Store): Promise<number> {
  let newest = 0;
  for await (const { value } of store.table<{ value: number }>("rows").listEntities())
    newest = Math.max(newest, value);
  return newest;
}

async function write(store: Store, random: ReturnType<typeof seededRandom>): Promise<void> {
  for (let value = (await newestRow(store)) + 1; ; ++value) {
    const durability = (["strict", "relaxed", "deferred"] as const)[random.below(3)];
    const table = store.table("rows", { durability });
    // Few rows, so that a store that is opened often does not grow.
    const written = table.upsertEntity({ partitionKey: "", rowKey: `${value % 500}`, value });
    if (random.below(4) === 0) await written;
    else written.catch(() => {});
    if (random.below(20) === 0) await sleep(random.below(5));
  }
}

if (process.argv[1] === import.meta.filename) {
  const [path, events, seed] = process.argv.slice(2) as [string, string, string];
  const file = openSync(events, "a");
  const report = (event: ReaderEvent) => writeSync(file, `${JSON.stringify(event)}\n`);
  const random = seededRandom(Number(seed));
  const store = await openStore({ persistence: "file", path });
  const reader = await store.reader("backup", { since: 0n, tables: ["rows"] });
  report({ is: "open", at: `${reader.acknowledged}` });
  await store.table("rows").createTable();
  write(store, random).catch((error: unknown) => {
    throw error;
  });
  for await (const { sequence, changes } of reader) {
    const row = changes[0]?.after?.["value"] as number | undefined;
    if (row !== undefined) report({ is: "read", sequence: `${sequence}`, row });
    if (random.below(20) !== 0) continue;
    report({ is: "acknowledging", at: `${sequence}` });
    const acknowledging = reader
      .ack(sequence)
      .then(() => report({ is: "acknowledged", at: `${sequence}` }));
    if (random.below(2) === 0) await acknowledging;
  }
}
