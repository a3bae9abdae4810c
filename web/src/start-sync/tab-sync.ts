// Sync of a store that several tabs share. The tab that owns the store syncs it. The others show
// what it tells, and send it their calls; when one of them becomes the owner, it continues.

import { StoreError } from "../errors.ts";
import type { Clock } from "../sync-session/clock.ts";
import { rangesOfTable } from "../sync-session/ranges.ts";
import type { Channel, ChannelFactory } from "../tabs/channel.ts";
import { errorToWire } from "../tabs/messages.ts";
import type { Store } from "../types.ts";
import { isolatedListener } from "../util/isolated-listener.ts";
import { toError } from "../util/platform-objects.ts";
import { estimateOf } from "./estimate.ts";
import { foldedName, type Settings } from "./options.ts";
import { rowCounts } from "./owned-table.ts";
import { StatusSnapshots, sumOf, unknownStatus } from "./status.ts";
import type { StoreSync } from "./store-sync.ts";
import { ownerMs, TabCalls } from "./tab-calls.ts";
import {
  type CallMethod,
  syncChannelName,
  type TabCall,
  type TabMessage,
  type TabStatus,
} from "./tab-messages.ts";
import type {
  LostWrite,
  ParkedWrites,
  Sync,
  SyncError,
  SyncEstimate,
  SyncReport,
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
  readonly open: (isPaused: boolean) => Promise<StoreSync>;
  /** Called when sync has stopped. */
  readonly release: () => void;
}

type Unsent<M> = M extends unknown ? Omit<M, "from"> : never;

const rowsOfPage = 1000;
const retryMs = 5000; // after this tab has become the owner, and could not begin

export class TabSync implements Sync {
  readonly #options: TabSyncOptions;
  readonly #id: string;
  readonly #channel: Channel | undefined;
  readonly #calls: TabCalls;
  readonly #listeners = new Set<(status: SyncStatus) => void>();
  readonly #snapshots = new StatusSnapshots(() => this.#status());
  readonly #endings: (() => void)[] = [];
  #own: StoreSync | undefined;
  #ownSession = ""; // names what this tab does since it has begun to sync
  #owner: string | undefined; // the session of the tab that syncs, if it is another one
  #ownerStatus: SyncStatus | undefined; // of that tab
  #shown: SyncStatus | undefined; // to listeners
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
      await this.#begin();
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
      await this.#begin();
    } catch (error) {
      this.#beginError = toError(error);
      this.#ownerStatus = undefined;
      this.#tellListeners();
      this.#cancelRetry = this.#options.clock.after(retryMs, () => {
        if (this.#isOwner && this.#own === undefined) this.#onOwner();
      });
    }
  }

  #onOwnerGone(): void {
    this.#owner = undefined;
    this.#calls.onOwnerGone();
  }

  async #begin(): Promise<void> {
    const isPaused = this.#isPaused;
    const own = await this.#options.open(isPaused);
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
      this.#tellTabs();
      this.#tellListeners();
    });
    this.#calls.runHere((call) => this.#run(call));
    this.#onSynced();
    this.#tellTabs();
    this.#tellListeners();
  }

  // ---- Messages --------------------------------------------------------------------------------

  #post(message: Unsent<TabMessage>): void {
    this.#channel?.post({ ...message, from: this.#id });
  }

  #tellTabs(): void {
    if (this.#own === undefined || this.#stopping || this.#channel === undefined) return;
    const { status } = this.#own;
    this.#post({ type: "status", session: this.#ownSession, status, isPaused: this.#isPaused });
  }

  #receive(message: TabMessage): void {
    switch (message.type) {
      case "hello":
        this.#tellTabs();
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

  #onStatus({ isPaused, session, status }: TabStatus): void {
    if (this.#own) return; // of an owner that was replaced
    const isNew = this.#owner !== session;
    this.#owner = session;
    if (isNew) this.#calls.onOwner();
    // A tab that begins to sync does not know that the others are paused.
    if (isNew && this.#isPaused && !isPaused) this.#post({ type: "pause", isPaused: true });
    else this.#isPaused = isPaused;
    this.#ownerStatus = status;
    this.#onSynced();
    this.#tellListeners();
  }

  #onStopped(session: string): void {
    if (this.#owner !== session) return;
    this.#ownerStatus = undefined;
    this.#onOwnerGone();
    this.#tellListeners();
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

  #run({ id = "", method }: Pick<TabCall, "id" | "method">): Promise<unknown> {
    const own = this.#own as StoreSync;
    switch (method) {
      case "now":
        return own.now();
      case "pending":
      case "parked":
      case "lost":
        return listOf<unknown>(own[method]());
      default:
        return own[method](id);
    }
  }

  /** Runs the call in the tab that owns the store. */
  async #call<T>(method: CallMethod, id?: string): Promise<T> {
    if (this.#stopping) throw stoppedError();
    const call = { method, id };
    return (await (this.#own ? this.#run(call) : this.#calls.call(method, id))) as T;
  }

  // ---- Status ----------------------------------------------------------------------------------

  get status(): SyncStatus {
    return this.#snapshots.current;
  }

  #status(): SyncStatus {
    if (this.#own) return this.#own.status;
    const phase = this.#stopping ? "stopped" : this.#isPaused ? "paused" : "connecting";
    const names = [...this.#options.settings.tables.keys()];
    const error = this.#beginError && beginErrorOf(this.#beginError);
    const unknown = () =>
      sumOf(Object.fromEntries(names.map((name) => [name, { ...unknownStatus(phase), error }])));
    return this.#stopping ? unknown() : (this.#ownerStatus ?? unknown());
  }

  subscribe(listener: (status: SyncStatus) => void): () => void {
    const isolated = isolatedListener(listener);
    if (this.#listeners.size === 0) this.#shown = this.status;
    this.#listeners.add(isolated);
    return () => this.#listeners.delete(isolated);
  }

  #tellListeners(): void {
    const { status } = this;
    if (status === this.#shown) return;
    this.#shown = status;
    for (const listener of [...this.#listeners]) listener(status);
  }

  // ---- Control ---------------------------------------------------------------------------------

  now(): Promise<SyncReport> {
    return this.#call("now");
  }

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
    this.#tellListeners();
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
    this.#tellListeners();
    this.#options.release();
  }

  #end(): void {
    for (const end of this.#endings) end();
    this.#cancelRetry();
    this.#channel?.close();
    this.#calls.rejectAll(stoppedError());
  }

  // ---- What waits ------------------------------------------------------------------------------

  async *pending(): AsyncGenerator<SyncWrite> {
    if (this.#own) yield* this.#own.pending();
    else yield* await this.#call<SyncWrite[]>("pending");
  }

  async *parked(): AsyncGenerator<ParkedWrites> {
    if (this.#own) yield* this.#own.parked();
    else yield* await this.#call<ParkedWrites[]>("parked");
  }

  async *lost(): AsyncGenerator<LostWrite> {
    if (this.#own) yield* this.#own.lost();
    else yield* await this.#call<LostWrite[]>("lost");
  }

  retry(id: string): Promise<void> {
    return this.#call("retry", id);
  }

  discard(id: string): Promise<void> {
    return this.#call("discard", id);
  }

  restore(id: string): Promise<void> {
    return this.#call("restore", id);
  }

  confirmDeletes(id: string): Promise<boolean> {
    return this.#call("confirmDeletes", id);
  }

  async estimate(): Promise<SyncEstimate> {
    const { settings, store } = this.#options;
    const counts = await rowCounts(store);
    const sizes = [...settings.tables].map(([name, { partitions }]) => {
      const rows = counts.get(foldedName(name)) ?? 0;
      // Another tab knows into how many ranges a large table was divided.
      const usual = partitions?.length ?? (rows > rowsOfPage ? rangesOfTable : 1);
      const stretches = this.#own?.stretchesOf(name) ?? usual;
      const isFollowed = this.status.tables[name]?.following ?? false;
      return [foldedName(name), { rows, stretches, isFollowed }] as const;
    });
    return estimateOf(settings, new Map(sizes));
  }
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const beginErrorOf = (error: Error): SyncError => ({
  code: "StoreFailed",
  message: `This tab cannot begin to sync the store: ${error.message}`,
  hint: (error as Partial<StoreError>).hint || "Sync tries again.",
});

const stoppedError = (): StoreError =>
  new StoreError("StoreClosed", "Sync was stopped.", { hint: "Call startSync() again." });
