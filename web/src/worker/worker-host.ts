// The page's side of a store that runs in a worker of its own (serve.ts): sends it the calls, and what happens to the page.
//
// The worker's end shows by a lock that it holds while it lives, or by the port, where ports tell. What was called and not
// answered then is not known, so it is said to be so.

import { AbortError, StoreError } from "../errors.ts";
import { Emitter } from "../host/emitter.ts";
import type { LifeEvent } from "../host/page-life.ts";
import type { Surroundings } from "../opening/environment.ts";
import type { Settings } from "../opening/options.ts";
import { bytesOf } from "../pieces.ts";
import { CallClient } from "../tabs/call-client.ts";
import { type Channel, portChannel } from "../tabs/channel.ts";
import {
  type FromWorker,
  fromWire,
  protocolVersion,
  type ToWorker,
  workerName,
} from "../tabs/messages.ts";
import { type LockClaim, whenGone } from "../tabs/store-lock.ts";
import type { Host } from "../transport.ts";
import type {
  AbortSignalLike,
  Durability,
  RestoreOptions,
  RestoreReport,
  SnapshotSource,
  StoreEvents,
  StoreStats,
  StoreStatus,
  VerifyReport,
} from "../types.ts";
import { buildId } from "../wasm/module.ts";
import { type WorkerThread, WorkerUnavailable } from "./start.ts";

// How long a page waits for its worker. Nothing that it may look at without letting go of its thread tells that the worker is done.
//
//   farewellMs   to store what was deferred: a page that is closed ends its worker
//   letGoMs      to store that, and to let go of the store: a frozen page stops its worker wherever it is, and one that was stopped
//                inside a transaction would hold up the next owner until it wakes
const farewellMs = 20;
const letGoMs = 100;

// What can be sent, but for what stays in the page.
export type SentSettings = Omit<Settings, "clock" | "signal" | "onWarning" | "thread">;

export interface WorkerHostOptions {
  settings: Settings; // `wasm`: such as can be sent
  thread: WorkerThread; // ended with the store, or if opening fails
  around: Surroundings;
  locks: LockManager | undefined;
}

export class WorkerHost implements Host {
  readonly #o: WorkerHostOptions;
  readonly #name: string;
  readonly #lock: string; // of the worker's life
  readonly #channel: Channel;
  readonly #client = new CallClient();
  readonly #events = new Emitter<StoreEvents>();
  readonly #opened: Promise<void>;
  #isOpen: () => void = () => {};
  #cantOpen: (error: unknown) => void = () => {};
  #status: StoreStatus | undefined; // as the worker said it last
  #state: "opening" | "open" | "closed" = "opening";
  #started = false;
  #suspended = false; // the page
  #wakes = 0;
  #gone: LockClaim | undefined; // waits for the end of the worker
  #unwatch: () => void;
  #closing: Promise<void> | undefined;
  #isClosed: (error: Error | undefined) => void = () => {};

  // Rejects as openStore, or with WorkerUnavailable.
  static async open(options: WorkerHostOptions): Promise<WorkerHost> {
    const host = new WorkerHost(options);
    await host.#opened;
    return host;
  }

  private constructor(options: WorkerHostOptions) {
    const { settings, thread, around } = options;
    this.#o = options;
    this.#name = settings.name;
    this.#lock = `worker-${crypto.randomUUID?.() ?? Math.random()}`;
    this.#opened = new Promise((resolve, reject) => {
      this.#isOpen = resolve;
      this.#cantOpen = reject;
    });
    this.#channel = portChannel(thread.port, (message) => this.#receive(message as FromWorker));
    thread.port.addEventListener("close", () => this.#died());
    void thread.failure.then((reason) => {
      if (!this.#started) this.#end(new WorkerUnavailable(`A worker could not start: ${reason}.`));
    });
    this.#unwatch = around.life.watch((event) => this.#onPage(event));
    this.#heedSignal(settings.signal);
  }

  // ---- Transport ------------------------------------------------------------------------------------------------------

  read(block: Uint8Array): Promise<Uint8Array> {
    this.#requireOpen();
    return this.#client.block("read", block);
  }

  handle(block: Uint8Array): Promise<Uint8Array> {
    this.#requireOpen();
    return this.#client.block("handle", block);
  }

  async write(
    block: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Promise<Uint8Array> {
    this.#requireOpen();
    return await this.#client.block("write", block, durability, signal);
  }

  now(): number {
    return this.#o.settings.clock.now();
  }

  // ---- The store's own handle -------------------------------------------------------------------------------------------

  get status(): StoreStatus {
    const status = this.#status as StoreStatus;
    const closed = this.#closing !== undefined || this.#state === "closed";
    return closed ? { ...status, state: "closed" } : status;
  }

  async flush(): Promise<void> {
    this.#requireOpen();
    await this.#client.plain("flush");
  }

  async stats(): Promise<StoreStats> {
    this.#requireOpen();
    return (await this.#client.plain("stats")) as StoreStats;
  }

  async verify(): Promise<VerifyReport> {
    this.#requireOpen();
    return (await this.#client.plain("verify")) as VerifyReport;
  }

  async compact(): Promise<void> {
    this.#requireOpen();
    await this.#client.plain("compact");
  }

  async snapshot(): Promise<Uint8Array> {
    this.#requireOpen();
    return (await this.#client.plain("snapshot")) as Uint8Array;
  }

  async restore(source: SnapshotSource, { mode }: RestoreOptions = {}): Promise<RestoreReport> {
    this.#requireOpen();
    const file = await bytesOf(source);
    this.#requireOpen();
    return await this.#client.restore(file, mode);
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(event, listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#state === "closed") return;
    const closed = new Promise<Error | undefined>((resolve) => {
      this.#isClosed = resolve;
    });
    queueMicrotask(() => this.#post({ type: "close" })); // after the calls of this turn, which are sent in one too
    const lost = await closed;
    this.#end(closedError(this.#name));
    if (lost !== undefined) throw lost;
  }

  // The worker goes with everything that it still does.
  #end(failure: Error): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#unwatch();
    this.#gone?.end();
    this.#channel.close();
    this.#o.thread.end();
    this.#client.rejectAll(failure);
    this.#cantOpen(failure);
    this.#isClosed(failure);
    const told = this.#status === undefined || this.#status.state === "closed";
    if (!told) this.#events.emit("status", this.status);
    this.#events.clear();
  }

  #requireOpen(): void {
    if (this.#closing !== undefined || this.#state === "closed") throw closedError(this.#name);
  }

  // ---- The page ---------------------------------------------------------------------------------------------------------

  #heedSignal(signal: AbortSignalLike | undefined): void {
    const giveUp = () => this.#end(new AbortError());
    signal?.addEventListener("abort", giveUp);
    const settled = () => signal?.removeEventListener("abort", giveUp);
    this.#opened.then(settled, settled);
    if (signal?.aborted) giveUp();
  }

  // A page that is frozen holds nothing, and waits for nothing.
  #onPage(event: LifeEvent): void {
    const suspended = event === "suspend" && !this.#suspended;
    if (suspended) {
      this.#suspended = true;
      this.#gone?.end();
    } else if (event === "resume" && this.#suspended) {
      this.#suspended = false;
      this.#wakes += 1;
    }
    const hidden = this.#o.around.life.hidden();
    this.#post({ type: "life", event, hidden });
    if (this.#state !== "open") return;
    if (suspended && this.status.owner === "self") spin(letGoMs);
    // Hidden it is only after it was left.
    else if (event === "leaving" && !hidden && this.status.pendingBytes > 0) spin(farewellMs);
  }

  // ---- The worker -------------------------------------------------------------------------------------------------------

  #receive(message: FromWorker): void {
    switch (message.type) {
      case "started":
        this.#start(message);
        break;
      case "ready":
        this.#ready(message.status);
        break;
      case "failed":
        this.#end(fromWire(message.error));
        break;
      case "replies":
        this.#status = { ...(this.#status as StoreStatus), ...message.progress };
        this.#client.answer(message.replies);
        break;
      case "event":
        this.#status = message.status;
        this.#relay(message.name, message.event);
        break;
      case "warning":
        this.#o.settings.onWarning(message.warning);
        break;
      case "persist":
        void this.#o.around.persist().then((granted) => this.#post({ type: "persisted", granted }));
        break;
      case "find-trace":
        void this.#findTrace();
        break;
      case "leave-trace":
        this.#leaveTrace(message);
        break;
      case "wipe-trace":
        this.#o.around.traceOf(this.#name)?.wipe();
        break;
      case "holds":
        this.#watchOver(message.wakes);
        break;
      case "closed":
        this.#isClosed(message.error && fromWire(message.error));
        break;
    }
  }

  #start({ entitable, build }: FromWorker & { type: "started" }): void {
    this.#started = true;
    if (entitable !== protocolVersion || build !== buildId) {
      this.#end(new WorkerUnavailable("The worker's script is of another version."));
      return;
    }
    const { clock, signal, onWarning, thread, ...settings } = this.#o.settings;
    const hidden = this.#o.around.life.hidden();
    this.#post({ type: "open", settings, hidden, lock: this.#lock });
  }

  #ready(status: StoreStatus): void {
    this.#state = "open";
    this.#status = status;
    this.#client.connect({ owner: workerName, session: 0, post: (message) => this.#post(message) });
    this.#isOpen();
  }

  #relay<K extends keyof StoreEvents>(name: K, event: unknown): void {
    const { error } = event as { error?: Parameters<typeof fromWire>[0] };
    const whole = error === undefined ? event : { ...(event as object), error: fromWire(error) };
    this.#events.emit(name, (name === "status" ? this.status : whole) as StoreEvents[K]);
  }

  async #findTrace(): Promise<void> {
    const lastSeen = await this.#o.around.traceOf(this.#name)?.lastSeen();
    this.#post({ type: "trace", lastSeen });
  }

  // Not if the worker may have let go of the store since: another tab may have deleted it.
  #leaveTrace({ at, wakes }: FromWorker & { type: "leave-trace" }): void {
    const mayBeOver = this.#closing !== undefined || this.#suspended || wakes !== this.#wakes;
    if (!mayBeOver) this.#o.around.traceOf(this.#name)?.leave(at);
  }

  // It may have said so before the page was suspended.
  #watchOver(wakes: number): void {
    const { locks } = this.#o;
    if (locks === undefined || this.#suspended || wakes !== this.#wakes) return;
    if (this.#state !== "closed") {
      this.#gone = whenGone(locks, this.#name, this.#lock, () => this.#died());
    }
  }

  #died(): void {
    if (this.#state === "opening") this.#end(new WorkerUnavailable("The worker ended at once."));
    else this.#end(lostError(this.#name));
  }

  #post(message: ToWorker<SentSettings>): void {
    if (this.#state !== "closed") this.#channel.post(message);
  }
}

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

function closedError(name: string): StoreError {
  return new StoreError("StoreClosed", `The store "${name}" is closed.`);
}

function lostError(name: string): StoreError {
  const message = `The worker of the store "${name}" ended. Whether this call had an effect is not known.`;
  return new StoreError("ConnectionLost", message, {
    hint: "Open the store again: what was acknowledged and stored is there.",
  });
}
