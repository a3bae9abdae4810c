// Syncs tables of a store that this tab owns.

import { StoreError } from "../errors.ts";
import type { AccountFeed } from "../sync-remote/account-feed.ts";
import { Http } from "../sync-remote/http.ts";
import { stretchesOf } from "../sync-remote/key-stretches.ts";
import { AccountBudget } from "../sync-session/account-budget.ts";
import { foldedName } from "./options.ts";
import { endSync, OtherRowsError } from "./owned-table.ts";
import type { OwnerSync } from "./owner-sync.ts";
import { parseId, type RecordId } from "./records.ts";
import type { SeedRange, Seeds } from "./seed.ts";
import { failedStatus, StatusListeners, StatusSnapshots, sumOf, tableStatus } from "./status.ts";
import { openSyncedTable, type SyncedTable, type SyncedTableOptions } from "./synced-table.ts";
import type {
  EndTableOptions,
  LostWrite,
  ParkedWrites,
  SyncCoverage,
  SyncReport,
  SyncStatus,
  SyncWrite,
} from "./types.ts";

export interface OpenOptions {
  /** Sends nothing until it is resumed. */
  readonly isPaused: boolean;
  /**
   * Whether another tab may have synced the tables before. Then a table that cannot be synced any
   * more, because that tab has ended its sync, does not prevent that the others are.
   */
  readonly isNextOwner: boolean;
}

export type StoreSyncOptions = OpenOptions &
  Omit<SyncedTableOptions, "name" | "http" | "feed" | "budget" | "seed" | "onChange"> & {
    readonly seeds?: Seeds | undefined;
  };

const retryMs = 5000; // after a table could not be opened again

export class StoreSync implements OwnerSync {
  readonly #options: StoreSyncOptions;
  readonly #budget: AccountBudget;
  readonly #http: Http;
  readonly #feed: SyncedTableOptions["feed"];
  readonly #tables = new Map<string, SyncedTable>();
  /** Why a table is not synced now. It is tried again. */
  readonly #errors = new Map<string, unknown>();
  readonly #endings = new Map<string, Promise<void>>(); // by table: when its last call is done
  readonly #snapshots = new StatusSnapshots(() => this.#sum());
  readonly #listeners = new StatusListeners(() => this.status);
  #willTell = false;
  #isPaused: boolean;
  #stopping: Promise<void> | undefined;

  /** Rejects if a table cannot be opened. */
  static async open(options: StoreSyncOptions): Promise<StoreSync> {
    const { isNextOwner, isPaused, seeds, settings } = options;
    const sync = new StoreSync(options);
    for (const name of settings.tables.keys()) {
      try {
        await sync.#openTable(name, seeds?.get(foldedName(name)));
      } catch (error) {
        if (!isNextOwner || !(error instanceof OtherRowsError)) throw error;
        sync.#tryLater(name, error);
      }
    }
    if (isPaused) sync.pause();
    for (const { session } of sync.#tables.values()) session.start();
    return sync;
  }

  private constructor(options: StoreSyncOptions) {
    const { environment, settings } = options;
    this.#options = options;
    this.#isPaused = options.isPaused;
    const { now } = environment.clock;
    this.#budget = new AccountBudget(settings, now);
    const onSend = () => this.#budget.spendRequest();
    this.#http = new Http({ ...settings.remote, now, onSend });
    this.#feed = feedLoader(this.#http);
  }

  async #openTable(name: string, seed?: readonly SeedRange[]): Promise<SyncedTable> {
    const onChange = () => this.#onChange();
    const remote = { http: this.#http, feed: this.#feed, budget: this.#budget };
    const table = await openSyncedTable({ ...this.#options, ...remote, name, seed, onChange });
    this.#tables.set(name, table);
    this.#errors.delete(name);
    return table;
  }

  // ---- Status ----------------------------------------------------------------------------------

  get status(): SyncStatus {
    return this.#snapshots.current;
  }

  #sum(): SyncStatus {
    const tables = [...this.#tables].map(
      ([name, { session }]) => [name, tableStatus(name, session.status)] as const,
    );
    const failed = [...this.#errors].map(
      ([name, error]) => [name, failedStatus(name, error)] as const,
    );
    return sumOf(Object.fromEntries([...tables, ...failed]));
  }

  subscribe(listener: (status: SyncStatus) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Tells the listeners once about the changes of one turn of the event loop. */
  #onChange(): void {
    if (this.#willTell || !this.#listeners.areThere) return;
    this.#willTell = true;
    queueMicrotask(() => {
      this.#willTell = false;
      this.#listeners.tell();
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
    this.#isPaused = true;
    for (const { session } of this.#tables.values()) session.pause();
  }

  resume(): void {
    this.#isPaused = false;
    for (const { session } of this.#tables.values()) session.resume();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    await Promise.all([...this.#tables.values()].map(({ session }) => session.stop()));
    await Promise.all(this.#endings.values());
  }

  /** Calls for the same table are made one after the other. */
  endTable(table: string, { pending = "refuse" }: EndTableOptions = {}): Promise<void> {
    return this.#inOrder(table, () => this.#endTable(table, pending === "discard"));
  }

  #inOrder(table: string, change: () => Promise<void>): Promise<void> {
    const done = (this.#endings.get(table) ?? Promise.resolve()).then(change);
    const ending = done.catch(() => {});
    this.#endings.set(table, ending);
    return done;
  }

  async #endTable(table: string, discards: boolean): Promise<void> {
    if (!this.#tables.has(table) && !this.#errors.has(table)) return; // another call has ended it
    await this.#tables.get(table)?.session.stop();
    try {
      await endSync(this.#options.host, table, discards);
    } catch (error) {
      await this.#continue(table);
      throw error;
    }
    this.#tables.delete(table);
    this.#errors.delete(table);
    this.#onChange();
  }

  /** Syncs a table again whose session was stopped. Tries again later if the store fails. */
  async #continue(table: string): Promise<void> {
    if (this.#stopping) return;
    try {
      const { session } = await this.#openTable(table);
      if (this.#isPaused) session.pause();
      if (this.#stopping) await session.stop();
      else session.start();
    } catch (error) {
      this.#tryLater(table, error);
    } finally {
      this.#onChange();
    }
  }

  #tryLater(table: string, error: unknown): void {
    this.#errors.set(table, error);
    this.#options.environment.clock.after(retryMs, () => {
      void this.#inOrder(table, async () => {
        if (this.#errors.get(table) === error) await this.#continue(table);
      });
    });
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

  coverage(): Promise<SyncCoverage[]> {
    return Promise.all([...this.#tables.values()].map((table) => table.coverage()));
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
function feedLoader(http: Http): SyncedTableOptions["feed"] {
  let feed: AccountFeed | undefined;
  return async () => {
    const loaded = await import("../sync-remote/account-feed.ts").catch(() => undefined);
    if (loaded) feed ??= new loaded.AccountFeed(http);
    return feed;
  };
}
