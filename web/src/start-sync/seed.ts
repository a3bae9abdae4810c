// Seeds: snapshots of stores whose tables were in step with a remote, from which first downloads
// begin. The Timestamps of the rows, and so their ETags, are those of the remote. The table
// EntitableSeed in the snapshot says how far the tables had been read. What has changed since is
// found like all changes, so a seed that is old or wrong costs time.

import type { Ticks } from "../sync/hidden-tables.ts";
import type { Key } from "../sync/keys.ts";
import { TimeLimit } from "../sync-remote/time-limit.ts";
import type { RestoreCallOptions } from "../transport.ts";
import type { RestoreReport, SnapshotSource, Store, StoreWarning } from "../types.ts";
import { isolatedListener } from "../util/isolated-listener.ts";
import { isPlatformObject } from "../util/platform-objects.ts";
import { invalid, type Settings } from "./options.ts";

export const seedTable = "EntitableSeed";

/** A key range that was read, and from when its next scan must read. */
export interface SeedRange {
  readonly from: Key;
  readonly to: Key | undefined;
  readonly watermark: Ticks | undefined;
}

/** By the folded names of the tables. */
export type Seeds = ReadonlyMap<string, readonly SeedRange[]>;

interface SeedRow {
  partitionKey: string;
  rowKey: string;
  timestamp?: string | undefined;
  /** The bounds as JSON: they may have U+0000. */
  range: string;
  watermark?: bigint;
}

/** What StoreHandle has for this module. */
interface SeededStore extends Omit<Store, "restore"> {
  readonly onWarning?: ((warning: StoreWarning) => void) | undefined;
  restore(source: SnapshotSource, options: RestoreCallOptions): Promise<RestoreReport>;
}

/** Throws StoreError ValidationFailed. */
export function requireSeed({ seed, tables }: Settings): void {
  const isFile = isPlatformObject(seed, "Blob") || isPlatformObject(seed, "File");
  if (!isFile && (typeof seed !== "string" || seed === ""))
    throw invalid("seed must be a URL or a Blob.", 'Write seed: "https://example.com/seed".');
  for (const [name, { partitions }] of tables)
    if (partitions !== undefined)
      throw invalid(`tables.${name} has partitions, but a seed has all of them.`, "Leave one out.");
}

/**
 * Adds what a snapshot of the store must have: how far its tables were read. Delete the table after
 * the snapshot.
 */
export async function addSeed(store: Store, seeds: Seeds): Promise<void> {
  const table = store.table(seedTable);
  await table.deleteTable(); // of an earlier call
  await table.createTable();
  for (const [name, ranges] of seeds)
    for (const [index, { from, to, watermark }] of ranges.entries()) {
      const range = JSON.stringify([from, to]);
      const row = { partitionKey: name, rowKey: String(index), range };
      await table.upsertEntity(watermark === undefined ? row : { ...row, watermark });
    }
}

/**
 * Restores the tables of the seed, if the store has no tables: they are synced from the same moment
 * on. Also returns what a process has restored that ended before it had begun to sync. A seed that
 * cannot be read, or arrives no further, is as if there were none. Undefined: there is nothing from
 * a seed.
 */
export async function openSeed(
  store: Store,
  seed: string | Blob,
  tables: Iterable<string>,
): Promise<Seeds | undefined> {
  if ((await tableNames(store)).length === 0)
    await restoreSeed(store as SeededStore, seed, [...tables, seedTable]).catch((error) =>
      warn(store as SeededStore, error),
    );
  const isSeeded = (await tableNames(store)).includes(seedTable);
  return isSeeded ? await seedsOf(store) : undefined;
}

function warn({ onWarning, status }: SeededStore, error: unknown): void {
  if (onWarning === undefined || status.state === "closed") return;
  const message = `The seed is not used, so everything is read from the remote. ${error}`;
  isolatedListener(onWarning)({ code: "SeedNotUsed", message });
}

/** Deletes what sync does not need any more. If that fails, the next openSeed() finds it. */
export async function endSeed(store: Store): Promise<void> {
  await store
    .tableClient(seedTable)
    .deleteTable()
    .catch(() => undefined);
}

async function tableNames(store: Store): Promise<string[]> {
  const names: string[] = [];
  for await (const { name = "" } of store.serviceClient().listTables()) names.push(name);
  return names;
}

async function restoreSeed(store: SeededStore, seed: string | Blob, synced: readonly string[]) {
  const mode = { synced };
  if (typeof seed !== "string") {
    await store.restore(seed, { mode });
    return;
  }
  const limit = new TimeLimit(silentMs, Number.POSITIVE_INFINITY);
  const endings = [
    store.on("status", ({ state }) => state === "closed" && limit.end()),
    store.on("owner", () => limit.end()),
    () => limit.end(),
  ];
  try {
    await store.restore(await download(seed, limit), { mode });
  } finally {
    for (const end of endings) end();
  }
}

const silentMs = 30_000; // after which a download fails, or a little later

async function download(url: string, limit: TimeLimit): Promise<ReadableStream<Uint8Array>> {
  const { body, ok, status } = await limit.race(fetch(url, { signal: limit.signal }));
  if (!ok || body === null) throw new Error(`${url} is answered with the status ${status}.`);
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await limit.read(() => reader.read());
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/**
 * Returns what the seed says about its tables. Other ranges are read from their beginning, and so
 * are those that were read in the future, both by the clock here and by that of the seed's writer.
 */
async function seedsOf(store: Store): Promise<Seeds> {
  const rows: SeedRow[] = [];
  for await (const row of store.table<SeedRow>(seedTable).listEntities()) rows.push(row as SeedRow);
  const times = rows.map(({ timestamp = "" }) => Date.parse(timestamp));
  const now = BigInt(Math.max(Date.now(), ...times)) * 10_000n;
  const seeds = new Map<string, SeedRange[]>();
  for (const row of rows) {
    const range = rangeOf(row);
    const isPast = range?.watermark !== undefined && range.watermark <= now;
    if (isPast) seeds.set(row.partitionKey, [...(seeds.get(row.partitionKey) ?? []), range]);
  }
  return seeds;
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
