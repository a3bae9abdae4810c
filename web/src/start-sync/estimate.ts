// What syncing costs (sync/PROTOCOL.md, Pulling): polls and comparisons of tables as they are now.

import { foldedName, type Settings, type TableSettings } from "./options.ts";
import type { SyncEstimate } from "./types.ts";

const rowsPerPage = 1000;
const msPerMonth = 30 * 86_400_000;
const dollarsPerTransaction = 0.00036 / 10_000;

/** `rows`: how many each table has, by folded name. */
export function estimateOf(settings: Settings, rows: ReadonlyMap<string, number>): SyncEstimate {
  let scannedPerMs = 0;
  let transactionsPerMs = 0;
  let stalenessMs = 0;
  for (const [name, table] of settings.tables) {
    const count = rows.get(foldedName(name)) ?? 0;
    const pages = Math.max(1, Math.ceil(count / rowsPerPage));
    for (const everyMs of timesOf(settings, table, count)) {
      scannedPerMs += count / everyMs;
      transactionsPerMs += pages / everyMs;
    }
    stalenessMs = Math.max(stalenessMs, pollMs(settings, count));
  }
  const transactionsPerMonth = Math.ceil(transactionsPerMs * msPerMonth);
  return {
    scannedPerSecond: scannedPerMs * 1000,
    transactionsPerMonth,
    costPerMonth: transactionsPerMonth * dollarsPerTransaction,
    stalenessMs,
  };
}

/** While nothing changes, which is most of the time. */
const pollMs = ({ entitiesPerSecond, poll }: Settings, rows: number): number =>
  Math.max(poll.maxMs, (rows / entitiesPerSecond) * 1000);

function timesOf(settings: Settings, table: TableSettings, rows: number): number[] {
  if (table.direction === "push") return [];
  return [pollMs(settings, rows), table.maxAgeMs];
}
