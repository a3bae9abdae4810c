// Takes the tables that a seed has filled as tables of the remote, in the thread with the store.

import type { SyncHost } from "../host/sync-host.ts";
import { updateScanState } from "../sync/scan-state.ts";
import { OwnerStore } from "../sync-store/owner-store.ts";
import type { StoreAccess } from "./owned-table.ts";
import type { Seeds, TableSeed } from "./seed.ts";

/**
 * Begins to sync the tables with their rows. A table that was written since the seed was restored
 * is left as it is: the remote may not know its rows.
 */
export async function adoptSeeds(store: StoreAccess, host: SyncHost, seeds: Seeds): Promise<void> {
  let { commit } = seeds;
  const adopted: [string, TableSeed][] = [];
  for (const [table, seed] of seeds.tables) {
    const isFirst = commit !== undefined && (await host.adoptTable(table, commit));
    commit = isFirst ? (commit as number) + 1 : undefined;
    if (isFirst || (await adoptUnchanged(store, host, table, seed))) adopted.push([table, seed]);
  }
  for (const [table, seed] of adopted) await adoptRanges(new OwnerStore(host, table), seed);
}

/** Nothing may be written between the comparison and the adoption. */
async function adoptUnchanged(
  store: StoreAccess,
  host: SyncHost,
  table: string,
  seed: TableSeed,
): Promise<boolean> {
  for (let tries = 0; tries < 3; ++tries) {
    const commit = host.engine.lastCommit;
    if (!(await store.isUnchanged(table, seed))) return false;
    try {
      if (await host.adoptTable(table, commit)) return true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "TableAlreadyExists") throw error;
      return false; // an earlier process has begun to sync it
    }
  }
  return false;
}

/** The scans of the ranges continue those of the seed. A time in the future is a wrong one. */
function adoptRanges(store: OwnerStore, { ranges }: TableSeed): Promise<void> {
  const now = BigInt(Date.now()) * 10_000n;
  return store.transact((draft) => {
    for (const { from, to, watermark } of ranges)
      if (watermark !== undefined && watermark <= now)
        updateScanState(draft, { from, to }, { watermark });
  });
}
