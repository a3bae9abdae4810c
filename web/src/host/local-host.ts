// The store in this thread: connects an engine and a storage behind the Transport interface.
// Opening reads the log into the engine. Afterwards the commit queue writes the log, and the
// checkpointer shortens it.

import { missingCodeError, RestError, StoreError } from "../errors.ts";
import { fencedError, type LogStorage, StorageError } from "../storage/log-storage.ts";
import { MemoryStorage } from "../storage/memory.ts";
import type {
  ChangeListener,
  ChunkedFile,
  KnownCalls,
  ListenerConnection,
  OwnerHost,
  RepeatedWrites,
  RestoreCallOptions,
  WriteOrigin,
} from "../transport.ts";
import type {
  AbortSignalLike,
  Clock,
  Durability,
  RestoreReport,
  StoreDamage,
  StoreEvents,
  StoreStats,
  StoreStatus,
  StoreWarning,
  VerifyReport,
} from "../types.ts";
import { requestKind } from "../util/engine-message-kinds.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { toError } from "../util/platform-objects.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import { isModuleMissing } from "../wasm/module-missing.ts";
import { Checkpointer, type HistoryLimits } from "./checkpointer.ts";
import { CommitQueue } from "./commit-queue.ts";
import type { UnstoredWrite } from "./deferred-writes.ts";
import { Emitter } from "./emitter.ts";
import { EvictionDetector, type LastSeenMarker } from "./eviction-detector.ts";
import type { Ownership } from "./exclusive-lock.ts";
import { applyUnappliedSegments, changesMaxFor, logTooLargeError } from "./limited-recovery.ts";
import { ListenerLoader } from "./listener-loader.ts";
import type { LogSize } from "./log-growth.ts";
import { claimLog, recover } from "./log-recovery.ts";
import { ifEngineWorks, MemoryGuard } from "./memory-guard.ts";
import type { PageLifecycle } from "./page-lifecycle.ts";
import { PartLoader } from "./part-loader.ts";
import { Snapshots } from "./snapshots.ts";
import { SpaceReserve } from "./space-reserve.ts";
import type { SyncHost } from "./sync-host.ts";

// How a host learns whether it still owns the log, which other tabs may claim. `isOwner` returns
// whether this tab may claim the log. `onReplaced` is called when storing fails because another
// owner has written. `handOver` is called when the file of a deferred module is no longer on the
// server. If another tab can become the owner, it begins to close this host before it resolves.
// Resolves to whether the next owner gets the calls that fail now.
export interface LogOwnership {
  readonly client: Uint8Array; // this tab's client id, 16 bytes (core/dispatch/call_header.h)
  isOwner(): boolean;
  onReplaced(): void;
  handOver(): Promise<boolean>;
}

export interface LocalHostOptions {
  name: string;
  engine: Engine;
  storage: LogStorage;
  persistence: "memory" | "indexeddb" | "file";
  ownership: Ownership;
  durability: Durability;
  deferredDelayMs: number;
  memoryLimit: number; // of rows, in bytes; 0: none
  history?: HistoryLimits | undefined; // of the change feed
  clock: Clock;
  readOnly: boolean;
  // Whether stored data is safe from eviction: persistent storage was granted, or the data is in
  // files.
  persisted: boolean;
  onWarning: (warning: StoreWarning) => void;
  lifecycle: PageLifecycle;
  onFirstWrite?: (() => void) | undefined;
  logOwnership?: LogOwnership | undefined; // absent: no other owner is expected
  marker?: LastSeenMarker | undefined; // a record outside IndexedDB that the store held data
  onCheckpoint?: (() => void) | undefined; // called when a new checkpoint is in use
  // Returns usage and quota of the storage; undefined if they are unknown.
  estimate?: (() => Promise<{ usage?: number; quota?: number } | undefined>) | undefined;
}

export class LocalHost implements OwnerHost {
  readonly allowsReadBatching = true;
  readonly #options: LocalHostOptions;
  readonly #queue: CommitQueue;
  readonly #checkpointer: Checkpointer | undefined;
  readonly #space: SpaceReserve;
  readonly #events = new Emitter<StoreEvents>();
  readonly #stopListening: () => void;
  readonly #generation: number;
  #lastPersistedAt: Date | undefined;
  #persisted: boolean;
  #onFirstWrite: (() => void) | undefined;
  readonly #parts: PartLoader;
  readonly #memory: MemoryGuard;
  readonly #changeListeners: ListenerLoader;
  #damage: readonly StoreDamage[]; // a copy, because a broken engine cannot return it
  #writeError: StoreError | undefined; // the error of every write, if the store is read-only
  readonly #snapshots: Snapshots;
  #sync: SyncHost | undefined;
  readonly #eviction: EvictionDetector | undefined;
  #lacksCode = false; // because its file could not be loaded
  #claimed = false; // a segment of this owner is stored
  #closing: Promise<void> | undefined;

  // Opens the store: reads the log into the engine. On failure, closes the engine and the storage,
  // and releases the lock.
  static async open(options: LocalHostOptions): Promise<LocalHost> {
    const { engine, storage, ownership } = options;
    try {
      engine.setMemoryLimit(options.memoryLimit);
      const { memoryLimit, readOnly } = options;
      const changesMax = readOnly ? memoryLimit : changesMaxFor(memoryLimit);
      const orphans = await recover(engine, (reader) => storage.load(reader), changesMax);
      const writes = options.persistence !== "memory" && !readOnly && !engine.isDamaged;
      if (!readOnly) prefetchOutbox(engine);
      if (options.logOwnership?.isOwner() === false)
        throw fencedError("nothing yet, but has the lock");
      const space = spaceReserve(options);
      if (engine.firstUnappliedSegment !== undefined) {
        requireCheckpoints(options);
        const isOwner = () => options.logOwnership?.isOwner() !== false;
        const left = await applyUnappliedSegments({ ...options, isOwner, space }, orphans);
        return new LocalHost(options, left, true, space);
      }
      const claimed = !writes || (await claim(engine, storage, space));
      return new LocalHost(options, orphans, claimed, space);
    } catch (error) {
      await storage.close().catch(() => {});
      engine.close();
      ownership.release();
      throw error;
    }
  }

  private constructor(
    options: LocalHostOptions,
    orphans: readonly number[],
    claimed: boolean,
    space: SpaceReserve,
  ) {
    this.#options = options;
    this.#space = space;
    this.#persisted = options.persisted;
    this.#onFirstWrite = options.onFirstWrite;
    this.#damage = options.engine.damage();
    this.#writeError = writeErrorFor(options);
    this.#parts = new PartLoader({ ...options, onDamage: () => this.#onDamage() });
    this.#changeListeners = this.#makeChangeListeners();
    this.#memory = new MemoryGuard({
      engine: options.engine,
      memoryLimit: options.memoryLimit,
      trim: () => this.#parts.trim(),
      startCheckpoint: () => this.#checkpointer?.startForMemory() ?? false,
      onFreed: () => this.#queue.onMemoryFreed(),
    });
    this.#queue = new CommitQueue({
      memory: this.#memory,
      onWaitingForMemory: () => {
        if (!this.#checkpointer?.startForMemory()) this.#memory.allowWrites();
      },
      engine: options.engine,
      storage: options.storage,
      space,
      parts: this.#parts,
      durability: options.durability,
      deferredDelayMs: options.deferredDelayMs,
      client: options.logOwnership?.client,
      now: () => options.clock.now(),
      hidden: () => options.lifecycle.hidden(),
      onDeferredModuleFailed: (error) => this.#errorOfCall(error),
      onStored: (size) => this.#onStored(size),
      onPersistError: (error, retryInMs) => this.#onPersistError(error, retryInMs),
    });
    // A damaged log is never shortened.
    if (!this.#readOnly) {
      this.#checkpointer = new Checkpointer({
        ...options,
        orphans,
        automatic: options.persistence !== "memory",
        space,
        parts: this.#parts,
        memory: this.#memory,
        storeUpTo: (commit) => this.#queue.storeUpTo(commit),
        onManifest: () => this.#changeListeners.reportStored(),
        onCheckpoint: () => {
          this.#parts.trim();
          void space.fill();
          options.onCheckpoint?.();
        },
        onFailure: (error) => this.#onCheckpointFailed(error),
      });
      space.useCheckpoints(this.#checkpointer);
    }
    if (claimed) this.#onLogOwned();
    this.#snapshots = new Snapshots({
      engine: options.engine,
      queue: this.#queue,
      parts: this.#parts,
      putPart: async (id, bytes) => await this.#checkpointer?.putRestoredPart(id, bytes),
      deleteParts: async (ids) => await this.#checkpointer?.deleteRestoredParts(ids),
      replace: async (call) => await this.#checkpointer?.replaceAllData(call),
      now: () => this.now(),
    });
    const { epoch, lastCommit, tables } = options.engine.stats();
    this.#generation = epoch;
    // Whether the log held data. A log that was only claimed or compacted has neither commits nor
    // tables. A restored log has tables but no commits.
    const written = lastCommit > 0 || tables.length > 0 || this.#damage.length > 0;
    this.#eviction = this.#watchEviction(written);
    this.#stopListening = options.lifecycle.watch((event) => {
      if (event === "leaving" || event === "suspend") this.storePendingNow();
    });
  }

  // ---- Transport ------------------------------------------------------------------------------

  read(request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    if (this.#closing !== undefined) throw this.#closedError();
    const response = this.#options.engine.read(request);
    if (!(response instanceof PartsNeeded)) return response;
    const copy = request.slice();
    const loadAtOnce = request[0] === requestKind.explain ? "steps" : "some";
    return this.#readWhenLoaded(response, () => this.#options.engine.read(copy), loadAtOnce);
  }

  runBeforeNextChange(reads: () => void): void {
    if (this.#closing === undefined) this.#options.engine.runBeforeNextChange(reads);
  }

  readHttp(request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    if (this.#closing !== undefined) throw this.#closedError();
    const response = this.#options.engine.readHttp(request, this.now());
    if (!(response instanceof PartsNeeded)) return response;
    const copy = request.slice();
    return this.#readWhenLoaded(response, () => this.#options.engine.readHttp(copy, this.now()));
  }

  // Loads the needed parts, repeats the read, and returns a copy of the response.
  async #readWhenLoaded(
    needed: PartsNeeded,
    read: () => Uint8Array | PartsNeeded,
    loadAtOnce: "some" | "steps" = "some",
  ): Promise<Uint8Array> {
    const readCopy = () => {
      const response = read();
      return response instanceof PartsNeeded ? response : response.slice();
    };
    try {
      return await this.#parts.loadAndRetry(needed, readCopy, loadAtOnce);
    } catch (error) {
      throw await this.#errorOfRead(error);
    }
  }

  // Runs a write (transport.ts). If a deferred write of this tab is not stored, abandon() reports
  // it.
  write(
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
    origin?: WriteOrigin,
  ): Uint8Array | Promise<Uint8Array> {
    if (this.#closing !== undefined) return Promise.reject(this.#closedError());
    if (this.#writeError !== undefined) return Promise.reject(this.#writeError);
    this.#onFirstWrite?.();
    this.#onFirstWrite = undefined;
    return this.#queue.write(request, durability, signal, origin);
  }

  get deferredPositions(): { accepted: number; stored: number } {
    return this.#queue.deferredPositions;
  }

  // If the engine broke, it applies nothing any more.
  get lastCommit(): number {
    try {
      return this.#options.engine.lastCommit;
    } catch {
      return Number.MAX_SAFE_INTEGER;
    }
  }

  async knownCalls(client: Uint8Array): Promise<KnownCalls> {
    if (this.#closing !== undefined) throw this.#closedError();
    const known = await this.#queue.knownCalls(client);
    return { ...known, isFinal: this.#claimed };
  }

  async repeatWrites(
    requests: readonly Uint8Array[],
    signal?: AbortSignalLike,
  ): Promise<RepeatedWrites> {
    if (this.#closing !== undefined) throw this.#closedError();
    if (this.#writeError !== undefined) throw this.#writeError;
    return await this.#queue.repeatWrites(requests, signal);
  }

  now(): number {
    return this.#options.clock.now();
  }

  listen(
    listener: ChangeListener,
    client = this.#options.logOwnership?.client,
  ): ListenerConnection {
    if (this.#closing !== undefined) throw this.#closedError();
    return this.#changeListeners.listen(listener, client);
  }

  // ---- Sync -----------------------------------------------------------------------------------

  // Resolves to what the code of sync uses of this host, once its part of the engine is loaded. The
  // next owner continues what sync has stored.
  async startSync(): Promise<SyncHost> {
    const requireOpen = () => {
      if (this.#closing !== undefined) throw this.#closedError();
    };
    requireOpen();
    if (this.#writeError !== undefined) throw this.#writeError;
    const { SyncHost } = await this.#orMissing(import("./sync-host.ts"));
    requireOpen();
    this.#sync ??= new SyncHost(
      {
        engine: this.#options.engine,
        queue: this.#queue,
        parts: this.#parts,
        now: () => this.now(),
        requireOpen,
      },
      { PartsNeeded, RestError, StorageError, StoreError, yieldToEventLoop },
    );
    await this.#orHandOver(this.#sync.enable());
    return this.#sync;
  }

  // ---- The store's own handle -----------------------------------------------------------------

  get status(): StoreStatus {
    return {
      state: this.#closing !== undefined ? "closed" : this.#readOnly ? "read-only" : "open",
      persistence: this.#options.persistence,
      owner: "self",
      generation: this.#generation,
      pendingBytes: this.#queue.pendingBytes,
      lastPersistedAt: this.#lastPersistedAt,
      persisted: this.#persisted,
      damage: this.#damage,
    };
  }

  // Whether no write is queued, waits to be stored, or is being stored.
  get isIdle(): boolean {
    return this.#queue.isIdle;
  }

  // Stores deferred writes immediately, because the page may be about to close.
  storePendingNow(): void {
    this.#queue.storePendingNow();
  }

  async flush(): Promise<void> {
    if (this.#closing !== undefined) throw this.#closedError();
    await this.#queue.flush();
  }

  async stats(): Promise<StoreStats> {
    if (this.#closing !== undefined) throw this.#closedError();
    await this.#parts.loadForRowCounts();
    const stats = this.#options.engine.stats();
    return {
      tables: stats.tables,
      rows: stats.rows,
      bytes: stats.bytes,
      memoryBytes: stats.memoryBytes,
      pendingBytes: stats.pendingBytes,
      segments: stats.segmentsSinceCheckpoint,
      segmentBytes: stats.segmentBytesSinceCheckpoint,
      ...(await this.#storageStats()),
    };
  }

  async #storageStats(): Promise<Pick<StoreStats, "storage">> {
    const { storage, estimate } = this.#options;
    if (storage.reserve === undefined) return {};
    const { usage, quota } = (await estimate?.()) ?? {};
    const reserve = await this.#space.measure();
    return {
      storage: {
        ...(usage === undefined ? {} : { usage }),
        ...(quota === undefined ? {} : { quota }),
        reserve,
      },
    };
  }

  async verify(): Promise<VerifyReport> {
    if (this.#closing !== undefined) throw this.#closedError();
    const { verify } = await this.#orMissing(import("./verify.ts"));
    return await this.#orHandOver(verify({ ...this.#options, recover, logTooLargeError }));
  }

  async compact(): Promise<void> {
    await this.flush();
    if (this.#writeError !== undefined) throw this.#writeError;
    if (this.#options.persistence === "memory") return;
    await this.#asLogOwner(async () => await this.#checkpointer?.compact());
    await this.#space.fill();
  }

  async *snapshotChunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    try {
      if (this.#closing !== undefined) throw this.#closedError();
      for await (const chunk of this.#snapshots.chunks()) {
        yield chunk;
        if (this.#closing !== undefined) throw this.#closedError();
      }
    } catch (error) {
      throw await this.#errorOfRead(error);
    }
  }

  async restore(
    file: ChunkedFile,
    { mode = "replace", call }: RestoreCallOptions = {},
  ): Promise<RestoreReport> {
    if (this.#closing !== undefined) throw this.#closedError();
    if (this.#writeError !== undefined) throw this.#writeError;
    this.#onFirstWrite?.();
    this.#onFirstWrite = undefined;
    const report = await this.#orHandOver(
      this.#asLogOwner(() => this.#snapshots.restore(file, mode, call)),
    );
    if (report.tables > 0) this.#eviction?.onStored();
    return report;
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(event, listener);
  }

  // Called when the storage has reconnected after losing its connection.
  emitReopened(): void {
    this.#events.emit("reopened", { at: new Date(this.now()) });
  }

  emitQuota(event: StoreEvents["quota"]): void {
    this.#events.emit("quota", event);
  }

  // Called when the browser has granted persistent storage.
  setPersisted(): void {
    this.#persisted = true;
    this.#events.emit("status", this.status);
  }

  // Stores pending writes, then releases everything, even if storing fails. Rejects only if
  // acknowledged writes are lost.
  close(): Promise<void> {
    this.#closing ??= this.#close(() => this.#checkpointer?.checkpointOnClose());
    return this.#closing;
  }

  // Closes as close() does, but without a checkpoint, because another owner waits.
  closeForTakeover(): Promise<void> {
    this.#closing ??= this.#close(() => {});
    return this.#closing;
  }

  // Closes like closeForTakeover(), but rejects the queued writes with StoreClosed, so that they
  // are sent to the next owner in the order of their calls.
  closeForHandOver(): Promise<void> {
    if (this.#closing === undefined) {
      this.#queue.rejectQueued(this.#closedError());
      this.#closing = this.#close(() => {});
    }
    return this.#closing;
  }

  // Releases everything without storing pending writes, because another owner has the log. Waits
  // for what is being stored. Resolves to the acknowledged writes of this tab that may not be
  // stored, in the order of the calls.
  async abandon(): Promise<UnstoredWrite[]> {
    this.#closing ??= this.#release();
    await this.#closing.catch(() => {});
    return this.#queue.unstoredWrites;
  }

  async #close(beforeRelease: () => Promise<void> | void): Promise<void> {
    this.#options.engine.runPendingReads();
    let lost: unknown;
    try {
      await this.#queue.flush();
      await beforeRelease();
    } catch (error) {
      if (this.#queue.pendingBytes > 0) lost = error;
    }
    await this.#release();
    if (lost !== undefined) throw lost;
  }

  async #release(): Promise<void> {
    const { engine, storage, ownership } = this.#options;
    this.#stopListening();
    this.#changeListeners.closeAll(this.#closedError());
    this.#space.stop();
    this.#eviction?.markOnClose();
    this.#queue.stop(this.#closedError());
    this.#snapshots.stop(this.#closedError());
    // The outcome decides which writes the next owner gets. If the engine broke, there is none.
    await this.#queue.whenNotStoring.catch(() => {});
    await this.#checkpointer?.stop();
    await storage.close().catch(() => {});
    engine.close();
    ownership.release();
    this.#events.emit("status", this.status);
    this.#events.clear();
  }

  // ---- Versions -------------------------------------------------------------------------------
  // A version is a state of the store, kept so that the store can return to it. Only stores in
  // memory have versions (core/store/store.h). Writes in the queue are applied after these calls.
  // fork(), retainVersion() and rollback() throw StoreError NotSupported while a write is being
  // applied; in memory, that ends within the same turn of the event loop.

  // Returns a new store that begins with the data published in this one.
  fork(clock: Clock): LocalHost {
    const engine = this.#requireVersions().fork();
    const options = { ...this.#options, clock, engine, storage: new MemoryStorage() };
    return new LocalHost(options, [], true, spaceReserve(options));
  }

  retainVersion(): number {
    return this.#requireVersions().retainVersion();
  }

  rollback(version: number): void {
    this.#requireVersions().rollbackToVersion(version);
    this.#queue.discardPending();
  }

  releaseVersion(version: number): void {
    if (this.#closing === undefined) this.#options.engine.releaseVersion(version);
  }

  // Rolls back when all earlier writes have ended. Calls `alsoRun` in the same turn of the event
  // loop.
  async rollbackWhenIdle(version: number, alsoRun: () => void): Promise<void> {
    if (this.#closing !== undefined) throw this.#closedError();
    await this.#queue.runExclusively(async () => {
      this.#options.engine.rollbackToVersion(version);
      this.#queue.discardPending();
      alsoRun();
    });
  }

  // Functions of the engine for code that wraps this host to observe its requests
  // (testing/mock-host.ts).
  get engineForMockHost(): Pick<
    Engine,
    | "describeRequest"
    | "makeErrorResponse"
    | "responseOutcome"
    | "truncatePages"
    | "emulateServiceScans"
    | "lastReadRowCounts"
  > {
    if (this.#closing !== undefined) throw this.#closedError();
    return this.#options.engine;
  }

  #requireVersions(): Engine {
    if (this.#closing !== undefined) throw this.#closedError();
    if (this.#options.persistence !== "memory") {
      throw new StoreError("NotSupported", "Only a store in memory has versions.");
    }
    if (this.#queue.isWriterIdle) return this.#options.engine;
    throw new StoreError("NotSupported", "A write is being applied.", {
      hint: "Await the writes that were started before.",
    });
  }

  // ---- Private --------------------------------------------------------------------------------

  get #readOnly(): boolean {
    return this.#writeError !== undefined || this.#queue.fatalError !== undefined;
  }

  // Runs a checkpoint or a restore. Claims the log first if this owner has not done so: without a
  // claim, another owner may be writing.
  async #asLogOwner<T>(work: () => Promise<T>): Promise<T> {
    try {
      if (!this.#claimed) await this.#queue.runExclusively(() => this.#claim());
      return await work();
    } catch (error) {
      this.#reportIfReplaced(error);
      throw error;
    }
  }

  // Claims the log unless a pending write has done so. REQUIRES: the call is within
  // runExclusively(), because the claim takes the number of the next segment.
  async #claim(): Promise<void> {
    const { engine, storage } = this.#options;
    if (this.#claimed) return;
    await claimLog(engine, storage, this.#space);
    this.#onLogOwned();
  }

  // If the call fails because a deferred module cannot be loaded, and another tab becomes the
  // owner, rejects with StoreClosed, so that the call is sent to that tab.
  async #orHandOver<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw await this.#errorOfCall(toError(error));
    }
  }

  // Rejects with the error for a call whose code cannot be loaded.
  async #orMissing<T>(loading: Promise<T>): Promise<T> {
    return await loading.catch(async (cause: unknown) => {
      throw await this.#errorOfMissingCode(cause);
    });
  }

  // Resolves to the error to report for a read that failed after it had to wait.
  async #errorOfRead(error: unknown): Promise<Error> {
    if (this.#closing !== undefined) return this.#closedError();
    this.#reportIfReplaced(error);
    return await this.#errorOfCall(toError(error));
  }

  // If a call failed because the file of a deferred module is no longer on the server, hands the
  // store over, if possible. Resolves to the error for the call: StoreClosed if the next owner gets
  // the call.
  async #errorOfCall(error: Error): Promise<Error> {
    const isMissing = this.#options.engine.moduleLoading === "fails" && isModuleMissing(error);
    return isMissing ? await this.#handOverOr(error) : error;
  }

  // Resolves to the error for a call whose code cannot be loaded.
  async #errorOfMissingCode(cause: unknown): Promise<Error> {
    this.#lacksCode = true;
    return await this.#handOverOr(missingCodeError(cause));
  }

  // Hands the store over if that is possible, because this tab lacks code. Resolves to the error
  // for the call that needs it: StoreClosed if the next owner gets the call, otherwise `error`.
  async #handOverOr(error: Error): Promise<Error> {
    return (await this.#options.logOwnership?.handOver()) ? this.#closedError() : error;
  }

  // Whether this host has loaded a deferred module, and is not known to lack the file of another,
  // or of code.
  get hasLoadedModule(): boolean {
    return !this.#lacksCode && this.#options.engine.moduleLoading === "works";
  }

  // Makes the store read-only because a part that was loaded on demand is damaged, as if the damage
  // had been found on opening.
  #onDamage(): void {
    const { engine, name, onWarning } = this.#options;
    this.#damage = engine.damage();
    this.#writeError = writeErrorFor(this.#options);
    onWarning({ code: "Damaged", message: damageMessage(name, this.#damage) });
    this.#events.emit("status", this.status);
  }

  #makeChangeListeners(): ListenerLoader {
    const readSegments: LogStorage["readSegments"] = (...args) => {
      const read = () => this.#options.storage.readSegments(...args);
      return this.#checkpointer?.runBetweenManifests(read) ?? read();
    };
    return new ListenerLoader({
      engine: this.#options.engine,
      parts: this.#parts,
      storage: this.#options.persistence === "memory" ? undefined : { readSegments },
      errorOfRead: (error) => this.#errorOfRead(error),
      errorOfMissingCode: (cause) => this.#errorOfMissingCode(cause),
      storeReaders: () => this.compact(),
      storingError: () => this.#queue.fatalError,
    });
  }

  #watchEviction(written: boolean): EvictionDetector | undefined {
    const { marker } = this.#options;
    if (marker === undefined) return undefined;
    const onEvicted = (lastSeen: Date) => this.#events.emit("evicted", { lastSeen });
    return new EvictionDetector({ marker, hasData: written, now: () => this.now(), onEvicted });
  }

  // Called when a segment of this owner was stored, and possibly again.
  #onLogOwned(): void {
    this.#checkpointer?.allowCheckpoints();
    if (this.#claimed) return;
    this.#claimed = true;
    this.#space.fillAfterOpening();
  }

  #onStored(size: LogSize): void {
    this.#onLogOwned();
    this.#eviction?.onStored();
    this.#lastPersistedAt = new Date(this.now());
    this.#checkpointer?.onSegmentsStored(size);
    this.#space.onStored(size.bytes);
    // With a queue that is never empty, this is the only time at which no group is staged.
    this.#parts.trim();
    if (this.#memory.isFull) this.#memory.update();
    if (this.#options.persistence !== "memory") {
      this.#events.emit("persisted", { at: this.#lastPersistedAt });
    }
  }

  #onPersistError(error: Error, retryInMs: number | undefined): void {
    if (this.#reportIfReplaced(error)) return;
    const pendingBytes = this.#queue.pendingBytes;
    this.#events.emit("persist-error", { error, pendingBytes, retryInMs });
    if (retryInMs !== undefined) return;
    // The store is now read-only.
    this.#changeListeners.openFeeds();
    this.#events.emit("status", this.status);
  }

  #onCheckpointFailed(error: unknown): void {
    ifEngineWorks(() => this.#memory.updateAfterFailure());
    this.#queue.rejectWaitingForMemory(toError(error));
    if (this.#reportIfReplaced(error)) return;
    const message = `The checkpoint failed; the log grows until one succeeds: ${String(error)}`;
    this.#options.onWarning({ code: "CheckpointFailed", message });
  }

  #reportIfReplaced(error: unknown): boolean {
    const replaced = error instanceof StorageError && error.failure === "fenced";
    if (!replaced || this.#options.logOwnership === undefined) return false;
    this.#options.logOwnership.onReplaced();
    return true;
  }

  #closedError(): StoreError {
    return new StoreError("StoreClosed", `The store "${this.#options.name}" is closed.`);
  }
}

export function readOnlyError(name: string): StoreError {
  return new StoreError("NotSupported", `The store "${name}" is open for reading only.`, {
    hint: "It was opened with readOnly: true.",
  });
}

export function damageMessage(name: string, [first]: readonly StoreDamage[]): string {
  return `Store "${name}" is damaged and read-only: ${first?.file} ${first?.message}`;
}

function writeErrorFor({ name, engine, readOnly }: LocalHostOptions): StoreError | undefined {
  if (readOnly) return readOnlyError(name);
  if (engine.isDamaged) {
    return new StoreError("Corrupted", `The store "${name}" is damaged and takes no writes.`, {
      hint: "status.damage lists what is missing; copy what can be read, then delete the store.",
    });
  }
  return undefined;
}

// Begins to load what the first write of a synced table needs. If this fails, the write tries
// again.
function prefetchOutbox(engine: Engine): void {
  if (engine.hasSyncedTables) engine.loadDeferredModule("sync").catch(() => {});
}

// Throws if the store cannot write the checkpoints without which its log does not fit in memory.
function requireCheckpoints({ name, engine, readOnly }: LocalHostOptions): void {
  if (readOnly) {
    const why = "a store that is open for reading only writes no checkpoint";
    const hint = "Open it once without readOnly, or with a larger memoryLimit.";
    throw logTooLargeError(name, why, hint);
  }
  const [first] = engine.damage();
  if (first === undefined) return;
  const why = `it is damaged (${first.file} ${first.message}), so it writes no checkpoint`;
  const hint = "Open it with a larger memoryLimit, or 0, to read the rest.";
  throw logTooLargeError(name, why, hint);
}

function spaceReserve({ engine, storage }: LocalHostOptions): SpaceReserve {
  const size = () => {
    const { bytes, segmentBytesSinceCheckpoint } = engine.stats();
    return { rows: bytes, log: segmentBytesSinceCheckpoint };
  };
  return new SpaceReserve({ reserve: storage.reserve, size });
}

// Claims the log. Returns false if there is not enough space for the claim. The store can still
// open, and its first segment becomes the claim.
async function claim(engine: Engine, storage: LogStorage, space: SpaceReserve): Promise<boolean> {
  try {
    await claimLog(engine, storage, space);
    return true;
  } catch (error) {
    const nothingStored =
      error instanceof StorageError && ["quota", "aborted"].includes(error.failure);
    if (!nothingStored) throw error;
    return false;
  }
}
