// A store that several tabs share. One of them owns it: it holds the store's lock and runs the engine. The others queue for
// the lock, and until it is theirs the owner answers their calls. What a caller sees is the same in both.
//
//   joining     looks for the owner, and queues for the lock
//   following   has an owner elsewhere
//   owning      has the lock; `#local` is there once the log is read
//   suspended   the page is frozen or in the back/forward cache: it holds nothing and knows nothing
//   closed
//
// The lock decides who should be the owner, the log who is (storage/log-storage.ts, "claim"): a page that was frozen and
// given up may wake and believe for a moment that it still owns the store, but nothing that it writes is accepted.

import { AbortError, StoreError } from "../errors.ts";
import type { Unstored } from "../host/commit-queue.ts";
import { Emitter } from "../host/emitter.ts";
import { type KeptBlock, keptBlocks } from "../host/kept-blocks.ts";
import type { LocalHost, LogOwnership } from "../host/local-host.ts";
import { forbidden, locked } from "../host/ownership.ts";
import type { LifeEvent, PageLife } from "../host/page-life.ts";
import { bytesOf } from "../pieces.ts";
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
import { CallClient } from "./call-client.ts";
import { CallServer, isOfOwner } from "./call-server.ts";
import type { OpenChannel } from "./channel.ts";
import { ClientPorts } from "./client-ports.ts";
import { Follower } from "./follower.ts";
import {
  type Announcement,
  type BlockCall,
  forwardedEvents,
  type PlainCall,
  protocolVersion,
  type ToClient,
  type ToOwner,
} from "./messages.ts";
import { Peers } from "./peers.ts";
import { claimStore, type LockClaim, oneAtATime } from "./store-lock.ts";

const rejoinAfterMs = 1000; // a store that could not be opened on taking over

export interface SharedHostOptions {
  name: string;
  exclusive: boolean; // the owner has no clients
  account: string; // whom the REST door answers for: must be the same in all tabs
  durability: Durability;
  clock: Clock;
  refusal: StoreError | undefined; // of every write: the handle is for reading only
  locks: LockManager;
  channels: OpenChannel;
  life: PageLife;
  waitMs: number; // for a store that somebody has for himself
  silenceMs: number; // of an owner, before another tab takes its place
  signal: AbortSignalLike | undefined;
  openLocal(ownership: LogOwnership): Promise<LocalHost>; // reads the log into an engine
}

type State = "joining" | "following" | "owning" | "suspended" | "closed";

export class SharedHost implements Host {
  readonly #o: SharedHostOptions;
  readonly #me: string;
  readonly #client: CallClient;
  readonly #events = new Emitter<StoreEvents>();
  readonly #peers: Peers;
  readonly #follower: Follower;
  readonly #opened: Promise<void>;
  #isOpen: () => void = () => {};
  #cantOpen: (error: unknown) => void = () => {};
  #state: State = "suspended";
  #local: LocalHost | undefined; // this tab owns the store
  #ports: ClientPorts | undefined;
  #claim: LockClaim | undefined;
  #opening: Promise<void> | undefined; // of the engine, when this tab becomes the owner
  readonly #asked = new Set<Promise<unknown>>(); // of the engine here, and not answered yet; who waits for one comes after #orElse
  #letGo: Promise<void> = Promise.resolve(); // the engine that was here last is gone, and all that was asked of it is over
  #unwatch: () => void = () => {};
  #closing: Promise<void> | undefined;
  #failure: StoreError | undefined; // of every call, since the store was lost to a newer version

  static async open(options: SharedHostOptions): Promise<SharedHost> {
    const host = new SharedHost(options);
    await host.#opened;
    return host;
  }

  private constructor(options: SharedHostOptions) {
    this.#o = options;
    const id = crypto.getRandomValues(new Uint8Array(16));
    this.#me = Array.from(id, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#client = new CallClient(id);
    this.#peers = new Peers({
      ...options,
      store: options.name,
      me: this.#me,
      onAnnouncement: (announcement) => this.#hear(announcement),
      onMessage: (message) => this.#follower.receive(message),
    });
    this.#follower = new Follower({
      client: this.#client,
      peers: this.#peers,
      events: this.#events,
      silenceMs: options.silenceMs,
      onReady: () => this.#follows(),
      onSilent: () => void this.#replaceOwner(),
      status: () => this.status,
    });
    this.#opened = new Promise((resolve, reject) => {
      this.#isOpen = resolve;
      this.#cantOpen = reject;
    });
    this.#unwatch = options.life.watch((event) => this.#onPage(event));
    this.#join();
    this.#limitOpening();
  }

  // ---- Transport ------------------------------------------------------------------------------------------------------

  read(block: Uint8Array): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    return this.#read("read", block);
  }

  get joinsReads(): boolean {
    return this.#local !== undefined;
  }

  beforeOthers(reads: () => void): void {
    this.#local?.beforeOthers(reads);
  }

  handle(block: Uint8Array): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    return this.#read("handle", block);
  }

  // At once where that is possible.
  #read(kind: "read" | "handle", block: Uint8Array): Uint8Array | Promise<Uint8Array> {
    const place = this.#client.place();
    if (this.#local === undefined)
      return this.#client.block(kind, block, undefined, undefined, place);
    const reply = this.#local[kind](block);
    if (!(reply instanceof Promise)) return reply;
    return this.#replyOrElse(reply, kind, block, place);
  }

  write(
    block: Uint8Array,
    durability: Durability = this.#o.durability,
    signal?: AbortSignalLike,
  ): Uint8Array | Promise<Uint8Array> {
    this.#requireOpen();
    if (this.#o.refusal !== undefined) throw this.#o.refusal;
    const place = this.#client.place();
    const local = this.#askable;
    if (local === undefined) return this.#client.block("write", block, durability, signal, place);
    const reply = local.write(block, durability, signal, place);
    if (!(reply instanceof Promise)) return reply;
    return this.#replyOrElse(reply, "write", block, place, durability, signal);
  }

  // What is to come may have to come from another owner, for whom the block is kept. Nothing is made for a reply that is here.
  #replyOrElse(
    reply: Promise<Uint8Array>,
    kind: BlockCall,
    block: Uint8Array,
    place: number,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Promise<Uint8Array> {
    const kept = keptBlocks.keep(block);
    const elsewhere = () => this.#client.block(kind, kept.block, durability, signal, place);
    return this.#orElse(reply, elsewhere, kept);
  }

  now(): number {
    return this.#o.clock.now();
  }

  // ---- The store's own handle -------------------------------------------------------------------------------------------

  get status(): StoreStatus {
    const elsewhere = this.#follower.status as StoreStatus;
    const status = this.#local?.status ?? { ...elsewhere, owner: "other-tab" };
    if (this.#closing !== undefined || this.#state === "closed")
      return { ...status, state: "closed" };
    return this.#o.refusal === undefined ? status : { ...status, state: "read-only" };
  }

  async flush(): Promise<void> {
    this.#requireOpen();
    await this.#askAll("flush", (local) => local.flush());
  }

  async stats(): Promise<StoreStats> {
    this.#requireOpen();
    return await this.#askAll("stats", (local) => local.stats());
  }

  async verify(): Promise<VerifyReport> {
    this.#requireOpen();
    return await this.#askAll("verify", (local) => local.verify());
  }

  async compact(): Promise<void> {
    this.#requireOpen();
    if (this.#o.refusal !== undefined) throw this.#o.refusal;
    await this.#askAll("compact", (local) => local.compact());
  }

  async snapshot(): Promise<Uint8Array> {
    this.#requireOpen();
    return await this.#askAll("snapshot", (local) => local.snapshot());
  }

  // Read wholly first: it may have to be sent, or sent again.
  async restore(source: SnapshotSource, { mode }: RestoreOptions = {}): Promise<RestoreReport> {
    this.#requireOpen();
    if (this.#o.refusal !== undefined) throw this.#o.refusal;
    const file = await bytesOf(source);
    this.#requireOpen();
    const elsewhere = (place: number) => this.#client.restore(file, mode, place);
    return await this.#ask((local) => local.restore(file, { mode }), elsewhere);
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(event, listener);
  }

  // The browser promised not to evict this origin's storage.
  setPersisted(): void {
    this.#local?.setPersisted();
  }

  // An owner's clients hear of it too.
  tellQuota(event: StoreEvents["quota"]): void {
    if (this.#local !== undefined) this.#local.tellQuota(event);
    else this.#events.emit("quota", event);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  // A new owner's own calls of before are put to its engine a few at a time; what follows them waits behind them.
  get #askable(): LocalHost | undefined {
    return this.#client.waits ? undefined : this.#local;
  }

  #askAll<T>(kind: PlainCall, ask: (local: LocalHost) => Promise<T>): Promise<T> {
    return this.#ask(ask, (place) => this.#client.plain(kind, place) as Promise<T>);
  }

  // What the engine here can't answer because it is not the owner any more had no effect, and keeps its place among the calls that
  // the next owner gets: those of this tab are done in the order in which they were made.
  async #ask<T>(
    ask: (local: LocalHost) => Promise<T>,
    elsewhere: (place: number) => Promise<T>,
  ): Promise<T> {
    const place = this.#client.place();
    const local = this.#askable;
    if (local === undefined) return await elsewhere(place);
    return await this.#orElse(ask(local), () => elsewhere(place));
  }

  #orElse<T>(answer: Promise<T>, elsewhere: () => Promise<T>, kept?: KeptBlock): Promise<T> {
    this.#asked.add(answer);
    const over = () => {
      this.#asked.delete(answer);
      if (kept !== undefined) keptBlocks.release(kept);
    };
    return answer.then(
      (answered) => {
        over();
        return answered;
      },
      (error: unknown) => {
        try {
          if (!isOfOwner(error) || this.#closing !== undefined) throw error;
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
      if (this.#askable === undefined && this.#client.open > 0) await this.#finish();
      if (this.#local !== undefined)
        await (this.#ports?.empty ? this.#local.close() : this.#local.letGo());
    } catch (error) {
      lost = error;
    }
    this.#end(closedError(this.#o.name));
    await this.#letGo;
    if (lost !== undefined) throw lost;
  }

  // Of a flush that fails here, close() of the engine says whether anything is lost by it.
  async #finish(): Promise<void> {
    await this.#client.plain("flush").catch((error: unknown) => {
      if (this.#local === undefined) throw error;
    });
  }

  #end(failure: Error): void {
    if (this.#state === "closed") return;
    this.#leave();
    this.#state = "closed";
    this.#unwatch();
    this.#client.rejectAll(failure);
    this.#cantOpen(failure);
    if (this.#follower.status !== undefined) this.#events.emit("status", this.status);
    this.#events.clear();
  }

  #requireOpen(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closing !== undefined || this.#state === "closed") throw closedError(this.#o.name);
  }

  // ---- Opening ----------------------------------------------------------------------------------------------------------

  // Somebody may have the store for himself, and opening may be given up.
  #limitOpening(): void {
    const { signal, exclusive, waitMs } = this.#o;
    const giveUp = () => this.#end(new AbortError());
    signal?.addEventListener("abort", giveUp);
    const timer = setTimeout(() => {
      if (exclusive && this.#state !== "owning") this.#end(locked(this.#o.name));
    }, waitMs);
    const settled = () => {
      signal?.removeEventListener("abort", giveUp);
      clearTimeout(timer);
    };
    this.#opened.then(settled, settled);
    if (signal?.aborted) giveUp();
  }

  // ---- Joining and leaving ----------------------------------------------------------------------------------------------

  #join(): void {
    this.#state = "joining";
    this.#queue("queue"); // takes longest
    this.#peers.join();
    this.#follower.start();
  }

  #queue(how: "queue" | "steal"): void {
    this.#claim?.end();
    this.#claim = claimStore(this.#o.locks, this.#o.name, how, {
      held: () => {
        this.#opening = this.#own().finally(() => {
          this.#opening = undefined;
        });
      },
      lost: () => this.#replaced(),
      failed: (error) => this.#end(forbidden(error)),
    });
  }

  // Lets go of everything; calls stay. `when`: of the lock, if something is still being stored. A page that is about to sleep
  // does so now, as it may never wake: what the next owner gets ahead of is fenced, and taken back.
  #leave(when: "now" | "stored" = "stored"): void {
    const { owner } = this.#follower;
    if (owner !== undefined) this.#peers.post({ to: owner, type: "bye" });
    this.#follower.stop();
    this.#ports?.close();
    this.#ports = undefined;
    this.#peers.leave();
    const claim = this.#claim;
    this.#claim = undefined;
    const local = this.#local;
    this.#local = undefined;
    if (local !== undefined) this.#follower.status = local.status;
    const gone = local?.letGo().catch(() => this.#takeBack(local)) ?? this.#opening;
    if (gone !== undefined) this.#letGo = this.#allOver(gone);
    if (gone === undefined || local?.idle || when === "now") claim?.end();
    else void gone.then(() => claim?.end());
  }

  #onPage(event: LifeEvent): void {
    if (this.#state === "closed") return;
    if (event === "suspend" && this.#state !== "suspended" && this.#closing === undefined) {
      this.#local?.storeNow();
      this.#leave("now");
      this.#state = "suspended";
    } else if (event === "resume" && this.#state === "suspended") {
      void this.#rejoin();
    }
  }

  async #rejoin(): Promise<void> {
    this.#state = "suspended";
    await this.#letGo;
    if (this.#state === "suspended") this.#join(); // also to end what was asked before closing
  }

  // ---- Owning -----------------------------------------------------------------------------------------------------------

  async #own(): Promise<void> {
    this.#state = "owning";
    this.#follower.stop();
    const claim = this.#claim;
    const isOwner = () => this.#claim === claim && this.#state === "owning";
    const { name, locks, channels } = this.#o;
    this.#ports = new ClientPorts({ store: name, owner: this.#me, locks, channels });
    this.#announceOwner();
    let local: LocalHost;
    try {
      local = await this.#o.openLocal({
        isOwner,
        onReplaced: () => {
          if (isOwner()) this.#replaced();
        },
      });
    } catch (error) {
      if (isOwner()) this.#cantOwn(error);
      return;
    }
    if (!isOwner()) {
      await local.abandon();
      return;
    }
    this.#local = local;
    this.#follower.status = local.status;
    this.#forward(local);
    this.#answerWhatWaits(local);
    this.#ports.serve(local);
    this.#announceOwner();
    this.#isOpen();
    this.#events.emit("owner", { owner: "self" });
  }

  #forward(local: LocalHost): void {
    for (const name of [...forwardedEvents, "persisted"] as const) {
      local.on(name, (event) => {
        const twice = name === "status" && this.#closing !== undefined; // #end() tells it
        if (this.#local === local && !twice) this.#events.emit(name, event);
      });
    }
  }

  // Calls that were made while there was no owner, or that the one before left.
  #answerWhatWaits(local: LocalHost): void {
    const server = new CallServer(local, this.#me, {
      post: (message) => {
        const answered = message as ToClient;
        if (answered.type === "replies") this.#client.answer(answered.replies);
      },
      close() {},
    });
    const post = (message: ToOwner) => server.receive(message);
    this.#client.connect({ owner: this.#me, session: 0, post });
  }

  #cantOwn(error: unknown): void {
    this.#cantOpen(error);
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
      () => this.#end(error as StoreError),
    );
  }

  // There is another owner. What was not stored here is its to do.
  #replaced(): void {
    const local = this.#local;
    this.#local = undefined;
    this.#leave();
    if (local !== undefined) this.#letGo = this.#allOver(this.#takeBack(local));
    void this.#rejoin();
  }

  // Nothing is asked of another owner before all is known that this one leaves to him.
  async #allOver(gone: Promise<void>): Promise<void> {
    await gone;
    await Promise.allSettled([...this.#asked]);
  }

  // Deferred writes that were acknowledged and not stored are made again.
  async #takeBack(local: LocalHost): Promise<void> {
    const unstored = await local.abandon();
    if (this.#closing === undefined) for (const write of unstored) this.#again(write);
  }

  // It may fail by now.
  #again({ block, place }: Unstored): void {
    this.#client.again(block, place).catch((error: Error) => {
      this.#events.emit("persist-error", { error, pendingBytes: 0, retryInMs: undefined });
    });
  }

  // ---- Following --------------------------------------------------------------------------------------------------------

  #hear(announcement: Announcement): void {
    const { entitable: version, type, from, generation } = announcement;
    if (this.#state !== "owning") {
      if (type === "owner") this.#meet(announcement);
    } else if (type === "owner") {
      if (version === protocolVersion && generation !== undefined) this.#compare(generation);
    } else if (type === "hello") {
      if (version === protocolVersion && !this.#o.exclusive) this.#ports?.attach(from);
      this.#announceOwner();
    } else if (type === "yield" && version > protocolVersion) {
      void this.#yield(version);
    }
  }

  // Of two owners the one that claimed the log later is it: the other slept while its lock was taken, or was still opening the store when that
  // one, who had slept, claimed the log. What is read there is out of date, and only its next write would tell.
  #compare(generation: number): void {
    const mine = this.#local?.status.generation;
    if (mine === undefined || generation === mine) return;
    if (generation > mine) this.#replaced();
    else this.#announceOwner();
  }

  #announceOwner(): void {
    this.#peers.announce("owner", this.#local?.status.generation);
  }

  #meet({ entitable: version, from, exclusive, account, generation }: Announcement): void {
    if (version > protocolVersion) {
      void this.#yield(version);
    } else if (version < protocolVersion) {
      this.#peers.announce("yield");
    } else if (this.#o.exclusive) {
      // It waits for the lock, and not for long.
    } else if (exclusive) {
      setTimeout(() => {
        if (this.#state === "joining") this.#end(locked(this.#o.name));
      }, this.#o.waitMs);
    } else if (account !== this.#o.account) {
      this.#end(otherAccount(this.#o.name));
    } else {
      this.#follower.meet(from, generation);
    }
  }

  #follows(): void {
    this.#state = "following";
    this.#isOpen();
    this.#events.emit("owner", { owner: "other-tab" });
  }

  // The owner says nothing: unless another took over meanwhile, this tab does.
  async #replaceOwner(): Promise<void> {
    const waits = () => this.#state === "joining" || this.#state === "following";
    const { owner } = this.#follower;
    if (!waits() || this.#o.exclusive) return;
    await oneAtATime(this.#o.locks, this.#o.name, async () => {
      this.#peers.announce("hello");
      await new Promise((resolve) => setTimeout(resolve, this.#o.silenceMs / 5));
      const silent = this.#follower.owner === owner && this.#follower.silent;
      if (waits() && silent) this.#queue("steal");
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
    this.#end(this.#failure);
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
