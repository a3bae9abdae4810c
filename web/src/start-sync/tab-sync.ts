// Sync of a store that several tabs share. The tab that owns the store syncs it. The others show
// what it tells, and send it their calls; when one of them becomes the owner, it continues.

import { StoreError } from "../errors.ts";
import type { Clock } from "../sync-session/clock.ts";
import type { Channel, ChannelFactory } from "../tabs/channel.ts";
import { errorToWire } from "../tabs/messages.ts";
import type { Store } from "../types.ts";
import { isolatedListener } from "../util/isolated-listener.ts";
import { estimateOf } from "./estimate.ts";
import type { Settings } from "./options.ts";
import { rowCounts } from "./owned-table.ts";
import { StatusSnapshots, sumOf, unknownStatus } from "./status.ts";
import type { StoreSync } from "./store-sync.ts";
import { ownerMs, TabCalls } from "./tab-calls.ts";
import { type CallMethod, syncChannelName, type TabCall, type TabMessage } from "./tab-messages.ts";
import type {
  LostWrite,
  ParkedWrites,
  Sync,
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
  readonly open: () => Promise<StoreSync>;
  /** Called when sync has stopped. */
  readonly release: () => void;
}

type Unsent<M> = M extends unknown ? Omit<M, "from"> : never;

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
  #owner: string | undefined; // the tab that syncs, if it is another one
  #told: SyncStatus | undefined; // by that tab
  #shown: SyncStatus | undefined; // to listeners
  #change = Promise.resolve();
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
      if (sync.#isOwner) await sync.#begin();
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
    this.#channel = channels?.(syncChannelName(store.name), receive);
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

  #onOwner(): void {
    this.#change = this.#change.then(() => this.#followOwner());
  }

  async #followOwner(): Promise<void> {
    const own = this.#own;
    this.#own = undefined;
    if (own) await own.stop(); // it has lost the store
    if (this.#stopping) return;
    if (!this.#isOwner) {
      this.#post({ type: "hello" });
      return;
    }
    try {
      await this.#begin();
    } catch {
      const cancel = this.#options.clock.after(retryMs, () => {
        if (this.#isOwner && this.#own === undefined) this.#onOwner();
      });
      this.#endings.push(cancel);
    }
  }

  async #begin(): Promise<void> {
    const own = await this.#options.open();
    if (this.#stopping || !this.#isOwner) {
      await own.stop();
      return;
    }
    this.#own = own;
    this.#owner = undefined;
    if (this.#isPaused) own.pause();
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
    if (this.#own === undefined || this.#channel === undefined) return;
    this.#post({ type: "status", status: this.#own.status, isPaused: this.#isPaused });
  }

  #receive(message: TabMessage): void {
    switch (message.type) {
      case "hello":
        this.#tellTabs();
        break;
      case "status":
        this.#onStatus(message);
        break;
      case "pause":
        this.#setPaused(message.isPaused);
        break;
      case "call":
        if (this.#own) void this.#answer(message);
        break;
      case "result":
        if (message.to === this.#id) this.#calls.onResult(message);
    }
  }

  #onStatus({ from, isPaused, status }: TabMessage & { type: "status" }): void {
    if (this.#own) return; // of an owner that was replaced
    this.#isPaused = isPaused;
    this.#told = status;
    this.#calls.isServed = true;
    if (this.#owner !== undefined && this.#owner !== from) this.#calls.sendAgain();
    this.#owner = from;
    this.#onSynced();
    this.#tellListeners();
  }

  async #answer(call: TabCall & { readonly from: string }): Promise<void> {
    const result = { type: "result", to: call.from, number: call.number } as const;
    try {
      this.#post({ ...result, value: await this.#run(call) });
    } catch (error) {
      // The next owner gets the call.
      if (this.#own) this.#post({ ...result, error: errorToWire(error) });
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
    const unknown = () =>
      sumOf(Object.fromEntries(names.map((name) => [name, unknownStatus(phase)])));
    return this.#stopping ? unknown() : (this.#told ?? unknown());
  }

  subscribe(listener: (status: SyncStatus) => void): () => void {
    const isolated = isolatedListener(listener);
    this.#shown = this.status;
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
    await this.#own?.stop();
    this.#end();
    this.#tellListeners();
    this.#options.release();
  }

  #end(): void {
    for (const end of this.#endings) end();
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
    return estimateOf(this.#options.settings, await rowCounts(this.#options.store));
  }
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const stoppedError = (): StoreError =>
  new StoreError("StoreClosed", "Sync was stopped.", { hint: "Call startSync() again." });
