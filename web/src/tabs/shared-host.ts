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
// The first three are roles in the election of the owner (election.ts). When the engine of this tab
// is no longer the owner, call-failover.ts sends its calls to the next owner.

import { AbortError, SnapshotInterrupted, StoreError } from "../errors.ts";
import { Emitter } from "../host/emitter.ts";
import { storeLockedError } from "../host/exclusive-lock.ts";
import type { LocalHost, LogOwnership } from "../host/local-host.ts";
import type { LifecycleEvent, PageLifecycle } from "../host/page-lifecycle.ts";
import type {
  ChangeListener,
  ChunkedFile,
  Host,
  ListenerConnection,
  RestoreCallOptions,
} from "../transport.ts";
import type {
  AbortSignalLike,
  Clock,
  Durability,
  RestoreReport,
  StoreEvents,
  StoreStats,
  StoreStatus,
  VerifyReport,
} from "../types.ts";
import { callId } from "../util/call-message.ts";
import { toError } from "../util/platform-objects.ts";
import { CallClient } from "./call-client.ts";
import { CallFailover } from "./call-failover.ts";
import { CallServer, isOwnershipError } from "./call-server.ts";
import type { ChannelFactory } from "./channel.ts";
import { ClientConnections } from "./client-connections.ts";
import { Election } from "./election.ts";
import { ListenerRelay } from "./listener-relay.ts";
import {
  forwardedEvents,
  type PlainCallKind,
  protocolVersion,
  type ToClient,
  type ToOwner,
  tabIdOf,
} from "./messages.ts";
import { OwnerTracker } from "./owner-tracker.ts";
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
  channels: ChannelFactory;
  lifecycle: PageLifecycle;
  waitMs: number; // how long open() waits for a store that another tab has exclusively
  ownerTimeoutMs: number; // how long an owner may be silent before another tab replaces it
  signal: AbortSignalLike | undefined;
  openLocal(ownership: LogOwnership): Promise<LocalHost>; // reads the log into an engine
}

export class SharedHost implements Host {
  readonly #options: SharedHostOptions;
  readonly #tabId: string;
  readonly #clientId: Uint8Array; // in each write of this tab (core/dispatch/call_header.h)
  readonly #client: CallClient;
  readonly #events = new Emitter<StoreEvents>();
  readonly #follower: OwnerTracker;
  readonly #election: Election;
  readonly #failover: CallFailover;
  readonly #listeners: ListenerRelay;
  readonly #opened: Promise<void>;
  #resolveOpened: () => void = () => {};
  #rejectOpened: (error: unknown) => void = () => {};
  #local: LocalHost | undefined; // the engine, while this tab owns the store
  #clients: ClientConnections | undefined;
  #opening: Promise<void> | undefined; // pending while this tab becomes the owner
  #ownServer: CallServer | undefined; // runs calls of this tab that an earlier owner left
  #sessions = 0; // how many sessions this tab has begun as an owner
  #hasFailed = false; // when this tab last was the owner; see Announcement.hasFailed
  #isSuspended = false; // the page is frozen or in the back/forward cache
  #releaseLock = () => {}; // of the last ownership, if the engine is still storing
  #stopWatching: () => void = () => {};
  #closing: Promise<void> | undefined;
  #closed = false;
  #failure: StoreError | undefined; // every call rejects with it, once a newer version took over

  static async open(options: SharedHostOptions): Promise<SharedHost> {
    const host = new SharedHost(options);
    await host.#opened;
    return host;
  }

  private constructor(options: SharedHostOptions) {
    this.#options = options;
    const id = crypto.getRandomValues(new Uint8Array(16));
    this.#tabId = tabIdOf(id);
    this.#clientId = id;
    const onPersistError = (error: Error, retryInMs: number | undefined) => {
      const { pendingBytes } = this.status;
      this.#events.emit("persist-error", { error, pendingBytes, retryInMs });
    };
    this.#client = new CallClient(id, onPersistError, () => {
      if (this.#closing === undefined) this.#setListenerSource();
    });
    this.#listeners = new ListenerRelay(this.#client);
    const tabChannel = new TabChannel({
      ...options,
      store: options.name,
      tabId: this.#tabId,
      hasFailed: () => this.#hasFailed,
      onAnnouncement: (announcement) => this.#election.onAnnouncement(announcement),
      onMessage: (message) => this.#follower.receive(message),
    });
    this.#follower = new OwnerTracker({
      client: this.#client,
      tabChannel,
      events: this.#events,
      ownerTimeoutMs: options.ownerTimeoutMs,
      onReady: () => this.#onFollowing(),
      onOwnerSilent: () => void this.#election.replaceOwner(),
      status: () => this.status,
    });
    this.#election = this.#createElection(tabChannel);
    this.#failover = new CallFailover({
      client: this.#client,
      isClosed: () => this.#closed,
    });
    this.#opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    this.#stopWatching = options.lifecycle.watch((event) => this.#onLifecycleEvent(event));
    this.#election.join();
    this.#limitOpenTime();
  }

  #createElection(tabChannel: TabChannel): Election {
    return new Election({
      ...this.#options,
      tabChannel,
      follower: this.#follower,
      generation: () => this.#local?.status.generation,
      onElected: (isOwner) => {
        this.#opening = this.#becomeOwner(isOwner).finally(() => {
          this.#opening = undefined;
        });
      },
      onReplaced: () => this.#onReplaced(),
      onClient: (client, successor) => this.#clients?.attach(client, successor),
      onRefused: (error) => this.#shutDown(error),
      onNewerVersion: (version) => void this.#closeForNewerVersion(version),
    });
  }

  // ---- Transport --------------------------------------------------------------------------------

  read(request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    return this.#read("read", request);
  }

  get allowsReadBatching(): boolean {
    return this.#localForReads !== undefined;
  }

  runBeforeNextChange(reads: () => void): void {
    this.#local?.runBeforeNextChange(reads);
  }

  readHttp(request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    return this.#read("readHttp", request);
  }

  // Reads synchronously if the local engine can.
  #read(kind: "read" | "readHttp", request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    const callNumber = this.#client.reserveCallNumber();
    const local = this.#localForReads;
    if (local === undefined)
      return this.#client.request(kind, request, undefined, undefined, callNumber);
    const response = local[kind](request);
    if (!(response instanceof Promise)) return response;
    return this.#failover.responseOrResend(response, kind, request, callNumber);
  }

  write(
    request: Uint8Array,
    durability: Durability = this.#options.durability,
    signal?: AbortSignalLike,
  ): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    if (this.#options.writeError !== undefined) throw this.#options.writeError;
    const callNumber = this.#client.reserveCallNumber();
    const local = this.#localIfInOrder;
    if (local === undefined)
      return this.#client.request("write", request, durability, signal, callNumber);
    const response = local.write(request, durability, signal, callNumber);
    if (!(response instanceof Promise)) return response;
    return this.#failover.responseOrResend(
      response,
      "write",
      request,
      callNumber,
      durability,
      signal,
    );
  }

  now(): number {
    return this.#options.clock.now();
  }

  listen(listener: ChangeListener): ListenerConnection {
    this.#requireOpen();
    return this.#listeners.listen(listener);
  }

  get readerLocks(): Host["readerLocks"] {
    return { locks: this.#options.locks, store: this.#options.name };
  }

  // ---- The store's own handle -------------------------------------------------------------------

  get status(): StoreStatus {
    const elsewhere = this.#follower.status as StoreStatus;
    const known = this.#local?.status ?? { ...elsewhere, owner: "other-tab" };
    const status = { ...known, pendingBytes: this.#pendingBytes(known) };
    if (this.#closing !== undefined || this.#closed) return { ...status, state: "closed" };
    return this.#options.writeError === undefined ? status : { ...status, state: "read-only" };
  }

  // Adds the writes that the owner may not have yet. Without an owner, its last count may include
  // them.
  #pendingBytes({ pendingBytes }: StoreStatus): number {
    const { bytesToRepeat } = this.#client;
    return this.#local === undefined
      ? Math.max(pendingBytes, bytesToRepeat)
      : pendingBytes + bytesToRepeat;
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

  async *snapshotChunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    this.#requireOpen();
    const local = this.#client.readsWait ? undefined : this.#localIfInOrder;
    try {
      yield* (local ?? this.#client).snapshotChunks();
    } catch (error) {
      const isOpen = this.#closing === undefined && !this.#closed;
      throw local !== undefined && isOpen && isOwnershipError(error)
        ? new SnapshotInterrupted()
        : error;
    }
  }

  async restore(file: ChunkedFile, { mode }: RestoreCallOptions = {}): Promise<RestoreReport> {
    this.#requireOpen();
    if (this.#options.writeError !== undefined) throw this.#options.writeError;
    const elsewhere = (callNumber: number) => this.#client.restore(file, mode, callNumber);
    const here = (local: LocalHost, callNumber: number) =>
      local.restore(file, { mode, call: callId(this.#clientId, callNumber) });
    return await this.#callOwner(here, elsewhere);
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(event, listener);
  }

  async startSync(): Promise<object> {
    this.#requireOpen();
    if (this.#local !== undefined) return await this.#local.startSync();
    const message = `Another tab has the store "${this.#options.name}".`;
    throw new StoreError("NotSupported", message, { hint: "That tab syncs it." });
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
    return this.#client.hasPendingOrderedCalls ? undefined : this.#local;
  }

  // Returns the local engine, unless it may not have all acknowledged writes of this tab yet.
  get #localForReads(): LocalHost | undefined {
    return this.#client.readsWait ? undefined : this.#local;
  }

  // Live queries must show this tab's acknowledged writes, as reads do.
  #setListenerSource(): void {
    this.#listeners.setSource(this.#localForReads ?? this.#client);
  }

  #callPlain<T>(kind: PlainCallKind, callLocal: (local: LocalHost) => Promise<T>): Promise<T> {
    return this.#callOwner(
      callLocal,
      (callNumber) => this.#client.callWithoutContent(kind, callNumber) as Promise<T>,
    );
  }

  // Calls the local engine, or else the owner. A call that fails because the local engine is no
  // longer the owner had no effect. It is sent to the next owner under its reserved number, so that
  // this tab's calls run in the order in which they were made.
  async #callOwner<T>(
    callLocal: (local: LocalHost, callNumber: number) => Promise<T>,
    elsewhere: (callNumber: number) => Promise<T>,
  ): Promise<T> {
    const callNumber = this.#client.reserveCallNumber();
    const local = this.#localIfInOrder;
    if (local === undefined) return await elsewhere(callNumber);
    const response = callLocal(local, callNumber);
    return await this.#failover.orElseOwner(response, () => elsewhere(callNumber));
  }

  async #close(): Promise<void> {
    let lost: unknown;
    try {
      await this.#storeAll();
    } catch (error) {
      lost = error;
    }
    this.#shutDown(closedError(this.#options.name));
    await this.#failover.whenLocalClosed;
    if (lost !== undefined) throw lost;
  }

  // Finishes pending calls and stores deferred writes, whichever tab owns the store. Closes the
  // local engine. If that engine was replaced meanwhile, its calls go to the next owner.
  async #storeAll(): Promise<void> {
    let local: LocalHost | undefined;
    do {
      if (this.#local === undefined) await this.#failover.whenLocalClosed;
      let failure: unknown;
      if (this.#localIfInOrder === undefined && this.#client.pendingCount > 0)
        failure = await this.#flushPendingCalls();
      local = this.#local;
      if (local === undefined) {
        if (failure !== undefined) throw failure;
        return;
      }
      await this.#closeLocal(local);
      const hasLost = failure !== undefined && this.#client.hasPendingOrderedCalls;
      if (hasLost && this.#local === local) throw failure;
    } while (this.#local !== local);
  }

  // Rejects if acknowledged writes are lost, unless the next owner gets them.
  async #closeLocal(local: LocalHost): Promise<void> {
    try {
      await (this.#clients?.isEmpty ? local.close() : local.closeForTakeover());
    } catch (error) {
      if (this.#local === local) throw error;
    }
  }

  // Resolves to the error if that fails.
  async #flushPendingCalls(): Promise<unknown> {
    try {
      await this.#client.callWithoutContent("flush");
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #shutDown(failure: Error): void {
    if (this.#closed) return;
    this.#leave();
    this.#closed = true;
    this.#stopWatching();
    this.#listeners.end(failure);
    this.#client.rejectAll(failure);
    this.#rejectOpened(failure);
    if (this.#follower.status !== undefined) this.#events.emit("status", this.status);
    this.#events.clear();
  }

  #requireOpen(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closing !== undefined || this.#closed) throw closedError(this.#options.name);
  }

  // ---- Opening ----------------------------------------------------------------------------------

  // Ends opening if the caller aborts it, or if the store must be exclusive and another tab has it
  // for longer than `waitMs`.
  #limitOpenTime(): void {
    const { signal, exclusive, waitMs } = this.#options;
    const onAbort = () => this.#shutDown(new AbortError());
    signal?.addEventListener("abort", onAbort);
    const timer = setTimeout(() => {
      if (exclusive && this.#election.role !== "owning")
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

  // Releases the lock, the engine and the connection to the owner, but keeps the calls without a
  // response. `when`: when to release the lock if something is still being stored. A page about to
  // be frozen releases the lock immediately, because it may never resume. Writes that are not
  // stored before the next owner's claim are then fenced. `queued`: what happens to writes that
  // are neither acknowledged nor being stored.
  #leave(when: "now" | "stored" = "stored", queued: "store" | "resend" = "store"): void {
    const releaseLock = this.#election.leaveKeepingLock();
    this.#clients?.close();
    this.#clients = undefined;
    this.#ownServer?.close(); // its calls, too, go to the next owner
    this.#ownServer = undefined;
    const local = this.#takeLocal();
    if (local !== undefined) this.#follower.status = local.status;
    const closing = queued === "resend" ? local?.closeForHandOver() : local?.closeForTakeover();
    const gone =
      closing?.catch(() => this.#failover.resendUnstored(local as LocalHost)) ?? this.#opening;
    if (gone !== undefined) this.#failover.onLocalClosing(gone);
    this.#releaseLock = releaseLock;
    if (gone === undefined || local?.isIdle || when === "now") releaseLock();
    else void gone.then(releaseLock);
  }

  // Returns the local engine, which no longer gets calls of this tab.
  #takeLocal(): LocalHost | undefined {
    const local = this.#local;
    this.#local = undefined;
    this.#setListenerSource();
    if (local?.hasLoadedModule) this.#hasFailed = false;
    return local;
  }

  #onLifecycleEvent(event: LifecycleEvent): void {
    if (this.#closed) return;
    if (event === "suspend" && this.#closing === undefined) {
      this.#isSuspended = true;
      this.#local?.storePendingNow();
      if (this.#election.role === "none") this.#releaseLock();
      else this.#leave("now");
    } else if (event === "resume") {
      this.#isSuspended = false;
      if (this.#election.role === "none") void this.#rejoin();
    }
  }

  // Does nothing if the tab has joined or closed in the meantime, or is suspended: it then rejoins
  // when it resumes.
  async #rejoin(): Promise<void> {
    await this.#failover.whenLocalClosed;
    // Also while closing, to finish pending calls.
    if (this.#election.role === "none" && !this.#closed && !this.#isSuspended)
      this.#election.join();
  }

  // ---- Owning -----------------------------------------------------------------------------------

  async #becomeOwner(isOwner: () => boolean): Promise<void> {
    const { name, locks, channels, ownerTimeoutMs } = this.#options;
    this.#clients = new ClientConnections({
      store: name,
      owner: this.#tabId,
      locks,
      channels,
      nextSession: () => ++this.#sessions,
      askForHello: () => this.#election.announceOwner(true),
      helloMs: ownerTimeoutMs / 5,
    });
    this.#hasFailed = false;
    this.#election.announceOwner();
    let local: LocalHost;
    try {
      local = await this.#options.openLocal({
        client: this.#clientId,
        isOwner,
        onReplaced: () => {
          if (isOwner()) this.#onReplaced();
        },
        handOver: () => this.#handOver(isOwner),
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
    this.#setListenerSource();
    this.#follower.status = local.status;
    this.#forwardEvents(local);
    this.#answerPendingCalls(local);
    this.#clients.serve(local);
    this.#election.announceOwner();
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
        if (toClient.type === "responses")
          this.#client.settleCalls(toClient.responses, toClient.stored, toClient.lastCommit);
        else if (toClient.type === "pull") void this.#client.sendChunk(toClient);
      },
      close() {},
    });
    this.#ownServer = server;
    const post = (message: ToOwner) => server.receive(message);
    const { lastCommit } = local;
    this.#client.connect({ owner: this.#tabId, session: 0, lastCommit, post });
  }

  // Called when a call needs a deferred module and this tab, the owner, cannot load it. Hands the
  // store over to another tab, unless each of them has failed as well. Each tab that fails says so
  // in its next "hello", so the store is handed over at most once per tab. The call is then sent to
  // the next owner, and so are all queued writes, to keep their order. Resolves to whether this tab
  // is no longer the owner, but open.
  async #handOver(isOwner: () => boolean): Promise<boolean> {
    if (isOwner()) {
      this.#hasFailed = true;
      const isPossible = !this.#options.exclusive && (await this.#clients?.findPossibleOwner());
      if (isPossible && isOwner() && this.#closing === undefined) {
        this.#leave("stored", "resend");
        void this.#rejoin();
      }
    }
    return !isOwner() && !this.#closed;
  }

  #onTakeoverFailed(error: unknown): void {
    this.#hasFailed = true;
    this.#rejectOpened(error);
    void this.#opened.then(
      () => {
        const failed = toError(error);
        this.#events.emit("persist-error", {
          error: failed,
          pendingBytes: 0,
          retryInMs: rejoinAfterMs,
        });
        this.#leave();
        setTimeout(() => void this.#rejoin(), rejoinAfterMs);
      },
      () => this.#shutDown(error as StoreError),
    );
  }

  // Called when another tab has become the owner. Leaves writes that were not stored here to that
  // owner.
  #onReplaced(): void {
    const local = this.#takeLocal();
    this.#leave();
    if (local !== undefined) this.#failover.onLocalClosing(this.#failover.resendUnstored(local));
    void this.#rejoin();
  }

  // ---- Following --------------------------------------------------------------------------------

  #onFollowing(): void {
    this.#election.onFollowing();
    this.#resolveOpened();
    this.#events.emit("owner", { owner: "other-tab" });
  }

  // Closes this tab's store, because another tab uses a newer version of the protocol.
  async #closeForNewerVersion(version: number): Promise<void> {
    const versions = `protocol ${version}, here ${protocolVersion}`;
    this.#failure = new StoreError(
      "VersionConflict",
      `Another tab has a newer version of entitable (${versions}).`,
      { hint: "Reload this page to get the newer version here too." },
    );
    this.#events.emit("version-conflict", { theirs: version, ours: protocolVersion });
    await this.#local?.flush().catch(() => {});
    this.#client.reportLost(this.#failure);
    this.#shutDown(this.#failure);
  }
}

function closedError(name: string): StoreError {
  return new StoreError("StoreClosed", `The store "${name}" is closed.`);
}
