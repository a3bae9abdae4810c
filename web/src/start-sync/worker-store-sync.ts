// The page's side of sync in the worker that has the store (sync-worker.ts): has the status, and
// sends calls and what the user does.

import type { Activity, ActivityEvent } from "../sync-session/activity.ts";
import type { WorkerSync } from "../transport.ts";
import type { Store } from "../types.ts";
import type { Settings } from "./options.ts";
import { type OwnerSync, SyncCalls } from "./owner-sync.ts";
import { type SentSettings, servePageFunctions, settingsToSend } from "./page-functions.ts";
import { PortCalls, syncStoppedError } from "./port-calls.ts";
import type { Seeds } from "./seed.ts";
import {
  type StatusChanges,
  StatusListeners,
  StatusSnapshots,
  sumOf,
  withChanges,
} from "./status.ts";
import type { OpenOptions } from "./store-sync.ts";
import { syncScriptUrl } from "./sync-script.ts";
import type { MethodCall } from "./tab-messages.ts";
import type { EndTableOptions, SyncStatus } from "./types.ts";

export interface WorkerStoreSyncOptions extends OpenOptions {
  readonly store: Store;
  readonly worker: WorkerSync;
  readonly settings: Settings;
  readonly activity: Activity;
  readonly seeds?: Seeds | undefined;
}

/** What Activity says now. */
export interface ActivityState {
  readonly isOnline: boolean;
  readonly isVisible: boolean;
}

/** The first call to the worker. */
export interface OpenMessage extends ActivityState, OpenOptions {
  readonly settings: SentSettings;
  readonly seeds: Seeds | undefined;
}

const stoppedTable = { phase: "stopped", inFlight: 0, following: false } as const;

export class WorkerStoreSync extends SyncCalls implements OwnerSync {
  readonly #calls: PortCalls;
  readonly #snapshots = new StatusSnapshots(() => this.#status);
  readonly #listeners = new StatusListeners(() => this.status);
  readonly #endings: (() => void)[] = [];
  #status: SyncStatus = sumOf({});

  /** Rejects if the script cannot be loaded, or a table cannot be opened. */
  static async open(options: WorkerStoreSyncOptions): Promise<WorkerStoreSync> {
    const { activity, isNextOwner, isPaused, seeds, settings, worker } = options;
    const { port1, port2 } = new MessageChannel();
    const sync = new WorkerStoreSync(options, port1);
    const message: OpenMessage = {
      ...stateOf(activity),
      settings: settingsToSend(settings),
      seeds,
      isNextOwner,
      isPaused,
    };
    try {
      worker.connect((await syncScriptUrl()).href, port2);
      if (options.store.status.state === "closed") throw syncStoppedError();
      await sync.#calls.call("open", message);
      return sync;
    } catch (error) {
      sync.#end();
      throw error;
    }
  }

  private constructor({ activity, settings, store }: WorkerStoreSyncOptions, port: MessagePort) {
    super();
    this.#calls = new PortCalls(port, {
      ...servePageFunctions(settings),
      createTable: (table: string) => store.tableClient(table).createTable(),
      status: (changes: StatusChanges) => this.#onStatus(changes),
    });
    const onActivity = (event: ActivityEvent) =>
      this.#calls.tell("activity", event, stateOf(activity));
    this.#endings.push(
      activity.watch(onActivity),
      // The worker ends with the store.
      store.on("status", ({ state }) => {
        if (state === "closed") this.#end();
      }),
    );
  }

  #end(): void {
    for (const end of this.#endings) end();
    this.#calls.close(syncStoppedError());
    const stopped = Object.keys(this.#status.tables).map((table) => [table, stoppedTable] as const);
    this.#onStatus(Object.fromEntries(stopped));
  }

  // ---- Status ----------------------------------------------------------------------------------

  get status(): SyncStatus {
    return this.#snapshots.current;
  }

  #onStatus(changes: StatusChanges): void {
    this.#status = withChanges(this.#status, changes);
    this.#listeners.tell();
  }

  subscribe(listener: (status: SyncStatus) => void): () => void {
    return this.#listeners.add(listener);
  }

  // ---- Control ---------------------------------------------------------------------------------

  pause(): void {
    this.#calls.tell("pause");
  }

  resume(): void {
    this.#calls.tell("resume");
  }

  async stop(): Promise<void> {
    await this.#calls.call("stop").catch(() => {}); // the worker may have ended
    this.#end();
  }

  endTable(table: string, { pending }: EndTableOptions = {}): Promise<void> {
    return this.call({ method: "endTable", id: table, pending });
  }

  protected call<T>(call: MethodCall): Promise<T> {
    return this.#calls.call("call", call);
  }
}

const stateOf = (activity: Activity): ActivityState => ({
  isOnline: activity.isOnline(),
  isVisible: activity.isVisible(),
});
