// A store that several tabs share. One of them owns it: it holds the store's lock and runs the
// engine. The others queue for the lock, and until it is theirs the owner answers their calls. What
// a caller sees is the same in both.
//
//   joining     looks for the owner, and queues for the lock
//   following   has an owner elsewhere
//   owning      has the lock; `#local` is there once the log is read
//   suspended   the page is frozen or in the back/forward cache: it holds nothing and knows nothing
//   closed
//
// The lock decides who should be the owner, the log who is (storage/log-storage.ts, "claim"): a
// page that was frozen and given up may wake and believe for a moment that it still owns the store,
// but nothing that it writes is accepted.

import { AbortError, StoreError } from "../errors.ts";
import type { UnstoredWrite } from "../host/commit-queue.ts";
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

const rejoinAfterMs = 1000; // a store that could not be opened on taking over

export interface SharedHostOptions {
  name: string;
  exclusive: boolean; // the owner has no clients
  account: string; // whom the REST door answers for: must be the same in all tabs
  durability: Durability;
  clock: Clock;
  writeError: StoreError | undefined; // of every write: the handle is for reading only
  locks: LockManager;
  channels: OpenChannel;
  lifecycle: PageLifecycle;
  waitMs: number; // for a store that somebody has for himself
  ownerTimeoutMs: number; // of an owner, before another tab takes its place
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
  #local: LocalHost | undefined; // this tab owns the store
  #clients: ClientConnections | undefined;
  #lockRequest: LockRequest | undefined;
  #opening: Promise<void> | undefined; // of the engine, when this tab becomes the owner
  // of the engine here, and not answered yet; who waits for one comes after #orElseOwner
  readonly #pendingLocalCalls = new Set<Promise<unknown>>();
  // the engine that was here last is gone, and all that was asked of it is over
  #released: Promise<void> = Promise.resolve();
  #unwatch: () => void = () => {};
  #closing: Promise<void> | undefined;
  #failure: StoreError | undefined; // of every call, since the store was lost to a newer version

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

  // At once where that is possible.
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

  // What is to come may have to come from another owner, for whom the block is kept. Nothing is
  // made for a reply that is here.
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

  // Read wholly first: it may have to be sent, or sent again.
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

  // The browser has promised not to evict this origin's storage.
  setPersisted(): void {
    this.#local?.setPersisted();
  }

  // An owner's clients hear of it too.
  emitQuota(event: StoreEvents["quota"]): void {
    if (this.#local !== undefined) this.#local.emitQuota(event);
    else this.#events.emit("quota", event);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  // A new owner's own calls of before are put to its engine a few at a time; what follows them
  // waits behind them.
  get #localIfInOrder(): LocalHost | undefined {
    return this.#client.hasOrderedCalls ? undefined : this.#local;
  }

  #callPlain<T>(kind: PlainCall, callLocal: (local: LocalHost) => Promise<T>): Promise<T> {
    return this.#callOwner(
      callLocal,
      (callNumber) => this.#client.requestPlain(kind, callNumber) as Promise<T>,
    );
  }

  // What the engine here can't answer because it is not the owner any more had no effect, and keeps
  // its place among the calls that the next owner gets: those of this tab are done in the order in
  // which they were made.
  async #callOwner<T>(
    callLocal: (local: LocalHost) => Promise<T>,
    elsewhere: (callNumber: number) => Promise<T>,
  ): Promise<T> {
    const callNumber = this.#client.nextCallNumber();
    const local = this.#localIfInOrder;
    if (local === undefined) return await elsewhere(callNumber);
    return await this.#orElseOwner(callLocal(local), () => elsewhere(callNumber));
  }

  #orElseOwner<T>(
    answer: Promise<T>,
    elsewhere: () => Promise<T>,
    pooled?: PooledRequest,
  ): Promise<T> {
    this.#pendingLocalCalls.add(answer);
    const over = () => {
      this.#pendingLocalCalls.delete(answer);
      if (pooled !== undefined) requestPool.release(pooled);
    };
    return answer.then(
      (answered) => {
        over();
        return answered;
      },
      (error: unknown) => {
        try {
          if (!isOwnershipError(error) || this.#closing !== undefined) throw error;
          return elsewhere();
        } finally {
          over();
        }
      },
    );
  }

  // What is under way is finished first, by whoever owns the store.
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

  // Of a flush that fails here, close() of the engine says whether anything is lost by it.
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

  // Somebody may have the store for himself, and opening may be given up.
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
    this.#requestLock("queue"); // takes longest
    this.#tabChannel.join();
    this.#follower.start();
  }

  #requestLock(how: "queue" | "steal"): void {
    this.#lockRequest?.end();
    this.#lockRequest = requestStoreLock(this.#options.locks, this.#options.name, how, {
      held: () => {
        this.#opening = this.#becomeOwner().finally(() => {
          this.#opening = undefined;
        });
      },
      lost: () => this.#onReplaced(),
      failed: (error) => this.#shutDown(locksForbiddenError(error)),
    });
  }

  // Releases the lock, the engine and the owner, but keeps the calls. `when`: when to release the
  // lock if something is still being stored. A page about to be frozen releases it immediately,
  // because it may never resume: writes that the next owner overtakes are fenced and undone.
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

  async #rejoin(): Promise<void> {
    this.#state = "suspended";
    await this.#released;
    if (this.#state === "suspended") this.#join(); // also to end what was asked before closing
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
        const twice = name === "status" && this.#closing !== undefined; // #shutDown() tells it
        if (this.#local === local && !twice) this.#events.emit(name, event);
      });
    }
  }

  // Calls that were made while there was no owner, or that the one before left.
  #answerPendingCalls(local: LocalHost): void {
    const server = new CallServer(local, this.#tabId, {
      post: (message) => {
        const answered = message as ToClient;
        if (answered.type === "responses") this.#client.receiveResponses(answered.responses);
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

  // There is another owner. What was not stored here is its to do.
  #onReplaced(): void {
    const local = this.#local;
    this.#local = undefined;
    this.#leave();
    if (local !== undefined) this.#released = this.#settlePendingCalls(this.#resendUnstored(local));
    void this.#rejoin();
  }

  // Waits until it is known which calls this owner leaves to the next one. No call is sent to
  // another owner before that.
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

  // Compares the claims of two owners: the later claim wins. The other owner was frozen while its
  // lock was taken, or was still opening the store when a resumed owner claimed the log. Its reads
  // are out of date, and only its next write would reveal that.
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
      // It waits for the lock, and not for long.
    } else if (exclusive) {
      setTimeout(() => {
        if (this.#state === "joining") this.#shutDown(storeLockedError(this.#options.name));
      }, this.#options.waitMs);
    } else if (account !== this.#options.account) {
      this.#shutDown(otherAccount(this.#options.name));
    } else {
      this.#follower.onOwnerAnnounced(from, generation);
    }
  }

  #onFollowing(): void {
    this.#state = "following";
    this.#resolveOpened();
    this.#events.emit("owner", { owner: "other-tab" });
  }

  // The owner says nothing: unless another took over meanwhile, this tab does.
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

  // Another tab runs a version that this one can't talk to, and that is newer.
  async #yield(version: number): Promise<void> {
    this.#failure = new StoreError(
      "VersionConflict",
      `Another tab has a newer version of entitable (protocol ${version}, here ${protocolVersion}).`,
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

function otherAccount(name: string): StoreError {
  const message = `The store "${name}" is open in another tab for another account.`;
  return new StoreError("ValidationFailed", message, {
    hint: "Give the same account option in every tab, and in the Service Worker.",
  });
}
