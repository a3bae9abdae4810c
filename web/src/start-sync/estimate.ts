// What syncing costs (sync/PROTOCOL.md, Pulling): polls and comparisons of tables as they are now.

import { rangesOfTable, undividedPages } from "../sync-session/ranges.ts";
import { foldedName, type Settings, type TableSettings } from "./options.ts";
import type { SyncEstimate } from "./types.ts";

export interface TableSize {
  readonly rows: number;
  /** How many requests a scan needs at least: one for each stretch of keys. */
  readonly stretches: number;
  /** Changes arrive by the remote's feed. */
  readonly isFollowed: boolean;
}

const rowsPerPage = 1000;
const msPerDay = 86_400_000;
const msPerMonth = 30 * msPerDay;
const dollarsPerTransaction = 0.00036 / 10_000;

/** Something that is repeated. */
interface Work {
  readonly everyMs: number;
  readonly entities: number;
  readonly requests: number;
}

export interface KnownSizes {
  /** How many rows tables have, by folded name. */
  readonly counts: ReadonlyMap<string, number>;
  /** Undefined: this tab does not know into how many ranges the table was divided. */
  stretchesOf(table: string): number | undefined;
  isFollowed(table: string): boolean;
}

/** Returns the sizes of all tables, by folded name. */
export function sizesOf(settings: Settings, known: KnownSizes): Map<string, TableSize> {
  const sizes = [...settings.tables].map(([name, { partitions }]) => {
    const rows = known.counts.get(foldedName(name)) ?? 0;
    const usual = partitions?.length ?? (rows > undividedPages * rowsPerPage ? rangesOfTable : 1);
    const stretches = known.stretchesOf(name) ?? usual;
    return [foldedName(name), { rows, stretches, isFollowed: known.isFollowed(name) }] as const;
  });
  return new Map(sizes);
}

/** `sizes`: by folded name. */
export function estimateOf(
  settings: Settings,
  sizes: ReadonlyMap<string, TableSize>,
): SyncEstimate {
  const tables = [...settings.tables].flatMap(([name, table]) => {
    const size = sizes.get(foldedName(name)) ?? { rows: 0, stretches: 1, isFollowed: false };
    return table.direction === "push" ? [] : [{ table, ...size }];
  });
  const censuses = tables.map(censusOf);
  const pollMs = pollMsOf(settings, tables, censuses);
  const polls = tables.flatMap((table) => pollOf(table, pollMs, settings.poll.maxMs));
  const work = [...censuses, ...polls];
  const perDay = msPerDay * sum(work.map(({ everyMs, requests }) => requests / everyMs));
  const msPerRequest = msPerDay / settings.transactionsPerDay;
  // With fewer requests a day, everything takes longer.
  const share = Math.min(1, settings.transactionsPerDay / perDay);
  const scannedPerMs = sum(work.map(({ everyMs, entities }) => entities / everyMs));
  const transactionsPerMonth = Math.ceil((perDay * share * msPerMonth) / msPerDay);
  // If changes have used up the requests, a poll waits for all other polls, and for one page of the
  // comparison of each table.
  const waitMs = (sum(polls.map(({ requests }) => requests)) + tables.length) * msPerRequest;
  const stalenessMs = Math.max(0, ...polls.map(({ everyMs }) => Math.max(everyMs, waitMs)));
  return {
    scannedPerSecond: scannedPerMs * share * 1000,
    transactionsPerMonth,
    costPerMonth: transactionsPerMonth * dollarsPerTransaction,
    stalenessMs,
  };
}

type SizedTable = TableSize & { readonly table: TableSettings };

function censusOf({ isFollowed, rows, stretches, table }: SizedTable): Work {
  const everyMs = Math.max(table.maxAgeMs, isFollowed ? msPerDay : 0);
  const pages = rows / rowsPerPage;
  // Of several stretches, the last page is half full on average.
  const requests = stretches === 1 ? Math.ceil(pages) : pages + stretches / 2;
  return { everyMs, entities: rows, requests: Math.max(stretches, requests) };
}

const isScanned = ({ isFollowed, table }: SizedTable): boolean =>
  !isFollowed && table.beacon === undefined;

/** While nothing changes, which is most of the time. All tables share the budget. */
function pollMsOf(
  { entitiesPerSecond, poll }: Settings,
  tables: readonly SizedTable[],
  censuses: readonly Work[],
): number {
  const rows = sum(tables.filter(isScanned).map((table) => table.rows));
  const compared = sum(censuses.map(({ entities, everyMs }) => (entities / everyMs) * 1000));
  const left = Math.max(entitiesPerSecond - compared, entitiesPerSecond / 10);
  return Math.max(poll.maxMs, (rows / left) * 1000);
}

function pollOf(table: SizedTable, everyMs: number, beaconMs: number): Work[] {
  if (table.isFollowed) return [];
  if (!isScanned(table)) return [{ everyMs: beaconMs, entities: 0, requests: 1 }];
  return [{ everyMs, entities: table.rows, requests: table.stretches }];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
