// A store that several tabs share. One tab owns the store: it holds the store's lock and runs the
// engine. The other tabs queue for the lock and send their calls to the owner. Callers see the same
// behaviour in the owner and in the other tabs. States of a tab:
//
//   joining     looks for the owner, and queues for the lock
//   following   another tab is the owner
//   owning      has the lock; `#local` is set once the log is read
//   suspended   the page is frozen or in the back/forward cache: has no lock, engine or owner
//   closed
//
// The lock says which tab should be the owner; the log says which tab is (storage/log-storage.ts,
// "claim"). A page that was frozen and replaced may resume and act as the owner for a moment, but
// its writes are rejected.

import { AbortError, StoreError } from "../errors.ts";
import type { UnstoredWrite } from "../host/deferred-writes.ts";
import { Emitter } from "../host/emitter.ts";
import type { LocalHost, LogOwnership } from "../host/local-host.ts";
import { locksForbiddenError, storeLockedError } from "../host/ownership.ts";
import type { LifecycleEvent, PageLifecycle } from "../host/page-lifecycle.ts";
import { type PooledRequest, requestPool } from "../host/request-pool.ts";
import type { Host } from "../transport.ts";
import type {
  AbortSignalLike,
  Clock,
  Durability,
  RestoreOptions,
  RestoreReport,
  SnapshotSource,
  StoreEvents,
  StoreStats,
  StoreStatus,
  VerifyReport,
} from "../types.ts";
import { bytesFrom } from "../util/chunks.ts";
import { CallClient } from "./call-client.ts";
import { CallServer, isOwnershipError } from "./call-server.ts";
import type { OpenChannel } from "./channel.ts";
import { ClientConnections } from "./client-connections.ts";
import { Follower } from "./follower.ts";
import {
  type Announcement,
  forwardedEvents,
  type MessageCall,
  type PlainCall,
  protocolVersion,
  type ToClient,
  type ToOwner,
} from "./messages.ts";
import { type LockRequest, requestStoreLock, runStealExclusively } from "./store-lock.ts";
import { TabChannel } from "./tab-channel.ts";

const rejoinAfterMs = 1000; // the delay after a takeover that could not open the store

export interface SharedHostOptions {
  name: string;
  exclusive: boolean; // the owner accepts no clients
  account: string; // the account option as comparable text: must be the same in all tabs
  durability: Durability;
  clock: Clock;
  writeError: StoreError | undefined; // every write rejects with it; undefined: writes are allowed
  locks: LockManager;
  channels: OpenChannel;
  lifecycle: PageLifecycle;
  waitMs: number; // how long open() waits for a store that another tab has exclusively
  ownerTimeoutMs: number; // how long an owner may be silent before another tab replaces it
  signal: AbortSignalLike | undefined;
  openLocal(ownership: LogOwnership): Promise<LocalHost>; // reads the log into an engine
}

type State = "joining" | "following" | "owning" | "suspended" | "closed";

export class SharedHost implements Host {
  readonly #options: SharedHostOptions;
  readonly #tabId: string;
  readonly #client: CallClient;
  readonly #events = new Emitter<StoreEvents>();
  readonly #tabChannel: TabChannel;
  readonly #follower: Follower;
  readonly #opened: Promise<void>;
  #resolveOpened: () => void = () => {};
  #rejectOpened: (error: unknown) => void = () => {};
  #state: State = "suspended";
  #local: LocalHost | undefined; // the engine, while this tab owns the store
  #clients: ClientConnections | undefined;
  #lockRequest: LockRequest | undefined;
  #opening: Promise<void> | undefined; // pending while this tab becomes the owner
  // Calls to the local engine without a response yet. #orElseOwner() handles each result before
  // others that wait for the same promise.
  readonly #pendingLocalCalls = new Set<Promise<unknown>>();
  // Resolves when the last local engine is closed and all its calls have ended.
  #released: Promise<void> = Promise.resolve();
  #unwatch: () => void = () => {};
  #closing: Promise<void> | undefined;
  #failure: StoreError | undefined; // every call rejects with it, once a newer version took over

  static async open(options: SharedHostOptions): Promise<SharedHost> {
    const host = new SharedHost(options);
    await host.#opened;
    return host;
  }

  private constructor(options: SharedHostOptions) {
    this.#options = options;
    const id = crypto.getRandomValues(new Uint8Array(16));
    this.#tabId = Array.from(id, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#client = new CallClient(id);
    this.#tabChannel = new TabChannel({
      ...options,
      store: options.name,
      tabId: this.#tabId,
      onAnnouncement: (announcement) => this.#onAnnouncement(announcement),
      onMessage: (message) => this.#follower.receive(message),
    });
    this.#follower = new Follower({
      client: this.#client,
      tabChannel: this.#tabChannel,
      events: this.#events,
      ownerTimeoutMs: options.ownerTimeoutMs,
      onReady: () => this.#onFollowing(),
      onSilent: () => void this.#replaceOwner(),
      status: () => this.status,
    });
    this.#opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    this.#unwatch = options.lifecycle.watch((event) => this.#onLifecycleEvent(event));
    this.#join();
    this.#limitOpenTime();
  }

  // ---- Transport --------------------------------------------------------------------------------

  read(request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    return this.#read("read", request);
  }

  get batchesReads(): boolean {
    return this.#local !== undefined;
  }

  deferReads(reads: () => void): void {
    this.#local?.deferReads(reads);
  }

  handle(request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    return this.#read("handle", request);
  }

  // Reads synchronously if the local engine can.
  #read(kind: "read" | "handle", request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    const callNumber = this.#client.nextCallNumber();
    if (this.#local === undefined)
      return this.#client.request(kind, request, undefined, undefined, callNumber);
    const response = this.#local[kind](request);
    if (!(response instanceof Promise)) return response;
    return this.#responseOrResend(response, kind, request, callNumber);
  }

  write(
    request: Uint8Array,
    durability: Durability = this.#options.durability,
    signal?: AbortSignalLike,
  ): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    if (this.#options.writeError !== undefined) throw this.#options.writeError;
    const callNumber = this.#client.nextCallNumber();
    const local = this.#localIfInOrder;
    if (local === undefined)
      return this.#client.request("write", request, durability, signal, callNumber);
    const response = local.write(request, durability, signal, callNumber);
    if (!(response instanceof Promise)) return response;
    return this.#responseOrResend(response, "write", request, callNumber, durability, signal);
  }

  // Keeps a copy of the request until the response arrives, because the next owner may have to run
  // the call. Not needed for synchronous responses.
  #responseOrResend(
    response: Promise<Uint8Array>,
    kind: MessageCall,
    request: Uint8Array,
    callNumber: number,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Promise<Uint8Array> {
    const pooled = requestPool.add(request);
    const elsewhere = () =>
      this.#client.request(kind, pooled.request, durability, signal, callNumber);
    return this.#orElseOwner(response, elsewhere, pooled);
  }

  now(): number {
    return this.#options.clock.now();
  }

  // ---- The store's own handle -------------------------------------------------------------------

  get status(): StoreStatus {
    const elsewhere = this.#follower.status as StoreStatus;
    const status = this.#local?.status ?? { ...elsewhere, owner: "other-tab" };
    if (this.#closing !== undefined || this.#state === "closed")
      return { ...status, state: "closed" };
    return this.#options.writeError === undefined ? status : { ...status, state: "read-only" };
  }

  async flush(): Promise<void> {
    this.#requireOpen();
    await this.#callPlain("flush", (local) => local.flush());
  }

  async stats(): Promise<StoreStats> {
    this.#requireOpen();
    return await this.#callPlain("stats", (local) => local.stats());
  }

  async verify(): Promise<VerifyReport> {
    this.#requireOpen();
    return await this.#callPlain("verify", (local) => local.verify());
  }

  async compact(): Promise<void> {
    this.#requireOpen();
    if (this.#options.writeError !== undefined) throw this.#options.writeError;
    await this.#callPlain("compact", (local) => local.compact());
  }

  async snapshot(): Promise<Uint8Array> {
    this.#requireOpen();
    return await this.#callPlain("snapshot", (local) => local.snapshot());
  }

  // Reads the whole source first, because the file may have to be sent to an owner, even
  // repeatedly.
  async restore(source: SnapshotSource, { mode }: RestoreOptions = {}): Promise<RestoreReport> {
    this.#requireOpen();
    if (this.#options.writeError !== undefined) throw this.#options.writeError;
    const file = await bytesFrom(source);
    this.#requireOpen();
    const elsewhere = (callNumber: number) => this.#client.restore(file, mode, callNumber);
    return await this.#callOwner((local) => local.restore(file, { mode }), elsewhere);
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(event, listener);
  }

  // Called when the browser has granted persistent storage to this origin.
  setPersisted(): void {
    this.#local?.setPersisted();
  }

  // Emits the event here and, if this tab is the owner, at its clients.
  emitQuota(event: StoreEvents["quota"]): void {
    if (this.#local !== undefined) this.#local.emitQuota(event);
    else this.#events.emit("quota", event);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  // Returns the local engine, unless ordered calls from before this tab became the owner still
  // wait. Later calls must then go through `#client` too, to stay behind them.
  get #localIfInOrder(): LocalHost | undefined {
    return this.#client.hasOrderedCalls ? undefined : this.#local;
  }

  #callPlain<T>(kind: PlainCall, callLocal: (local: LocalHost) => Promise<T>): Promise<T> {
    return this.#callOwner(
      callLocal,
      (callNumber) => this.#client.requestPlain(kind, callNumber) as Promise<T>,
    );
  }

  // Calls the local engine, or else the owner. A call that fails because the local engine is no
  // longer the owner had no effect. It is sent to the next owner under its reserved number, so that
  // this tab's calls run in the order in which they were made.
  async #callOwner<T>(
    callLocal: (local: LocalHost) => Promise<T>,
    elsewhere: (callNumber: number) => Promise<T>,
  ): Promise<T> {
    const callNumber = this.#client.nextCallNumber();
    const local = this.#localIfInOrder;
    if (local === undefined) return await elsewhere(callNumber);
    return await this.#orElseOwner(callLocal(local), () => elsewhere(callNumber));
  }

  // Waits for a local response. If the local engine is no longer the owner, calls `elsewhere`
  // instead, before `#pendingLocalCalls` reports the call as ended.
  #orElseOwner<T>(
    response: Promise<T>,
    elsewhere: () => Promise<T>,
    pooled?: PooledRequest,
  ): Promise<T> {
    this.#pendingLocalCalls.add(response);
    const onSettled = () => {
      this.#pendingLocalCalls.delete(response);
      if (pooled !== undefined) requestPool.release(pooled);
    };
    return response.then(
      (value) => {
        onSettled();
        return value;
      },
      (error: unknown) => {
        try {
          if (!isOwnershipError(error) || this.#closing !== undefined) throw error;
          return elsewhere();
        } finally {
          onSettled();
        }
      },
    );
  }

  // Finishes pending calls first, whichever tab owns the store.
  async #close(): Promise<void> {
    let lost: unknown;
    try {
      if (this.#localIfInOrder === undefined && this.#client.pendingCount > 0)
        await this.#flushPendingCalls();
      if (this.#local !== undefined)
        await (this.#clients?.isEmpty ? this.#local.close() : this.#local.closeForTakeover());
    } catch (error) {
      lost = error;
    }
    this.#shutDown(closedError(this.#options.name));
    await this.#released;
    if (lost !== undefined) throw lost;
  }

  // Ignores the error if this tab owns the store: close() of the local engine then reports what was
  // lost.
  async #flushPendingCalls(): Promise<void> {
    await this.#client.requestPlain("flush").catch((error: unknown) => {
      if (this.#local === undefined) throw error;
    });
  }

  #shutDown(failure: Error): void {
    if (this.#state === "closed") return;
    this.#leave();
    this.#state = "closed";
    this.#unwatch();
    this.#client.rejectAll(failure);
    this.#rejectOpened(failure);
    if (this.#follower.status !== undefined) this.#events.emit("status", this.status);
    this.#events.clear();
  }

  #requireOpen(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closing !== undefined || this.#state === "closed")
      throw closedError(this.#options.name);
  }

  // ---- Opening ----------------------------------------------------------------------------------

  // Ends opening if the caller aborts it, or if the store must be exclusive and another tab has it
  // for longer than `waitMs`.
  #limitOpenTime(): void {
    const { signal, exclusive, waitMs } = this.#options;
    const onAbort = () => this.#shutDown(new AbortError());
    signal?.addEventListener("abort", onAbort);
    const timer = setTimeout(() => {
      if (exclusive && this.#state !== "owning")
        this.#shutDown(storeLockedError(this.#options.name));
    }, waitMs);
    const settled = () => {
      signal?.removeEventListener("abort", onAbort);
      clearTimeout(timer);
    };
    this.#opened.then(settled, settled);
    if (signal?.aborted) onAbort();
  }

  // ---- Joining and leaving ----------------------------------------------------------------------

  #join(): void {
    this.#state = "joining";
    this.#requestLock("queue"); // first, because it takes longest
    this.#tabChannel.join();
    this.#follower.start();
  }

  #requestLock(how: "queue" | "steal"): void {
    this.#lockRequest?.end();
    const request = requestStoreLock(this.#options.locks, this.#options.name, how, {
      held: () => {
        this.#opening = this.#becomeOwner().finally(() => {
          this.#opening = undefined;
        });
      },
      lost: () => {
        // A tab that leaves may hold the lock until its writes are stored.
        if (this.#lockRequest === request) this.#onReplaced();
      },
      failed: (error) => this.#shutDown(locksForbiddenError(error)),
    });
    this.#lockRequest = request;
  }

  // Releases the lock, the engine and the connection to the owner, but keeps the calls without a
  // response. `when`: when to release the lock if something is still being stored. A page about to
  // be frozen releases the lock immediately, because it may never resume. Writes that are not
  // stored before the next owner's claim are then fenced.
  #leave(when: "now" | "stored" = "stored"): void {
    const { owner } = this.#follower;
    if (owner !== undefined) this.#tabChannel.post({ to: owner, type: "bye" });
    this.#follower.stop();
    this.#clients?.close();
    this.#clients = undefined;
    this.#tabChannel.leave();
    const lockRequest = this.#lockRequest;
    this.#lockRequest = undefined;
    const local = this.#local;
    this.#local = undefined;
    if (local !== undefined) this.#follower.status = local.status;
    const gone =
      local?.closeForTakeover().catch(() => this.#resendUnstored(local)) ?? this.#opening;
    if (gone !== undefined) this.#released = this.#settlePendingCalls(gone);
    if (gone === undefined || local?.idle || when === "now") lockRequest?.end();
    else void gone.then(() => lockRequest?.end());
  }

  #onLifecycleEvent(event: LifecycleEvent): void {
    if (this.#state === "closed") return;
    if (event === "suspend" && this.#state !== "suspended" && this.#closing === undefined) {
      this.#local?.storePendingNow();
      this.#leave("now");
      this.#state = "suspended";
    } else if (event === "resume" && this.#state === "suspended") {
      void this.#rejoin();
    }
  }

  // Does nothing if the tab has joined or closed in the meantime.
  async #rejoin(): Promise<void> {
    await this.#released;
    if (this.#state === "suspended") this.#join(); // also while closing, to finish pending calls
  }

  // ---- Owning -----------------------------------------------------------------------------------

  async #becomeOwner(): Promise<void> {
    this.#state = "owning";
    this.#follower.stop();
    const lockRequest = this.#lockRequest;
    const isOwner = () => this.#lockRequest === lockRequest && this.#state === "owning";
    const { name, locks, channels } = this.#options;
    this.#clients = new ClientConnections({ store: name, owner: this.#tabId, locks, channels });
    this.#announceOwner();
    let local: LocalHost;
    try {
      local = await this.#options.openLocal({
        isOwner,
        onReplaced: () => {
          if (isOwner()) this.#onReplaced();
        },
      });
    } catch (error) {
      if (isOwner()) this.#onTakeoverFailed(error);
      return;
    }
    if (!isOwner()) {
      await local.abandon();
      return;
    }
    this.#local = local;
    this.#follower.status = local.status;
    this.#forwardEvents(local);
    this.#answerPendingCalls(local);
    this.#clients.serve(local);
    this.#announceOwner();
    this.#resolveOpened();
    this.#events.emit("owner", { owner: "self" });
  }

  #forwardEvents(local: LocalHost): void {
    for (const name of [...forwardedEvents, "persisted"] as const) {
      local.on(name, (event) => {
        // #shutDown() emits the last status event.
        const isDuplicate = name === "status" && this.#closing !== undefined;
        if (this.#local === local && !isDuplicate) this.#events.emit(name, event);
      });
    }
  }

  // Runs this tab's calls that were made while there was no owner, or that the previous owner left
  // without a response.
  #answerPendingCalls(local: LocalHost): void {
    const server = new CallServer(local, this.#tabId, {
      post: (message) => {
        const toClient = message as ToClient;
        if (toClient.type === "responses") this.#client.receiveResponses(toClient.responses);
      },
      close() {},
    });
    const post = (message: ToOwner) => server.receive(message);
    this.#client.connect({ owner: this.#tabId, session: 0, post });
  }

  #onTakeoverFailed(error: unknown): void {
    this.#rejectOpened(error);
    void this.#opened.then(
      () => {
        const failed = error instanceof Error ? error : new Error(String(error));
        this.#events.emit("persist-error", {
          error: failed,
          pendingBytes: 0,
          retryInMs: rejoinAfterMs,
        });
        this.#leave();
        this.#state = "suspended";
        setTimeout(() => void this.#rejoin(), rejoinAfterMs);
      },
      () => this.#shutDown(error as StoreError),
    );
  }

  // Called when another tab has become the owner. Leaves writes that were not stored here to that
  // owner.
  #onReplaced(): void {
    const local = this.#local;
    this.#local = undefined;
    this.#leave();
    if (local !== undefined) this.#released = this.#settlePendingCalls(this.#resendUnstored(local));
    this.#state = "suspended";
    void this.#rejoin();
  }

  // Resolves when the local engine is gone and each of its calls has a response or is handed to
  // `#client`. No call is sent to another owner before that.
  async #settlePendingCalls(gone: Promise<void>): Promise<void> {
    await gone;
    await Promise.allSettled([...this.#pendingLocalCalls]);
  }

  // Resends deferred writes that were acknowledged but not stored.
  async #resendUnstored(local: LocalHost): Promise<void> {
    const unstored = await local.abandon();
    if (this.#closing === undefined) for (const write of unstored) this.#resend(write);
  }

  // Resends one write. The write may fail this time; the failure is reported as persist-error.
  #resend({ request, callNumber }: UnstoredWrite): void {
    this.#client.resend(request, callNumber).catch((error: Error) => {
      this.#events.emit("persist-error", { error, pendingBytes: 0, retryInMs: undefined });
    });
  }

  // ---- Following --------------------------------------------------------------------------------

  #onAnnouncement(announcement: Announcement): void {
    const { entitable: version, type, from, generation } = announcement;
    if (this.#state !== "owning") {
      if (type === "owner") this.#onOwnerAnnounced(announcement);
    } else if (type === "owner") {
      if (version === protocolVersion && generation !== undefined)
        this.#compareGenerations(generation);
    } else if (type === "hello") {
      if (version === protocolVersion && !this.#options.exclusive) this.#clients?.attach(from);
      this.#announceOwner();
    } else if (type === "yield" && version > protocolVersion) {
      void this.#yield(version);
    }
  }

  // Called when another tab announces that it is the owner too. The later claim wins. The owner
  // with the earlier claim was frozen while its lock was stolen, or was still opening the store
  // when a resumed owner claimed the log. Its reads are out of date, and only its next write would
  // fail.
  #compareGenerations(generation: number): void {
    const mine = this.#local?.status.generation;
    if (mine === undefined || generation === mine) return;
    if (generation > mine) this.#onReplaced();
    else this.#announceOwner();
  }

  #announceOwner(): void {
    this.#tabChannel.announce("owner", this.#local?.status.generation);
  }

  #onOwnerAnnounced({
    entitable: version,
    from,
    exclusive,
    account,
    generation,
  }: Announcement): void {
    if (version > protocolVersion) {
      void this.#yield(version);
    } else if (version < protocolVersion) {
      this.#tabChannel.announce("yield");
    } else if (this.#options.exclusive) {
      // This tab waits for the lock, at most `waitMs`.
    } else if (exclusive) {
      setTimeout(() => {
        if (this.#state === "joining") this.#shutDown(storeLockedError(this.#options.name));
      }, this.#options.waitMs);
    } else if (account !== this.#options.account) {
      this.#shutDown(otherAccountError(this.#options.name));
    } else {
      this.#follower.onOwnerAnnounced(from, generation);
    }
  }

  #onFollowing(): void {
    this.#state = "following";
    this.#resolveOpened();
    this.#events.emit("owner", { owner: "other-tab" });
  }

  // Replaces an owner that is silent, unless it responds to another "hello" or another tab took
  // over.
  async #replaceOwner(): Promise<void> {
    const waits = () => this.#state === "joining" || this.#state === "following";
    const { owner } = this.#follower;
    if (!waits() || this.#options.exclusive) return;
    await runStealExclusively(this.#options.locks, this.#options.name, async () => {
      this.#tabChannel.announce("hello");
      await new Promise((resolve) => setTimeout(resolve, this.#options.ownerTimeoutMs / 5));
      const isSilent = this.#follower.owner === owner && this.#follower.isSilent;
      if (waits() && isSilent) this.#requestLock("steal");
    });
  }

  // Closes this tab's store, because another tab uses a newer version of the protocol.
  async #yield(version: number): Promise<void> {
    const versions = `protocol ${version}, here ${protocolVersion}`;
    this.#failure = new StoreError(
      "VersionConflict",
      `Another tab has a newer version of entitable (${versions}).`,
      { hint: "Reload this page to get the newer version here too." },
    );
    this.#events.emit("version-conflict", { theirs: version, ours: protocolVersion });
    await this.#local?.flush().catch(() => {});
    this.#shutDown(this.#failure);
  }
}

function closedError(name: string): StoreError {
  return new StoreError("StoreClosed", `The store "${name}" is closed.`);
}

function otherAccountError(name: string): StoreError {
  const message = `The store "${name}" is open in another tab for another account.`;
  return new StoreError("ValidationFailed", message, {
    hint: "Give the same account option in every tab, and in the Service Worker.",
  });
}
