// The page's side of a store in a worker (store-server.ts): sends calls and the page's lifecycle
// events to the worker.
//
// The page detects the worker's end in two ways: it gets a lock that the worker held, or (in some
// browsers) the port has a "close" event. Calls that got no response then reject with
// ConnectionLost, because their outcome is unknown.

import { AbortError, StoreError } from "../errors.ts";
import { Emitter } from "../host/emitter.ts";
import type { LifecycleEvent } from "../host/page-lifecycle.ts";
import type { PageServices } from "../open/environment.ts";
import type { Settings } from "../open/options.ts";
import { CallClient } from "../tabs/call-client.ts";
import { type Channel, portChannel } from "../tabs/channel.ts";
import {
  errorFromWire,
  type FromWorker,
  protocolVersion,
  type ToOwner,
  type ToWorker,
  workerName,
} from "../tabs/messages.ts";
import { type LockRequest, onClientGone } from "../tabs/web-locks.ts";
import type {
  ChangeListener,
  ChunkedFile,
  Host,
  ListenerConnection,
  RestoreCallOptions,
  Transport,
  WorkerSync,
} from "../transport.ts";
import type {
  AbortSignalLike,
  Durability,
  RestoreReport,
  StoreEvents,
  StoreStats,
  StoreStatus,
  VerifyReport,
} from "../types.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { buildId } from "../wasm/module.ts";
import { type WorkerThread, WorkerUnavailable } from "./start-worker.ts";

// How long a page that is being closed or frozen waits for its worker. It waits by blocking its
// thread: if it returned to the event loop, the browser would close or freeze it. While the thread
// is blocked, it cannot learn whether the worker is done, so the time is fixed.
//
//   closeWaitMs    closing a page ends its worker. It needs this time to store deferred writes.
//   freezeWaitMs   freezing a page stops its worker, possibly within a transaction, which would
//                  then block the next owner. The worker needs this time to store deferred writes
//                  and to release the store.
const closeWaitMs = 20;
const freezeWaitMs = 100;

// The settings that can be sent to a worker.
export type TransferableSettings = Omit<Settings, "clock" | "signal" | "onWarning" | "thread">;

export interface WorkerHostOptions {
  settings: Settings; // `wasm` must be of a type that can be sent to a worker
  thread: WorkerThread; // terminated when the store closes or opening fails
  pageServices: PageServices;
  locks: LockManager | undefined;
}

export class WorkerHost implements Host {
  readonly #options: WorkerHostOptions;
  readonly #name: string;
  readonly #lock: string; // the name of the lock that the worker holds while it exists
  readonly #channel: Channel;
  readonly #client = new CallClient();
  readonly #events = new Emitter<StoreEvents>();
  readonly #opened: Promise<void>;
  #resolveOpened: () => void = () => {};
  #rejectOpened: (error: unknown) => void = () => {};
  #status: StoreStatus | undefined; // the last status that the worker sent
  #state: "opening" | "open" | "closed" = "opening";
  #started = false;
  #suspended = false; // the page is suspended
  #resumeCount = 0; // how often the page was resumed
  #gone: LockRequest | undefined; // granted when the worker has ended
  #stopWatching: () => void;
  #closing: Promise<void> | undefined;
  #resolveClosed: (error: Error | undefined) => void = () => {};

  // Opens the store. Rejects with the errors of openStore(), and with WorkerUnavailable.
  static async open(options: WorkerHostOptions): Promise<WorkerHost> {
    const host = new WorkerHost(options);
    await host.#opened;
    return host;
  }

  private constructor(options: WorkerHostOptions) {
    const { settings, thread, pageServices } = options;
    this.#options = options;
    this.#name = settings.name;
    this.#lock = `worker-${crypto.randomUUID?.() ?? Math.random()}`;
    this.#opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    this.#channel = portChannel(thread.port, (message) => this.#receive(message as FromWorker));
    thread.port.addEventListener("close", () => this.#onWorkerDied());
    void thread.failure.then((reason) => {
      if (!this.#started)
        this.#shutDown(new WorkerUnavailable(`A worker could not start: ${reason}.`));
    });
    this.#stopWatching = pageServices.lifecycle.watch((event) => this.#onLifecycleEvent(event));
    this.#watchSignal(settings.signal);
  }

  // ---- Transport --------------------------------------------------------------------------------

  read(request: Uint8Array): Promise<Uint8Array> {
    this.#requireOpen();
    return this.#client.request("read", request);
  }

  readHttp(request: Uint8Array): Promise<Uint8Array> {
    this.#requireOpen();
    return this.#client.request("readHttp", request);
  }

  async write(
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Promise<Uint8Array> {
    this.#requireOpen();
    return await this.#client.request("write", request, durability, signal);
  }

  now(): number {
    return this.#options.settings.clock.now();
  }

  listen(listener: ChangeListener): ListenerConnection {
    this.#requireOpen();
    return this.#client.listen(listener);
  }

  // Stores in memory and in files have no other users.
  get readerLocks(): Transport["readerLocks"] {
    const { locks } = this.#options;
    if (locks === undefined || this.status.persistence !== "indexeddb") return undefined;
    return { locks, store: this.#name };
  }

  // ---- The store's own handle -------------------------------------------------------------------

  get status(): StoreStatus {
    const status = this.#status as StoreStatus;
    const closed = this.#closing !== undefined || this.#state === "closed";
    return closed ? { ...status, state: "closed" } : status;
  }

  async flush(): Promise<void> {
    this.#requireOpen();
    await this.#client.callWithoutContent("flush");
  }

  async stats(): Promise<StoreStats> {
    this.#requireOpen();
    return (await this.#client.callWithoutContent("stats")) as StoreStats;
  }

  async verify(): Promise<VerifyReport> {
    this.#requireOpen();
    return (await this.#client.callWithoutContent("verify")) as VerifyReport;
  }

  async compact(): Promise<void> {
    this.#requireOpen();
    await this.#client.callWithoutContent("compact");
  }

  async *snapshotChunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    this.#requireOpen();
    yield* this.#client.snapshotChunks();
  }

  async restore(file: ChunkedFile, { mode }: RestoreCallOptions = {}): Promise<RestoreReport> {
    this.#requireOpen();
    return await this.#client.restore(file, mode);
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(event, listener);
  }

  async startSync(): Promise<WorkerSync> {
    this.#requireOpen();
    return { connect: (url, port) => this.#post({ type: "sync", url, port }, [port]) };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#state === "closed") return;
    const closed = new Promise<Error | undefined>((resolve) => {
      this.#resolveClosed = resolve;
    });
    // In a microtask, because the calls of this turn of the event loop are also sent in one, and
    // must come first.
    inMicrotask(() => this.#post({ type: "close" }));
    const failure = await closed;
    this.#shutDown(closedError(this.#name));
    if (failure !== undefined) throw failure;
  }

  // Terminates the worker immediately, and rejects all pending calls with `failure`.
  #shutDown(failure: Error): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#stopWatching();
    this.#gone?.end();
    this.#channel.close();
    this.#options.thread.end();
    this.#client.rejectAll(failure);
    this.#rejectOpened(failure);
    this.#resolveClosed(failure);
    const isReported = this.#status === undefined || this.#status.state === "closed";
    if (!isReported) this.#events.emit("status", this.status);
    this.#events.clear();
  }

  #requireOpen(): void {
    if (this.#closing !== undefined || this.#state === "closed") throw closedError(this.#name);
  }

  // ---- The page ---------------------------------------------------------------------------------

  #watchSignal(signal: AbortSignalLike | undefined): void {
    const onAbort = () => this.#shutDown(new AbortError());
    signal?.addEventListener("abort", onAbort);
    const settled = () => signal?.removeEventListener("abort", onAbort);
    this.#opened.then(settled, settled);
    if (signal?.aborted) onAbort();
  }

  // Forwards the event to the worker. While the page is suspended, it neither holds locks nor waits
  // for them.
  #onLifecycleEvent(event: LifecycleEvent): void {
    const suspended = event === "suspend" && !this.#suspended;
    if (suspended) {
      this.#suspended = true;
      this.#gone?.end();
    } else if (event === "resume" && this.#suspended) {
      this.#suspended = false;
      this.#resumeCount += 1;
    }
    const hidden = this.#options.pageServices.lifecycle.hidden();
    this.#post({ type: "lifecycle", event, hidden });
    if (this.#state !== "open") return;
    if (suspended && this.status.owner === "self") busyWait(freezeWaitMs);
    // If a visible page is being closed, it becomes hidden only after this event. If it is hidden
    // already, it was not closed but continues to run.
    else if (event === "leaving" && !hidden && this.status.pendingBytes > 0) busyWait(closeWaitMs);
  }

  // ---- The worker -------------------------------------------------------------------------------

  #receive(message: FromWorker): void {
    switch (message.type) {
      case "started":
        this.#start(message);
        break;
      case "ready":
        this.#ready(message.status);
        break;
      case "failed":
        this.#shutDown(errorFromWire(message.error));
        break;
      case "responses":
        this.#status = { ...(this.#status as StoreStatus), ...message.progress };
        this.#client.settleCalls(message.responses);
        break;
      case "pull":
        void this.#client.sendChunk(message);
        break;
      case "event":
        this.#status = message.status;
        this.#relay(message.name, message.event);
        break;
      case "warning":
        this.#options.settings.onWarning(message.warning);
        break;
      case "persist":
        void this.#options.pageServices
          .persist()
          .then((granted) => this.#post({ type: "persisted", granted }));
        break;
      case "get-last-seen":
        void this.#getLastSeen();
        break;
      case "set-last-seen":
        this.#setLastSeen(message);
        break;
      case "clear-last-seen":
        this.#options.pageServices.lastSeenMarker(this.#name)?.clear();
        break;
      case "lock-held":
        this.#watchWorkerLock(message.resumeCount);
        break;
      case "closed":
        this.#resolveClosed(message.error && errorFromWire(message.error));
        break;
    }
  }

  #start({ entitable, build }: FromWorker & { type: "started" }): void {
    this.#started = true;
    if (entitable !== protocolVersion || build !== buildId) {
      this.#shutDown(new WorkerUnavailable("The worker's script has another version."));
      return;
    }
    const { clock, signal, onWarning, thread, ...settings } = this.#options.settings;
    const hidden = this.#options.pageServices.lifecycle.hidden();
    this.#post({ type: "open", settings, hidden, lock: this.#lock });
  }

  #ready(status: StoreStatus): void {
    this.#state = "open";
    this.#status = status;
    const post = (message: ToOwner) => this.#post(message);
    this.#client.connect({ owner: workerName, session: 0, lastCommit: undefined, post });
    this.#resolveOpened();
  }

  #relay<K extends keyof StoreEvents>(name: K, event: unknown): void {
    const { error } = event as { error?: Parameters<typeof errorFromWire>[0] };
    const decoded =
      error === undefined ? event : { ...(event as object), error: errorFromWire(error) };
    this.#events.emit(name, (name === "status" ? this.status : decoded) as StoreEvents[K]);
  }

  async #getLastSeen(): Promise<void> {
    const lastSeen = await this.#options.pageServices.lastSeenMarker(this.#name)?.lastSeen();
    this.#post({ type: "last-seen", lastSeen });
  }

  // Sets the marker (open/last-seen-marker.ts). Does nothing if the worker may have released the
  // store in the meantime: another tab may have deleted it since.
  #setLastSeen({ at, resumeCount }: FromWorker & { type: "set-last-seen" }): void {
    const mayBeReleased =
      this.#closing !== undefined || this.#suspended || resumeCount !== this.#resumeCount;
    if (!mayBeReleased) this.#options.pageServices.lastSeenMarker(this.#name)?.set(at);
  }

  // Waits for the lock that the worker holds. Ignores messages that the worker sent before the page
  // was last suspended.
  #watchWorkerLock(resumeCount: number): void {
    const { locks } = this.#options;
    if (locks === undefined || this.#suspended || resumeCount !== this.#resumeCount) return;
    if (this.#state !== "closed") {
      this.#gone = onClientGone(locks, this.#name, this.#lock, () => this.#onWorkerDied());
    }
  }

  #onWorkerDied(): void {
    if (this.#state === "opening")
      this.#shutDown(new WorkerUnavailable("The worker ended while the store was opening."));
    else this.#shutDown(workerLostError(this.#name));
  }

  #post(message: ToWorker<TransferableSettings>, ports?: readonly MessagePort[]): void {
    if (this.#state !== "closed") this.#channel.post(message, [], ports);
  }
}

function busyWait(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

function closedError(name: string): StoreError {
  return new StoreError("StoreClosed", `The store "${name}" is closed.`);
}

function workerLostError(name: string): StoreError {
  const ended = `The worker of the store "${name}" ended.`;
  return new StoreError(
    "ConnectionLost",
    `${ended} It is unknown whether this call had an effect.`,
    {
      hint: "Open the store again. It contains all writes that were acknowledged and stored.",
      uncertain: true,
    },
  );
}
