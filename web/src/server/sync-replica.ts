// The command `entitable sync`: a store in files whose tables are synced.

import type { SyncHost } from "../host/sync-host.ts";
import { openStore } from "../open-store.ts";
import { startSync } from "../start-sync/index.ts";
import { foldedName } from "../start-sync/options.ts";
import { addSeed, type SeedRange, seedTable } from "../start-sync/seed.ts";
import { seedRangesOf } from "../start-sync/seed-ranges.ts";
import type { Sync, SyncReport, SyncStatus } from "../start-sync/types.ts";
import type { StoreHandle } from "../store.ts";
import { OwnerStore } from "../sync-store/owner-store.ts";
import type { Store } from "../types.ts";
import type { SyncCommand } from "./sync-arguments.ts";

export interface Replica {
  /** Syncs until both have the same. */
  once(): Promise<SyncReport>;
  /**
   * Ends syncing, and returns a seed (start-sync/seed.ts). Throws if the rows are not those of the
   * remote. REQUIRES: all was read.
   */
  seed(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** Opens the store, and tells each line of the status that differs from the last one. */
export async function openReplica(
  { sync: command }: SyncCommand,
  tell: (line: string) => void,
): Promise<Replica> {
  const { credential, location, name, tables, url } = command;
  const store = await openStore({ persistence: "file", path: location, name });
  try {
    if (command.seedOut !== undefined) await requireNoOthers(store, tables);
    const { conflict, consistent, direction, receipts } = command;
    const table = { conflict, direction, receipts, ...(consistent && { consistent }) };
    const sync = await startSync(store, {
      remote: credential ? { url, credential } : { url },
      tables: Object.fromEntries(tables.map((one) => [one, table])),
    });
    follow(sync, tell);
    return {
      once: () => sync.now(),
      async *seed() {
        await sync.stop();
        yield* seedOf(store, tables);
      },
      close: async () => {
        await sync.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The file has the whole store, and is made to be published. */
async function requireNoOthers(store: Store, tables: readonly string[]): Promise<void> {
  const synced = [...tables, seedTable].map(foldedName);
  for await (const { name = "" } of store.serviceClient().listTables())
    if (!synced.includes(foldedName(name)))
      throw new Error(`the store has the table ${name}, too: --seed-out needs one of its own.`);
}

async function* seedOf(store: Store, tables: readonly string[]): AsyncGenerator<Uint8Array> {
  const host = (await (store as StoreHandle).startSync()) as SyncHost;
  const seeds = new Map<string, SeedRange[]>();
  for (const table of tables) {
    const copy = new OwnerStore(host, table);
    seeds.set(foldedName(table), await copy.read((view) => seedRangesOf(table, view)));
  }
  await addSeed(store, seeds);
  try {
    yield* store.snapshotStream();
  } finally {
    await store.tableClient(seedTable).deleteTable();
  }
}

function follow(sync: Sync, tell: (line: string) => void): void {
  let last = "";
  const onStatus = (status: SyncStatus) => {
    const line = lineOf(status);
    if (line !== last) tell(line);
    last = line;
  };
  sync.subscribe(onStatus);
  onStatus(sync.status);
}

/** Without what changes with every request. */
function lineOf({ error, lost, online, parked, pending, phase }: SyncStatus): string {
  const state = online === false ? "offline" : phase === "syncing" ? "idle" : phase;
  const counts = `${pending} pending, ${parked} parked, ${lost} lost`;
  return `${state}: ${counts}${error ? `. ${error.message} ${error.hint}` : ""}`;
}
