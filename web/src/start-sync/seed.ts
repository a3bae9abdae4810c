// Seeds: snapshots of stores whose tables were in step with a remote, from which first downloads
// begin. The Timestamps of the rows, and so their ETags, are those of the remote. The table
// EntitableSeed in the snapshot says how far the tables had been read. What has changed since is
// found like all changes, so a seed that is old or wrong costs time.

import type { Ticks } from "../sync/hidden-tables.ts";
import type { Key } from "../sync/keys.ts";
import type { RestoreCallOptions, RestoreCallReport } from "../transport.ts";
import type { SnapshotSource, Store } from "../types.ts";
import { isPlatformObject } from "../util/platform-objects.ts";
import { foldedName, invalid, type Settings } from "./options.ts";
import { rowCounts } from "./owned-table.ts";

export const seedTable = "EntitableSeed";

/** A key range that was read, and from when its next scan must read. */
export interface SeedRange {
  readonly from: Key;
  readonly to: Key | undefined;
  readonly watermark: Ticks | undefined;
}

export interface TableSeed {
  readonly ranges: readonly SeedRange[];
  readonly rows: number;
  /** No row of the seed is newer. */
  readonly timestamp: string | undefined;
}

export interface Seeds {
  /** By the folded names of the tables. */
  readonly tables: ReadonlyMap<string, TableSeed>;
  /** That of the restore. Undefined: an earlier process has restored the seed. */
  readonly commit: number | undefined;
  /** Tables of the seed that are not synced. */
  readonly others: readonly string[];
}

interface SeedRow {
  partitionKey: string;
  rowKey: string;
  timestamp?: string | undefined;
  /** How many the table has. */
  rows: number;
  /** The bounds as JSON: they may have U+0000. */
  range: string;
  watermark?: bigint;
}

/** What StoreHandle has for this module. */
interface SeededStore extends Omit<Store, "restore"> {
  restore(source: SnapshotSource, options: RestoreCallOptions): Promise<RestoreCallReport>;
}

/**
 * Adds what a snapshot of the store must have: how far its tables were read, by their folded names.
 * Delete the table after the snapshot.
 */
export async function addSeed(
  store: Store,
  seeds: ReadonlyMap<string, readonly SeedRange[]>,
): Promise<void> {
  const counts = await rowCounts(store);
  const table = store.table(seedTable);
  await table.deleteTable(); // of an earlier call
  await table.createTable();
  for (const [name, ranges] of seeds)
    for (const [index, { from, to, watermark }] of ranges.entries()) {
      const range = JSON.stringify([from, to]);
      const row = { partitionKey: name, rowKey: String(index), rows: counts.get(name) ?? 0, range };
      await table.upsertEntity(watermark === undefined ? row : { ...row, watermark });
    }
}

/**
 * Restores the seed if the store has no tables. Also returns what a process has restored that ended
 * before it had begun to sync. A seed that cannot be read is as if there were none. Undefined:
 * there is nothing from a seed. Throws StoreError ValidationFailed.
 */
export async function openSeed(store: Store, settings: Settings): Promise<Seeds | undefined> {
  requireSeed(settings);
  const restored = await restoreSeed(store as SeededStore, settings.seed).catch(() => undefined);
  const names = await tableNames(store);
  const isSeeded = names.includes(seedTable);
  if (restored === undefined && !isSeeded) return undefined;
  const found = isSeeded ? await tablesOf(store) : new Map<string, TableSeed>();
  const synced = new Set([...settings.tables.keys()].map(foldedName));
  const tables = new Map<string, TableSeed>();
  for (const name of names.map(foldedName)) {
    const seed = found.get(name) ?? (restored && unknownSeed);
    if (synced.has(name) && seed) tables.set(name, seed);
  }
  const isOther = (name: string) => name !== seedTable && !synced.has(foldedName(name));
  return { tables, commit: restored?.commit, others: restored ? names.filter(isOther) : [] };
}

function requireSeed({ seed, tables }: Settings): void {
  const isFile = isPlatformObject(seed, "Blob") || isPlatformObject(seed, "File");
  if (typeof seed !== "string" && !isFile)
    throw invalid("seed must be a URL or a Blob.", 'Write seed: "https://example.com/seed".');
  for (const [name, { partitions }] of tables)
    if (partitions !== undefined)
      throw invalid(`tables.${name} has partitions, but a seed has all of them.`, "Leave one out.");
}

/** Of a snapshot that does not say what was read. */
const unknownSeed: TableSeed = { ranges: [], rows: 0, timestamp: undefined };

/** Deletes what the seed has brought and sync does not need. */
export async function endSeed(store: Store, { others }: Seeds): Promise<void> {
  for (const name of [...others, seedTable]) await store.tableClient(name).deleteTable();
}

/** Whether the table has no rows but those of the seed. */
export async function isUnchanged(
  store: Store,
  table: string,
  { rows, timestamp }: TableSeed,
): Promise<boolean> {
  const count = (await rowCounts(store)).get(table);
  if (timestamp === undefined || count !== rows) return false;
  const filter = `Timestamp gt datetime'${timestamp}'`;
  for await (const _ of store.table(table).listEntities({ queryOptions: { filter } })) return false;
  return true;
}

async function tableNames(store: Store): Promise<string[]> {
  const names: string[] = [];
  for await (const { name = "" } of store.serviceClient().listTables()) names.push(name);
  return names;
}

async function restoreSeed(store: SeededStore, seed: Settings["seed"]) {
  if (seed === undefined || (await tableNames(store as Store)).length > 0) return undefined;
  const file = typeof seed === "string" ? await download(seed) : seed;
  return await store.restore(file, { mode: "ifEmpty" });
}

async function download(url: string): Promise<ReadableStream<Uint8Array>> {
  const { body, ok } = await fetch(url);
  if (!ok || body === null) throw new TypeError("The seed cannot be downloaded.");
  return body;
}

/** Returns what the seed says about its tables. Ranges that it does not name are read anew. */
async function tablesOf(store: Store): Promise<Map<string, TableSeed>> {
  const tables = new Map<string, TableSeed>();
  for await (const row of store.table<SeedRow>(seedTable).listEntities()) {
    const { ranges, timestamp = "" } = tables.get(row.partitionKey) ?? { ranges: [] };
    const newest = [timestamp, row.timestamp ?? ""].reduce((a, b) => (a > b ? a : b));
    const range = rangeOf(row);
    const all = range ? [...ranges, range] : ranges;
    tables.set(row.partitionKey, { ranges: all, rows: row.rows, timestamp: newest });
  }
  return tables;
}

function rangeOf({ range, watermark }: SeedRow): SeedRange | undefined {
  try {
    const [from, to] = JSON.parse(range) as unknown[];
    const isRange = typeof from === "string" && (typeof to === "string" || to === null);
    if (!isRange || (watermark !== undefined && typeof watermark !== "bigint")) return undefined;
    return { from, to: to ?? undefined, watermark };
  } catch {
    return undefined;
  }
}
