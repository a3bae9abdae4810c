// The store in this very page: engine and storage behind a Transport. Opens a log (load, recover, replay), then lets the commit
// queue write it and the checkpointer keep it short.

import { StoreError } from "../errors.ts";
import { fencedError, type LogStorage, StorageError } from "../storage/log-storage.ts";
import { MemoryStorage } from "../storage/memory.ts";
import type { Host, RestoreCall } from "../transport.ts";
import type {
  AbortSignalLike,
  Clock,
  Durability,
  RestoreReport,
  SnapshotSource,
  StoreDamage,
  StoreEvents,
  StoreStats,
  StoreStatus,
  StoreWarning,
  VerifyReport,
} from "../types.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import { Checkpointer } from "./checkpointer.ts";
import { CommitQueue, type UnstoredWrite } from "./commit-queue.ts";
import { Emitter } from "./emitter.ts";
import { EvictionDetector, type LastSeenMarker } from "./eviction-detector.ts";
import type { LogSize } from "./log-growth.ts";
import { recover } from "./log-recovery.ts";
import type { Ownership } from "./ownership.ts";
import type { PageLifecycle } from "./page-lifecycle.ts";
import { PartLoader } from "./part-loader.ts";
import { Snapshots } from "./snapshots.ts";
import { verify } from "./verify.ts";

// Of a log that others may want: `isOwner`, whether it may still be claimed; `onReplaced`, a write found that somebody else did.
export interface LogOwnership {
  isOwner(): boolean;
  onReplaced(): void;
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
  clock: Clock;
  readOnly: boolean;
  persisted: boolean; // nothing evicts what is stored: the browser promised it, or it is in files
  onWarning: (warning: StoreWarning) => void;
  lifecycle: PageLifecycle;
  onFirstWrite?: (() => void) | undefined;
  logOwnership?: LogOwnership | undefined; // none: nobody else is expected
  marker?: LastSeenMarker | undefined; // of the store's data, where eviction may leave it
  onCheckpoint?: (() => void) | undefined; // one is in force
}

export class LocalHost implements Host {
  readonly batchesReads = true;
  readonly #options: LocalHostOptions;
  readonly #queue: CommitQueue;
  readonly #checkpointer: Checkpointer | undefined;
  readonly #events = new Emitter<StoreEvents>();
  readonly #unlisten: () => void;
  readonly #generation: number;
  #lastPersistedAt: Date | undefined;
  #persisted: boolean;
  #onFirstWrite: (() => void) | undefined;
  readonly #parts: PartLoader;
  #damage: readonly StoreDamage[]; // kept: an engine that broke can't say it any more
  #writeError: StoreError | undefined; // of every write, in a store that is open for reading only
  readonly #snapshots: Snapshots;
  readonly #eviction: EvictionDetector | undefined;
  #claimed = false; // some segment of this owner is stored
  #closing: Promise<void> | undefined;

  // Reads the log into the engine. On failure everything given in is closed and released.
  static async open(options: LocalHostOptions): Promise<LocalHost> {
    const { engine, storage, ownership } = options;
    try {
      engine.setMemoryLimit(options.memoryLimit);
      const orphans = await recover(engine, (reader) => storage.load(reader));
      const writes = options.persistence !== "memory" && !options.readOnly && !engine.readOnly;
      if (options.logOwnership?.isOwner() === false)
        throw fencedError("nothing yet, but has the lock");
      const claimed = !writes || (await claim(engine, storage));
      return new LocalHost(options, orphans, claimed);
    } catch (error) {
      await storage.close().catch(() => {});
      engine.close();
      ownership.release();
      throw error;
    }
  }

  private constructor(options: LocalHostOptions, orphans: readonly number[], claimed: boolean) {
    this.#options = options;
    this.#persisted = options.persisted;
    this.#onFirstWrite = options.onFirstWrite;
    this.#damage = options.engine.damage();
    this.#writeError = writeErrorFor(options);
    this.#parts = new PartLoader({ ...options, onDamage: () => this.#onDamage() });
    this.#queue = new CommitQueue({
      engine: options.engine,
      storage: options.storage,
      parts: this.#parts,
      durability: options.durability,
      deferredDelayMs: options.deferredDelayMs,
      tracksUnstored: options.logOwnership !== undefined,
      now: () => options.clock.now(),
      hidden: () => options.lifecycle.hidden(),
      onStored: (size) => this.#onStored(size),
      onPersistError: (error, retryInMs) => this.#onPersistError(error, retryInMs),
    });
    // Nothing is removed from a damaged log; in memory there is none.
    if (!this.#readOnly) {
      const automatic = options.persistence !== "memory";
      this.#checkpointer = new Checkpointer({
        ...options,
        orphans,
        automatic,
        parts: this.#parts,
        blocker: () => this.#snapshots.inProgress,
        onCheckpoint: () => {
          this.#parts.trim();
          options.onCheckpoint?.();
        },
        onFailure: (error) => this.#onCheckpointFailed(error),
      });
    }
    if (claimed) this.#onLogOwned();
    this.#snapshots = new Snapshots({
      engine: options.engine,
      queue: this.#queue,
      parts: this.#parts,
      replace: (call) => this.#asLogOwner(() => this.#checkpointer?.replace(call)),
      now: () => this.now(),
    });
    const { epoch, lastCommit, tables } = options.engine.stats();
    this.#generation = epoch;
    // A log that was only claimed or compacted has neither commits nor tables, one that was restored has tables without commits.
    const written = lastCommit > 0 || tables.length > 0 || this.#damage.length > 0;
    this.#eviction = this.#watchEviction(written);
    this.#unlisten = options.lifecycle.watch((event) => {
      if (event === "leaving" || event === "suspend") this.storePendingNow();
    });
  }

  // ---- Transport ------------------------------------------------------------------------------------------------------

  read(request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    if (this.#closing !== undefined) throw this.#closedError();
    const response = this.#options.engine.read(request);
    if (!(response instanceof PartsNeeded)) return response;
    const copy = request.slice();
    return this.#readWhenLoaded(response, () => this.#options.engine.read(copy));
  }

  deferReads(reads: () => void): void {
    if (this.#closing === undefined) this.#options.engine.deferReads(reads);
  }

  handle(request: Uint8Array): Uint8Array | Promise<Uint8Array> {
    if (this.#closing !== undefined) throw this.#closedError();
    const response = this.#options.engine.handle(request, this.now());
    if (!(response instanceof PartsNeeded)) return response;
    const copy = request.slice();
    return this.#readWhenLoaded(response, () => this.#options.engine.handle(copy, this.now()));
  }

  // The reply of a read that needs parts first, as a copy.
  async #readWhenLoaded(
    needed: PartsNeeded,
    read: () => Uint8Array | PartsNeeded,
  ): Promise<Uint8Array> {
    try {
      return await this.#parts.loadAndRetry(needed, () => {
        const response = read();
        return response instanceof PartsNeeded ? response : response.slice();
      });
    } catch (error) {
      if (this.#closing !== undefined) throw this.#closedError();
      this.#reportIfReplaced(error);
      throw error;
    }
  }

  // `place`: what abandon() says of it.
  write(
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
    callNumber?: number,
  ): Uint8Array | Promise<Uint8Array> {
    if (this.#closing !== undefined) return Promise.reject(this.#closedError());
    if (this.#writeError !== undefined) return Promise.reject(this.#writeError);
    this.#onFirstWrite?.();
    this.#onFirstWrite = undefined;
    return this.#queue.write(request, durability, signal, callNumber);
  }

  now(): number {
    return this.#options.clock.now();
  }

  // ---- The store's own handle -------------------------------------------------------------------------------------------

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

  // Nothing waits, nothing is being stored.
  get idle(): boolean {
    return this.#queue.idle;
  }

  // Deferred writes are stored at once: there may be no later.
  storePendingNow(): void {
    this.#queue.storePendingNow();
  }

  async flush(): Promise<void> {
    if (this.#closing !== undefined) throw this.#closedError();
    await this.#queue.flush();
  }

  async stats(): Promise<StoreStats> {
    if (this.#closing !== undefined) throw this.#closedError();
    await this.#parts.loadUncounted();
    const stats = this.#options.engine.stats();
    return {
      tables: stats.tables,
      rows: stats.rows,
      bytes: stats.bytes,
      memoryBytes: stats.memoryBytes,
      pendingBytes: stats.pendingBytes,
      segments: stats.segmentsSinceCheckpoint,
      segmentBytes: stats.segmentBytesSinceCheckpoint,
    };
  }

  async verify(): Promise<VerifyReport> {
    if (this.#closing !== undefined) throw this.#closedError();
    return await verify(this.#options);
  }

  async compact(): Promise<void> {
    await this.flush();
    if (this.#writeError !== undefined) throw this.#writeError;
    if (this.#options.persistence === "memory") return;
    await this.#asLogOwner(() => this.#checkpointer?.compact());
  }

  async snapshot(): Promise<Uint8Array> {
    if (this.#closing !== undefined) throw this.#closedError();
    return await this.#snapshots.take();
  }

  async restore(
    source: SnapshotSource,
    { mode = "replace", call }: RestoreCall = {},
  ): Promise<RestoreReport> {
    if (this.#closing !== undefined) throw this.#closedError();
    if (this.#writeError !== undefined) throw this.#writeError;
    this.#onFirstWrite?.();
    this.#onFirstWrite = undefined;
    const report = await this.#snapshots.restore(source, mode, call);
    if (report.tables > 0) this.#eviction?.onStored();
    return report;
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(event, listener);
  }

  // The storage made a lost connection anew.
  emitReopened(): void {
    this.#events.emit("reopened", { at: new Date(this.now()) });
  }

  emitQuota(event: StoreEvents["quota"]): void {
    this.#events.emit("quota", event);
  }

  // The browser promised not to evict this origin's storage.
  setPersisted(): void {
    this.#persisted = true;
    this.#events.emit("status", this.status);
  }

  // Stores what is pending, then lets everything go, even if storing fails. Then, and only if acknowledged writes are
  // lost by it, it rejects.
  close(): Promise<void> {
    this.#closing ??= this.#close(() => this.#checkpointer?.checkpointOnClose());
    return this.#closing;
  }

  // The same at once, as another owner waits.
  closeForTakeover(): Promise<void> {
    this.#closing ??= this.#close(() => {});
    return this.#closing;
  }

  // Lets everything go as it is, since the log has another owner. Resolves to the writes that were acknowledged and not
  // stored, in order.
  async abandon(): Promise<UnstoredWrite[]> {
    this.#closing ??= this.#release();
    await this.#closing.catch(() => {});
    return this.#queue.unstored;
  }

  async #close(beforeRelease: () => Promise<void> | void): Promise<void> {
    this.#options.engine.flushDeferredReads();
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
    this.#unlisten();
    this.#eviction?.close();
    this.#queue.stop(this.#closedError());
    await this.#checkpointer?.stop();
    await storage.close().catch(() => {});
    engine.close();
    ownership.release();
    this.#events.emit("status", this.status);
    this.#events.clear();
  }

  // ---- Versions ---------------------------------------------------------------------------------------------------------
  // Of stores in memory (core/store/store.h). Writes that still wait for their turn come after. While one is being applied, which
  // in memory ends within the turn of the event loop, the first three throw StoreError NotSupported.

  // Another store, which begins with what is published here.
  fork(clock: Clock): LocalHost {
    const engine = this.#requireVersions().fork();
    return new LocalHost(
      { ...this.#options, clock, engine, storage: new MemoryStorage() },
      [],
      true,
    );
  }

  retainVersion(): number {
    return this.#requireVersions().retainVersion();
  }

  rollback(version: number): void {
    this.#requireVersions().rollback(version);
    this.#queue.discardPending();
  }

  releaseVersion(version: number): void {
    if (this.#closing === undefined) this.#options.engine.releaseVersion(version);
  }

  // The same as rollback, when all that was written before is done; and `along` with it.
  async rollbackWhenIdle(version: number, alsoRun: () => void): Promise<void> {
    if (this.#closing !== undefined) throw this.#closedError();
    await this.#queue.runExclusively(async () => {
      this.#options.engine.rollback(version);
      this.#queue.discardPending();
      alsoRun();
    });
  }

  // For whoever stands before this host and watches requests: what they are, how they would fail, what became of them.
  get instrumentation(): Pick<
    Engine,
    | "describeRequest"
    | "makeErrorResponse"
    | "responseOutcome"
    | "truncatePages"
    | "emulateServiceScans"
    | "lastRead"
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
      hint: "Wait for the writes that were begun before.",
    });
  }

  // ---- Inside -----------------------------------------------------------------------------------------------------------

  get #readOnly(): boolean {
    return this.#writeError !== undefined || this.#queue.fatalError !== undefined;
  }

  // An owner that nobody knows of must not checkpoint what another may be writing.
  async #asLogOwner(checkpoint: () => Promise<void> | undefined): Promise<void> {
    const { engine, storage } = this.#options;
    try {
      if (!this.#claimed) {
        const { sequence, bytes } = engine.claim();
        await storage.claim(sequence, bytes);
        engine.markStored(sequence);
        this.#onLogOwned();
      }
      await checkpoint();
    } catch (error) {
      this.#reportIfReplaced(error);
      throw error;
    }
  }

  // A part that was loaded on demand is not what the manifest says: as if that had shown at opening.
  #onDamage(): void {
    const { engine, name, onWarning } = this.#options;
    this.#damage = engine.damage();
    this.#writeError = writeErrorFor(this.#options);
    onWarning({ code: "Damaged", message: damageMessage(name, this.#damage) });
    this.#events.emit("status", this.status);
  }

  #watchEviction(written: boolean): EvictionDetector | undefined {
    const { marker } = this.#options;
    if (marker === undefined) return undefined;
    const onEvicted = (lastSeen: Date) => this.#events.emit("evicted", { lastSeen });
    return new EvictionDetector({ marker, hasData: written, now: () => this.now(), onEvicted });
  }

  // Some segment of this owner is stored. May be called again.
  #onLogOwned(): void {
    this.#claimed = true;
    this.#checkpointer?.start();
  }

  #onStored(size: LogSize): void {
    this.#onLogOwned();
    this.#eviction?.onStored();
    this.#lastPersistedAt = new Date(this.now());
    this.#checkpointer?.onSegmentsStored(size);
    if (this.#options.persistence !== "memory") {
      this.#events.emit("persisted", { at: this.#lastPersistedAt });
    }
  }

  #onPersistError(error: Error, retryInMs: number | undefined): void {
    if (this.#reportIfReplaced(error)) return;
    const pendingBytes = this.#queue.pendingBytes;
    this.#events.emit("persist-error", { error, pendingBytes, retryInMs });
    if (retryInMs === undefined) this.#events.emit("status", this.status); // read-only from now on
  }

  #onCheckpointFailed(error: unknown): void {
    if (this.#reportIfReplaced(error)) return;
    const message = `The log could not be shortened, and grows until it can: ${String(error)}`;
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
  if (engine.readOnly) {
    return new StoreError("Corrupted", `The store "${name}" is damaged and takes no writes.`, {
      hint: "status.damage says what is missing; copy what can be read, then delete the store.",
    });
  }
  return undefined;
}

// Makes this store the log's owner. Without room for that it opens all the same, for reading: its first segment claims too.
async function claim(engine: Engine, storage: LogStorage): Promise<boolean> {
  const { sequence, bytes } = engine.claim();
  try {
    await storage.claim(sequence, bytes);
    engine.markStored(sequence);
    return true;
  } catch (error) {
    const nothingStored =
      error instanceof StorageError && ["quota", "aborted"].includes(error.failure);
    if (!nothingStored) throw error;
    return false;
  }
}
