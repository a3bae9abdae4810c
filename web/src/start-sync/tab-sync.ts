// Sync of a store that several tabs share. The tab that owns the store syncs it. The others show
// what it tells, and send it their calls; when one of them becomes the owner, it continues.

import { loadedCode, StoreError } from "../errors.ts";
import type { Clock } from "../sync-session/clock.ts";
import type { Channel, ChannelFactory } from "../tabs/channel.ts";
import { errorToWire } from "../tabs/messages.ts";
import type { Store } from "../types.ts";
import { toError } from "../util/platform-objects.ts";
import { foldedName, requireOneOf, type Settings } from "./options.ts";
import { rowCounts } from "./owned-table.ts";
import { firstOf, type OwnerSync, run, SyncCalls } from "./owner-sync.ts";
import { syncStoppedError } from "./port-calls.ts";
import {
  changesOf,
  StatusListeners,
  StatusSnapshots,
  sumOf,
  unknownStatus,
  withChanges,
} from "./status.ts";
import type { OpenOptions } from "./store-sync.ts";
import { ownerMs, TabCalls } from "./tab-calls.ts";
import {
  type MethodCall,
  syncChannelName,
  type TabCall,
  type TabMessage,
  type TabStatus,
} from "./tab-messages.ts";
import type {
  EndTableOptions,
  LostWrite,
  ParkedWrites,
  Sync,
  SyncError,
  SyncEstimate,
  SyncListOptions,
  SyncStatus,
  SyncWrite,
} from "./types.ts";

export interface TabSyncOptions {
  readonly store: Store;
  readonly settings: Settings;
  readonly clock: Clock;
  /** Undefined: no other tab can have the store. */
  readonly channels: ChannelFactory | undefined;
  /** Begins to sync the store, which this tab owns. */
  readonly open: (settings: Settings, options: OpenOptions) => Promise<OwnerSync>;
  /** Called when sync has stopped, or that of one table has ended. */
  readonly release: (table?: string) => void;
}

type Unsent<M> = M extends unknown ? Omit<M, "from"> : never;

const retryMs = 5000; // after this tab has become the owner, and could not begin

export class TabSync extends SyncCalls implements Sync {
  readonly #options: TabSyncOptions;
  readonly #id: string;
  readonly #channel: Channel | undefined;
  readonly #calls: TabCalls;
  readonly #snapshots = new StatusSnapshots(() => this.#status());
  readonly #listeners = new StatusListeners(() => this.status);
  readonly #endings: (() => void)[] = [];
  #own: OwnerSync | undefined;
  #ownSession = ""; // names what this tab does since it has begun to sync
  #owner: string | undefined; // the session of the tab that syncs, if it is another one
  #ownerStatus: SyncStatus | undefined; // of that tab
  #told: SyncStatus | undefined; // the tabs know this status of this tab
  readonly #ended = new Set<string>(); // tables
  #change: Promise<unknown> = Promise.resolve();
  #beginError: Error | undefined;
  #cancelRetry = (): void => {};
  #onSynced = (): void => {}; // called when a tab syncs
  #isPaused = false;
  #stopping: Promise<void> | undefined;

  /**
   * Resolves when this tab or another one syncs, or if none does within some time: another tab may
   * still begin, or this one if it becomes the owner. Rejects if this tab owns the store and cannot
   * begin.
   */
  static async open(options: TabSyncOptions): Promise<TabSync> {
    const sync = new TabSync(options);
    try {
      if (sync.#isOwner) await sync.#inOrder(() => sync.#beginFirst());
      if (sync.#own === undefined) await sync.#waitForOwner();
      return sync;
    } catch (error) {
      sync.#end();
      throw error;
    }
  }

  private constructor(options: TabSyncOptions) {
    super();
    const { channels, clock, store } = options;
    this.#options = options;
    this.#id = clock.token();
    this.#calls = new TabCalls(clock, (call) => this.#post(call));
    const receive = (message: unknown) => this.#receive(message as TabMessage);
    this.#channel = channels?.(
      syncChannelName(store.name, options.settings.tables.keys()),
      receive,
    );
    this.#endings.push(
      store.on("owner", () => this.#onOwner()),
      store.on("status", ({ state }) => {
        if (state === "closed") void this.stop();
      }),
    );
  }

  async #waitForOwner(): Promise<void> {
    this.#post({ type: "hello" });
    await new Promise<void>((resolve) => {
      this.#onSynced = resolve;
      this.#endings.push(this.#options.clock.after(ownerMs, resolve));
    });
  }

  /** Without the tables whose sync has ended. */
  get #settings(): Settings {
    const { settings } = this.#options;
    const tables = [...settings.tables].filter(([name]) => !this.#ended.has(name));
    return { ...settings, tables: new Map(tables) };
  }

  get #isOwner(): boolean {
    return this.#options.store.status.owner === "self";
  }

  // ---- Ownership -------------------------------------------------------------------------------

  /** Beginning to sync, and following another owner, happen one after the other. */
  #inOrder(change: () => Promise<void>): Promise<void> {
    const done = this.#change.then(change);
    this.#change = done.catch(() => {});
    return done;
  }

  async #beginFirst(): Promise<void> {
    try {
      await this.#begin({ isNextOwner: false });
    } catch (error) {
      if (this.#isOwner) throw error;
    }
  }

  #onOwner(): void {
    this.#cancelRetry();
    void this.#inOrder(() => this.#followOwner());
  }

  async #followOwner(): Promise<void> {
    const own = this.#own;
    this.#own = undefined;
    this.#beginError = undefined;
    this.#onOwnerGone();
    const stopped = own?.stop();
    if (this.#isOwner) await stopped; // otherwise, it cannot change the store any more
    if (this.#stopping) return;
    if (!this.#isOwner) {
      this.#post({ type: "hello" });
      return;
    }
    try {
      await this.#begin({ isNextOwner: true });
    } catch (error) {
      this.#beginError = toError(error);
      this.#ownerStatus = undefined;
      this.#listeners.tell();
      this.#cancelRetry = this.#options.clock.after(retryMs, () => {
        if (this.#isOwner && this.#own === undefined) this.#onOwner();
      });
    }
  }

  #onOwnerGone(): void {
    this.#owner = undefined;
    this.#calls.onOwnerGone();
  }

  async #begin({ isNextOwner }: Pick<OpenOptions, "isNextOwner">): Promise<void> {
    const isPaused = this.#isPaused;
    const own = await this.#options.open(this.#settings, { isNextOwner, isPaused });
    if (this.#stopping || !this.#isOwner) {
      await own.stop();
      return;
    }
    if (this.#isPaused && !isPaused) own.pause();
    if (isPaused && !this.#isPaused) own.resume();
    this.#own = own;
    this.#ownSession = this.#options.clock.token();
    this.#beginError = undefined;
    this.#ownerStatus = undefined;
    own.subscribe(() => {
      this.#tellTabs({ isWhole: false });
      this.#listeners.tell();
    });
    this.#calls.runHere((call) => this.#run(call));
    this.#onSynced();
    this.#tellTabs({ isWhole: true });
    this.#listeners.tell();
  }

  // ---- Messages --------------------------------------------------------------------------------

  #post(message: Unsent<TabMessage>): void {
    this.#channel?.post({ ...message, from: this.#id });
  }

  #tellTabs({ isWhole }: { isWhole: boolean }): void {
    if (this.#own === undefined || this.#stopping || this.#channel === undefined) return;
    const { status } = this.#own;
    const changes = changesOf(isWhole ? undefined : this.#told, status);
    this.#told = status;
    const [session, isPaused] = [this.#ownSession, this.#isPaused];
    this.#post({ type: "status", session, changes, isWhole, isPaused });
  }

  #receive(message: TabMessage): void {
    switch (message.type) {
      case "hello":
        this.#tellTabs({ isWhole: true });
        break;
      case "status":
        this.#onStatus(message);
        break;
      case "stopped":
        this.#onStopped(message.session);
        break;
      case "pause":
        this.#setPaused(message.isPaused);
        break;
      case "call":
        if (this.#own && !this.#stopping) void this.#answer(message);
        break;
      case "result":
        if (message.to === this.#id) this.#calls.onResult(message);
    }
  }

  #onStatus({ changes, isPaused, isWhole, session }: TabStatus): void {
    if (this.#own) return; // of an owner that was replaced
    const isNew = this.#owner !== session;
    if (isNew && !isWhole) {
      this.#post({ type: "hello" });
      return;
    }
    this.#owner = session;
    if (isNew) this.#calls.onOwner();
    // A tab that begins to sync does not know that the others are paused.
    if (isNew && this.#isPaused && !isPaused) this.#post({ type: "pause", isPaused: true });
    else this.#isPaused = isPaused;
    this.#ownerStatus = withChanges(isWhole ? undefined : this.#ownerStatus, changes);
    // The owner may have named the tables in another case.
    const synced = new Set(Object.keys(this.#ownerStatus.tables).map(foldedName));
    for (const name of this.#settings.tables.keys())
      if (!synced.has(foldedName(name))) this.#onEnded(name);
    this.#onSynced();
    this.#listeners.tell();
  }

  #onStopped(session: string): void {
    if (this.#owner !== session) return;
    this.#ownerStatus = undefined;
    this.#onOwnerGone();
    this.#listeners.tell();
  }

  async #answer(call: TabCall & { readonly from: string }): Promise<void> {
    const result = { type: "result", to: call.from, number: call.number } as const;
    try {
      this.#post({ ...result, value: await this.#run(call) });
    } catch (error) {
      // The next owner gets the call.
      if (this.#own && !this.#stopping) this.#post({ ...result, error: errorToWire(error) });
    }
  }

  async #run(call: MethodCall): Promise<unknown> {
    const own = this.#own as OwnerSync;
    if (call.method !== "endTable") return await run(own, call);
    const table = this.#nameOf(call.id as string) as string;
    await run(own, { ...call, id: table });
    this.#onEnded(table);
    return undefined;
  }

  /** The table as it is named in the options of this tab. */
  #nameOf(table: string): string | undefined {
    const names = [...this.#options.settings.tables.keys()];
    return names.find((name) => foldedName(name) === foldedName(table));
  }

  #onEnded(table: string): void {
    if (this.#ended.has(table)) return;
    this.#ended.add(table);
    this.#options.release(table);
  }

  /** Runs the call in the tab that owns the store. */
  protected async call<T>(call: MethodCall): Promise<T> {
    if (this.#stopping) throw syncStoppedError();
    return (await (this.#own ? this.#run(call) : this.#calls.call(call))) as T;
  }

  // ---- Status ----------------------------------------------------------------------------------

  get status(): SyncStatus {
    return this.#snapshots.current;
  }

  #status(): SyncStatus {
    if (this.#own) return this.#own.status;
    const phase = this.#stopping ? "stopped" : this.#isPaused ? "paused" : "connecting";
    const names = [...this.#settings.tables.keys()];
    const error = this.#beginError && beginErrorOf(this.#beginError);
    const unknown = () =>
      sumOf(Object.fromEntries(names.map((name) => [name, { ...unknownStatus(phase), error }])));
    return this.#stopping ? unknown() : (this.#ownerStatus ?? unknown());
  }

  subscribe(listener: (status: SyncStatus) => void): () => void {
    return this.#listeners.add(listener);
  }

  // ---- Control ---------------------------------------------------------------------------------

  pause(): void {
    this.#post({ type: "pause", isPaused: true });
    this.#setPaused(true);
  }

  resume(): void {
    this.#post({ type: "pause", isPaused: false });
    this.#setPaused(false);
  }

  #setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (isPaused) this.#own?.pause();
    else this.#own?.resume();
    this.#listeners.tell();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    await undefined; // so that #stopping is set
    if (this.#own) this.#post({ type: "stopped", session: this.#ownSession });
    await this.#own?.stop();
    await this.#change; // what begins in this moment is stopped there
    this.#end();
    this.#listeners.tell();
    this.#options.release();
  }

  #end(): void {
    for (const end of this.#endings) end();
    this.#cancelRetry();
    this.#channel?.close();
    this.#calls.rejectAll(syncStoppedError());
  }

  async endTable(name: string, { pending }: EndTableOptions = {}): Promise<void> {
    const { tables } = this.#options.settings;
    const table = this.#nameOf(String(name));
    if (table === undefined) throw unknownTableError(name, [...tables.keys()]);
    if (pending !== undefined) requireOneOf("pending", pending, ["refuse", "discard"]);
    if (this.#ended.has(table)) return;
    await this.call({ method: "endTable", id: table, pending });
    this.#onEnded(table);
  }

  // ---- What waits ------------------------------------------------------------------------------

  override async *pending(options: SyncListOptions = {}): AsyncGenerator<SyncWrite> {
    yield* firstOf(this.#own?.pending(options) ?? super.pending(options), options.top);
  }

  override async *parked(options: SyncListOptions = {}): AsyncGenerator<ParkedWrites> {
    yield* firstOf(this.#own?.parked(options) ?? super.parked(options), options.top);
  }

  override async *lost(options: SyncListOptions = {}): AsyncGenerator<LostWrite> {
    yield* firstOf(this.#own?.lost(options) ?? super.lost(options), options.top);
  }

  /** For <table-explorer>, which shows the switches of a faultyFetch(). */
  get fetch(): unknown {
    return this.#options.settings.remote.fetch;
  }

  async estimate(): Promise<SyncEstimate> {
    // Only applications that ask for an estimate load it.
    const { estimateOf, sizesOf } = await loadedCode(import("./estimate.ts"));
    const settings = this.#settings;
    const sizes = sizesOf(settings, {
      counts: await rowCounts(this.#options.store),
      stretchesOf: (name) => this.#own?.stretchesOf?.(name),
      isFollowed: (name) => this.status.tables[name]?.following ?? false,
    });
    return estimateOf(settings, sizes);
  }
}

const beginErrorOf = (error: Error): SyncError => ({
  code: "StoreFailed",
  message: `This tab cannot begin to sync the store: ${error.message}`,
  hint: (error as Partial<StoreError>).hint || "Sync tries again.",
});

function unknownTableError(table: string, tables: readonly string[]): StoreError {
  const hint = `Pass one of ${tables.join(", ")}.`;
  return new StoreError("ValidationFailed", `The table ${table} is not synced.`, { hint });
}
