// Syncs tables of a store that this tab owns.

import { StoreError } from "../errors.ts";
import type { AccountFeed } from "../sync-remote/account-feed.ts";
import { Http } from "../sync-remote/http.ts";
import { stretchesOf } from "../sync-remote/key-stretches.ts";
import { AccountBudget } from "../sync-session/account-budget.ts";
import { isolatedListener } from "../util/isolated-listener.ts";
import { parseId, type RecordId } from "./records.ts";
import { StatusSnapshots, sumOf, tableStatus } from "./status.ts";
import { openSyncedTable, type SyncedTable, type SyncedTableOptions } from "./synced-table.ts";
import type { LostWrite, ParkedWrites, SyncReport, SyncStatus, SyncWrite } from "./types.ts";

export type StoreSyncOptions = Omit<
  SyncedTableOptions,
  "name" | "http" | "feed" | "budget" | "onChange"
> & {
  /** Sends nothing until it is resumed. */
  readonly isPaused: boolean;
};

export class StoreSync {
  readonly #tables = new Map<string, SyncedTable>();
  readonly #listeners = new Set<(status: SyncStatus) => void>();
  readonly #snapshots = new StatusSnapshots(() => this.#sum());
  #told: SyncStatus | undefined;
  #willTell = false;
  #stopping: Promise<void> | undefined;

  /** Rejects if a table cannot be opened. */
  static async open(options: StoreSyncOptions): Promise<StoreSync> {
    const sync = new StoreSync();
    const onChange = () => sync.#onChange();
    const { environment, isPaused, settings } = options;
    const { now } = environment.clock;
    const budget = new AccountBudget(settings, now);
    const http = new Http({ ...settings.remote, now, onSend: () => budget.spendRequest() });
    const feed = feedLoader(http);
    for (const name of settings.tables.keys())
      sync.#tables.set(
        name,
        await openSyncedTable({ ...options, http, feed, budget, name, onChange }),
      );
    if (isPaused) sync.pause();
    for (const { session } of sync.#tables.values()) session.start();
    return sync;
  }

  private constructor() {}

  // ---- Status ----------------------------------------------------------------------------------

  get status(): SyncStatus {
    return this.#snapshots.current;
  }

  #sum(): SyncStatus {
    const tables = [...this.#tables].map(
      ([name, { session }]) => [name, tableStatus(name, session.status)] as const,
    );
    return sumOf(Object.fromEntries(tables));
  }

  subscribe(listener: (status: SyncStatus) => void): () => void {
    const isolated = isolatedListener(listener);
    if (this.#listeners.size === 0) this.#told = this.status;
    this.#listeners.add(isolated);
    return () => this.#listeners.delete(isolated);
  }

  /** Tells the listeners once about the changes of one turn of the event loop. */
  #onChange(): void {
    if (this.#willTell || this.#listeners.size === 0) return;
    this.#willTell = true;
    queueMicrotask(() => {
      this.#willTell = false;
      const { status } = this;
      if (status === this.#told) return;
      this.#told = status;
      for (const listener of [...this.#listeners]) listener(status);
    });
  }

  // ---- Control ---------------------------------------------------------------------------------

  async now(): Promise<SyncReport> {
    const sessions = [...this.#tables.values()].map(({ session }) => session);
    const complete = await Promise.all(sessions.map((session) => session.now()));
    const { pending, parked, lost } = this.status;
    return { complete: complete.every(Boolean), pending, parked, lost };
  }

  pause(): void {
    for (const { session } of this.#tables.values()) session.pause();
  }

  resume(): void {
    for (const { session } of this.#tables.values()) session.resume();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    await Promise.all([...this.#tables.values()].map(({ session }) => session.stop()));
  }

  // ---- What waits ------------------------------------------------------------------------------

  async *pending(): AsyncGenerator<SyncWrite> {
    for (const { records } of this.#tables.values()) yield* records.pending();
  }

  async *parked(): AsyncGenerator<ParkedWrites> {
    for (const { records } of this.#tables.values()) yield* records.parked();
  }

  async *lost(): AsyncGenerator<LostWrite> {
    for (const { records } of this.#tables.values()) yield* records.lost();
  }

  async retry(id: string): Promise<void> {
    const { key, records } = this.#record("retry", id, ["parked"]);
    await records.retry(key);
  }

  async discard(id: string): Promise<void> {
    const { key, kind, records } = this.#record("discard", id, ["parked", "lost"]);
    await records.discard(kind, key);
  }

  async restore(id: string): Promise<void> {
    const { key, records } = this.#record("restore", id, ["lost"]);
    await records.restore(key);
  }

  #record(method: string, id: string, kinds: readonly RecordId["kind"][]) {
    const parsed = parseId(String(id));
    const records = parsed && this.#tables.get(parsed.table)?.records;
    if (records && kinds.includes(parsed.kind)) return { ...parsed, records };
    const hint = `Pass the id of a write that ${kinds.map((kind) => `${kind}()`).join(" or ")} has returned.`;
    const message = `${method} takes the id of a write, not ${JSON.stringify(id)}.`;
    throw new StoreError("ValidationFailed", message, { hint });
  }

  /** How many requests a scan of the table needs at least. Undefined: not known yet. */
  stretchesOf(name: string): number | undefined {
    const ranges = this.#tables.get(name)?.session.ranges;
    return ranges?.reduce((sum, range) => sum + stretchesOf(range).length, 0);
  }

  async confirmDeletes(id: string): Promise<boolean> {
    const { table } = this.status.suspects.find((suspect) => suspect.id === id) ?? {};
    if (table === undefined) return false;
    return this.#tables.get(table)?.session.confirmDeletes(id) ?? false;
  }
}

/** Few remotes have a feed, so its code is loaded later. Without it, sync polls. */
function feedLoader(http: Http): () => Promise<AccountFeed | undefined> {
  let feed: AccountFeed | undefined;
  return async () => {
    const loaded = await import("../sync-remote/account-feed.ts").catch(() => undefined);
    if (loaded) feed ??= new loaded.AccountFeed(http);
    return feed;
  };
}
