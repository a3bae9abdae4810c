// The script that syncs a store in its worker, beside the engine. web/build.mjs bundles it as
// entitable-sync-worker.js; the worker loads it when its page calls startSync().

import { StoreError } from "../errors.ts";
import type { SyncHost } from "../host/sync-host.ts";
import type { Activity, ActivityEvent } from "../sync-session/activity.ts";
import type { Host } from "../transport.ts";
import { run } from "./owner-sync.ts";
import { settingsFromPage } from "./page-functions.ts";
import { platformClock } from "./platform.ts";
import { PortCalls } from "./port-calls.ts";
import { changesOf } from "./status.ts";
import { StoreSync } from "./store-sync.ts";
import type { MethodCall } from "./tab-messages.ts";
import type { SyncStatus } from "./types.ts";
import type { ActivityState, OpenMessage } from "./worker-store-sync.ts";

/** The activity of the page, as it tells it. */
class PageActivity implements Activity {
  #state: ActivityState;
  readonly #listeners = new Set<(event: ActivityEvent) => void>();

  constructor(state: ActivityState) {
    this.#state = state;
  }

  isOnline(): boolean {
    return this.#state.isOnline;
  }

  isVisible(): boolean {
    return this.#state.isVisible;
  }

  watch(listener: (event: ActivityEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onEvent(event: ActivityEvent, state: ActivityState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener(event);
  }
}

/** Serves the page at the other end of the port. */
function serve(port: MessagePort, host: Host): void {
  let activity: PageActivity | undefined;
  let sync: StoreSync | undefined;
  const opened = (): StoreSync => {
    if (sync) return sync;
    throw new StoreError("StoreClosed", "Sync has not begun.");
  };
  const page = new PortCalls(port, {
    open: async ({ settings, seeds, isNextOwner, isPaused, ...state }: OpenMessage) => {
      activity = new PageActivity(state);
      sync = await StoreSync.open({
        store: {
          createTable: (table) => page.call("createTable", table),
          stats: () => host.stats(),
        },
        host: (await host.startSync?.()) as SyncHost,
        settings: settingsFromPage(settings, page),
        environment: { clock: platformClock, activity },
        seeds,
        isNextOwner,
        isPaused,
      });
      tellStatus(page, sync);
    },
    activity: (event: ActivityEvent, state: ActivityState) => activity?.onEvent(event, state),
    call: (call: MethodCall) => run(opened(), call),
    // Before it is open, there is nothing to pause: open() says whether it begins paused.
    pause: () => sync?.pause(),
    resume: () => sync?.resume(),
    stop: () => sync?.stop(),
  });
}

/** Tells the page the status, and then what changes in it. */
function tellStatus(page: PortCalls, sync: StoreSync): void {
  let told: SyncStatus | undefined;
  const tell = (status: SyncStatus) => {
    page.tell("status", changesOf(told, status));
    told = status;
  };
  tell(sync.status);
  sync.subscribe(tell);
}

(globalThis as { entitableSync?: typeof serve }).entitableSync = serve;
