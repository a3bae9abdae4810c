// Begins to sync, in a tab that owns the store or in another one.

import { loadedCode, StoreError } from "../errors.ts";
import type { SyncHost } from "../host/sync-host.ts";
import { pageActivity } from "../sync-session/activity.ts";
import { broadcastChannelFactory } from "../tabs/channel.ts";
import type { WorkerSync } from "../transport.ts";
import type { Store } from "../types.ts";
import type { Settings } from "./options.ts";
import type { OwnerSync } from "./owner-sync.ts";
import { platformClock } from "./platform.ts";
import type { Seeds } from "./seed.ts";
import { type OpenOptions, StoreSync } from "./store-sync.ts";
import { TabSync } from "./tab-sync.ts";

export interface BeginOptions {
  readonly store: Store;
  readonly settings: Settings;
  /** As Host.startSync(). */
  readonly hostOf: () => Promise<object | undefined>;
  /** Called when sync has stopped, or that of one table has ended. */
  readonly release: (table?: string) => void;
}

/** Throws StoreError ValidationFailed. */
export async function begin(options: BeginOptions): Promise<TabSync> {
  const { hostOf, release, settings, store } = options;
  if (settings.seed !== undefined) (await seedCode()).requireSeed(settings);
  const open = async (settings: Settings, options: OpenOptions): Promise<OwnerSync> => {
    const host = (await hostOf()) as SyncHost | WorkerSync | undefined;
    if (host === undefined) throw cannotSyncError();
    if (settings.seed === undefined) return await openOwn({ ...options, host, settings, store });
    const { endSeed, openSeed } = await seedCode();
    const seeds = await openSeed(store, settings.seed, settings.tables.keys());
    const own = await openOwn({ ...options, host, seeds, settings, store });
    if (seeds) await endSeed(store);
    return own;
  };
  const isShared = store.status.persistence === "indexeddb";
  const channels = isShared ? broadcastChannelFactory() : undefined;
  return await TabSync.open({ store, settings, clock: platformClock, channels, open, release });
}

interface OwnOptions extends OpenOptions {
  readonly store: Store;
  readonly host: SyncHost | WorkerSync;
  readonly settings: Settings;
  readonly seeds?: Seeds | undefined;
}

/** Syncs the store in the thread that has it. */
async function openOwn({ host, store, ...options }: OwnOptions): Promise<OwnerSync> {
  const activity = pageActivity();
  if ("connect" in host) {
    const { WorkerStoreSync } = await import("./worker-store-sync.ts");
    return await WorkerStoreSync.open({ ...options, store, worker: host, activity });
  }
  const access = {
    createTable: (table: string) => store.tableClient(table).createTable(),
    stats: () => store.stats(),
  };
  const environment = { clock: platformClock, activity };
  return await StoreSync.open({ ...options, store: access, host, environment });
}

/** Only applications with a seed load it. */
const seedCode = () => loadedCode(import("./seed.ts"));

const cannotSyncError = (): StoreError =>
  new StoreError("NotSupported", "This store cannot be synced.", {
    hint: "Open a store with openStore().",
  });
