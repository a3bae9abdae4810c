// The store in this very page: engine and storage behind a Transport. Opens a log (load, recover, replay), then lets the commit
// queue write it and the checkpointer keep it short.

import { StoreError } from "../errors.ts";
import { type LogStorage, manifestName, segmentName } from "../storage/log-storage.ts";
import type { Host } from "../transport.ts";
import type {
  AbortSignalLike,
  Clock,
  Durability,
  StoreDamage,
  StoreEvents,
  StoreStats,
  StoreStatus,
  StoreWarning,
} from "../types.ts";
import type { Engine } from "../wasm/engine.ts";
import { Checkpointer } from "./checkpointer.ts";
import { CommitQueue } from "./commit-queue.ts";
import { Emitter } from "./emitter.ts";
import type { Ownership } from "./ownership.ts";

export interface LocalHostOptions {
  name: string;
  engine: Engine;
  storage: LogStorage;
  persistence: "memory" | "indexeddb" | "file";
  ownership: Ownership;
  durability: Durability;
  deferredDelayMs: number;
  clock: Clock;
  readOnly: boolean;
  persisted: boolean; // nothing evicts what is stored: the browser promised it, or it is in files
  onWarning: (warning: StoreWarning) => void;
  onFirstWrite?: (() => void) | undefined;
}

export class LocalHost implements Host {
  readonly #o: LocalHostOptions;
  readonly #queue: CommitQueue;
  readonly #checkpointer: Checkpointer | undefined;
  readonly #events = new Emitter<StoreEvents>();
  readonly #unlisten: () => void;
  #lastPersistedAt: Date | undefined;
  #persisted: boolean;
  #onFirstWrite: (() => void) | undefined;
  readonly #damage: readonly StoreDamage[]; // asked for once: an engine that broke can't say it any more
  readonly #refusal: StoreError | undefined; // of every write, in a store that is open for reading only
  #closing: Promise<void> | undefined;

  // Reads the log into the engine. On failure everything given in is closed and released.
  static async open(options: LocalHostOptions): Promise<LocalHost> {
    const { engine, storage, ownership } = options;
    try {
      return new LocalHost(options, await recover(engine, storage));
    } catch (error) {
      await storage.close().catch(() => {});
      engine.close();
      ownership.release();
      throw error;
    }
  }

  private constructor(options: LocalHostOptions, orphans: readonly number[]) {
    this.#o = options;
    this.#persisted = options.persisted;
    this.#onFirstWrite = options.onFirstWrite;
    this.#damage = options.engine.damage();
    this.#refusal = refusal(options);
    this.#queue = new CommitQueue({
      engine: options.engine,
      storage: options.storage,
      durability: options.durability,
      deferredDelayMs: options.deferredDelayMs,
      now: () => options.clock.now(),
      hidden,
      onStored: (bytes) => this.#stored(bytes),
      onPersistError: (error, retryInMs) => this.#persistError(error, retryInMs),
    });
    // Nothing is removed from a damaged log; in memory there is none.
    if (options.persistence !== "memory" && !this.#readOnly) {
      const onFailure = (error: unknown) => this.#checkpointFailed(error);
      this.#checkpointer = new Checkpointer({ ...options, orphans, onFailure });
    }
    this.#unlisten = onLeaving(() => this.#queue.storeNow());
  }

  // ---- Transport ------------------------------------------------------------------------------------------------------

  read(block: Uint8Array): Uint8Array {
    if (this.#closing !== undefined) throw this.#closed();
    return this.#o.engine.read(block);
  }

  handle(block: Uint8Array): Uint8Array {
    if (this.#closing !== undefined) throw this.#closed();
    return this.#o.engine.handle(block, this.now());
  }

  write(block: Uint8Array, durability?: Durability, signal?: AbortSignalLike): Promise<Uint8Array> {
    if (this.#closing !== undefined) return Promise.reject(this.#closed());
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    this.#onFirstWrite?.();
    this.#onFirstWrite = undefined;
    return this.#queue.write(block, durability, signal);
  }

  now(): number {
    return this.#o.clock.now();
  }

  // ---- The store's own handle -------------------------------------------------------------------------------------------

  get status(): StoreStatus {
    return {
      state: this.#closing !== undefined ? "closed" : this.#readOnly ? "read-only" : "open",
      persistence: this.#o.persistence,
      owner: "self",
      pendingBytes: this.#queue.pendingBytes,
      lastPersistedAt: this.#lastPersistedAt,
      persisted: this.#persisted,
      damage: this.#damage,
    };
  }

  async flush(): Promise<void> {
    if (this.#closing !== undefined) throw this.#closed();
    await this.#queue.flush();
  }

  async stats(): Promise<StoreStats> {
    if (this.#closing !== undefined) throw this.#closed();
    const stats = this.#o.engine.stats();
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

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(event, listener);
  }

  // The storage made a lost connection anew.
  reopened(): void {
    this.#events.emit("reopened", { at: new Date(this.now()) });
  }

  // The browser promised not to evict this origin's storage.
  setPersisted(): void {
    this.#persisted = true;
    this.#events.emit("status", this.status);
  }

  // Stores what is pending, then lets everything go, even if storing fails. Then, and only if acknowledged writes are
  // lost by it, it rejects.
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { engine, storage, ownership } = this.#o;
    let lost: unknown;
    try {
      await this.#queue.flush();
    } catch (error) {
      if (this.#queue.pendingBytes > 0) lost = error;
    }
    this.#unlisten();
    this.#queue.stop(this.#closed());
    await this.#checkpointer?.stop();
    await storage.close().catch(() => {});
    engine.close();
    ownership.release();
    this.#events.emit("status", this.status);
    this.#events.clear();
    if (lost !== undefined) throw lost;
  }

  // ---- Inside -----------------------------------------------------------------------------------------------------------

  get #readOnly(): boolean {
    return this.#refusal !== undefined || this.#queue.failed !== undefined;
  }

  #stored(bytes: number): void {
    this.#lastPersistedAt = new Date(this.now());
    this.#checkpointer?.noteStored(bytes);
    if (this.#o.persistence !== "memory") {
      this.#events.emit("persisted", { at: this.#lastPersistedAt });
    }
  }

  #persistError(error: Error, retryInMs: number | undefined): void {
    const pendingBytes = this.#queue.pendingBytes;
    this.#events.emit("persist-error", { error, pendingBytes, retryInMs });
    if (retryInMs === undefined) this.#events.emit("status", this.status); // read-only from now on
  }

  #checkpointFailed(error: unknown): void {
    const message = `The log could not be shortened, and grows until it can: ${String(error)}`;
    this.#o.onWarning({ code: "CheckpointFailed", message });
  }

  #closed(): StoreError {
    return new StoreError("StoreClosed", `The store "${this.#o.name}" is closed.`);
  }
}

function refusal({ name, engine, readOnly }: LocalHostOptions): StoreError | undefined {
  if (readOnly) {
    return new StoreError("NotSupported", `The store "${name}" is open for reading only.`, {
      hint: "It was opened with readOnly: true.",
    });
  }
  if (engine.readOnly) {
    return new StoreError("Corrupted", `The store "${name}" is damaged and takes no writes.`, {
      hint: "status.damage says what is missing; copy what can be read, then delete the store.",
    });
  }
  return undefined;
}

// Resolves to the parts that no manifest names.
async function recover(engine: Engine, storage: LogStorage): Promise<number[]> {
  let began = false; // there is a manifest or a segment
  const orphans = await storage.load({
    manifest(bytes) {
      began = bytes !== undefined;
      const parts = engine.recover(bytes);
      return { parts, firstSegment: engine.firstLiveSequence };
    },
    part(id, bytes) {
      if (bytes !== undefined) engine.loadPart(id, bytes); // the engine reports those that never come
    },
    segment(sequence, bytes) {
      began = true;
      if (bytes !== undefined) engine.replay(sequence, bytes);
      else engine.reportDamage({ file: segmentName(sequence), message: "is not a file of bytes" });
    },
  });
  // Segments go only when a manifest covers them: parts by themselves are what is left of a store, not of a checkpoint.
  if (!began && orphans.length > 0) {
    engine.reportDamage({ file: manifestName, message: "is missing" });
  }
  engine.recovered();
  return orphans;
}

// ---- The page ---------------------------------------------------------------------------------------------------------
// In a worker or in Node there is no document, and none of this applies.

function hidden(): boolean {
  return typeof document !== "undefined" && document.visibilityState === "hidden";
}

// Calls back whenever the page may be about to go for good.
function onLeaving(callback: () => void): () => void {
  if (typeof document === "undefined") return () => {};
  const onVisibility = () => {
    if (hidden()) callback();
  };
  document.addEventListener("visibilitychange", onVisibility);
  globalThis.addEventListener("pagehide", callback);
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    globalThis.removeEventListener("pagehide", callback);
  };
}
