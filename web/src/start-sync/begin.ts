// Begins to sync, in a tab that owns the store or in another one.

import type { SyncHost } from "../host/sync-host.ts";
import { pageActivity } from "../sync-session/activity.ts";
import { broadcastChannelFactory } from "../tabs/channel.ts";
import type { Store } from "../types.ts";
import type { Settings } from "./options.ts";
import { platformClock } from "./platform.ts";
import { StoreSync } from "./store-sync.ts";
import { TabSync } from "./tab-sync.ts";

export interface BeginOptions {
  readonly store: Store;
  readonly settings: Settings;
  /** As Host.startSync(). */
  readonly hostOf: () => Promise<object>;
  /** Called when sync has stopped. */
  readonly release: () => void;
}

export function begin({ hostOf, release, settings, store }: BeginOptions): Promise<TabSync> {
  const environment = { clock: platformClock, activity: pageActivity() };
  const open = async (isPaused: boolean) => {
    const host = (await hostOf()) as SyncHost;
    return await StoreSync.open({ store, host, settings, environment, isPaused });
  };
  const isShared = store.status.persistence === "indexeddb";
  const channels = isShared ? broadcastChannelFactory() : undefined;
  return TabSync.open({ store, settings, clock: platformClock, channels, open, release });
}
