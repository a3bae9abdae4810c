// The store inside the WebAssembly module, as typed, synchronous calls.
//
// core/store/store.h describes how writes, checkpoints and opening work; the names here are the
// same. Requests and responses cross as bytes. A request that fails has an error response; any
// other failure throws a StoreError.

import type { RequestDescription } from "../types.ts";
import type { AccountSettings, Hmac } from "./entitable.mjs";
import { compileModule, type WasmSource } from "./module.ts";
import type { PartsNeeded } from "./parts-needed.ts";
import { WasmEngine } from "./wasm-engine.ts";

export { DeferredModuleNeeded, PartsNeeded } from "./parts-needed.ts";

export interface PartInfo {
  id: number;
  bytes: number; // bytes of its packed rows, about the size of the file
}

export interface Damage {
  file: string; // "manifest", "part-…", "wal-…"
  message: string;
}

// The byte arrays in the following results are copies, never views of wasm memory.
export interface SealedSegments {
  sequence: number; // of the first segment
  segments: Uint8Array[]; // with consecutive sequences
}
export interface Claim {
  sequence: number;
  bytes: Uint8Array;
}
export interface CheckpointPart {
  id: number;
  bytes: Uint8Array;
}
export interface CheckpointEnd {
  manifest: Uint8Array;
  segmentsBelow: number; // the manifest covers the segments with a smaller sequence
  obsoleteParts: number[];
}

export interface EngineStats {
  tables: { name: string; rows: number; bytes: number }[];
  rows: number;
  bytes: number;
  memoryBytes: number;
  lastCommit: number;
  pendingCommits: number;
  pendingBytes: number;
  nextSequence: number;
  epoch: number;
  segmentsSinceCheckpoint: number;
  segmentBytesSinceCheckpoint: number;
}

export interface RestoreReport {
  tables: number;
  entities: number;
}

// An error to simulate. For a code of the service, status and message default to the service's.
export interface SimulatedError {
  code: string;
  status?: number; // 300 to 599
  message?: string;
  // Response headers such as Retry-After. They replace headers of the same name.
  headers?: Readonly<Record<string, string>>;
}

// The outcome of a request according to its response: the HTTP status for a client that requests no
// content. For an entity group transaction with a failed operation: the status of that operation.
export interface ResponseOutcome {
  status: number;
  code?: string; // the error code; absent: the request succeeded
}

export interface RowCounts {
  read: number; // rows examined
  returned: number;
  partition?: string; // the partition of these rows, while emulateServiceScans() is on
}

export interface StagedResponses {
  responses: Uint8Array[]; // one per message, in order; copies (byte-arena.ts)
  failed: boolean[]; // whether the message changes nothing: it failed, or it only reads
  changes: boolean; // false: there is nothing to seal or publish
}

export interface WriteResult {
  response: Uint8Array; // a view of wasm memory, valid until the next call
  changes: boolean; // false: there is nothing to seal
}

// A call that returns PartsNeeded did nothing; the caller loads parts and repeats the call.
export interface Engine {
  // Opening: recover(), then replay() for each segment in sequence, then finishRecovery(). Throws
  // StoreError FormatTooNew. recover() returns the parts of the manifest.
  recover(manifest: Uint8Array | undefined): PartInfo[];
  replay(sequence: number, bytes: Uint8Array): void;
  finishRecovery(): void;
  // Loads a part. Allowed at any time; a part that is no longer needed is ignored. Without bytes,
  // the file is missing, which is damage.
  loadPart(id: number, bytes: Uint8Array | undefined): void;
  // Returns the parts that must be loaded before rows and bytes in stats() are exact, because
  // segments have changed some of their rows.
  uncountedParts(): PartsNeeded | undefined;
  // Limits the memory for rows, approximately; 0: no limit.
  setMemoryLimit(bytes: number): void;
  // Unloads parts that were not used recently, if memory exceeds the limit.
  trim(): void;
  readonly firstLiveSequence: number;
  readonly readOnly: boolean;
  damage(): Damage[];
  reportDamage(damage: Damage): void;

  // Registers `reads`, which runs once, before the next call of a function other than read(). So a
  // caller can defer reads and still make them before anything changes.
  deferReads(reads: () => void): void;
  flushDeferredReads(): void; // runs the registered reads now

  // Executes an RPC request message that reads, and returns its response message. The response is a
  // view of wasm memory, valid until the next call: decode it at once or copy it.
  read(request: Uint8Array): Uint8Array | PartsNeeded;

  // Sets the account that the REST entry point serves. `hmac` computes HMAC-SHA256, if requests are
  // authorized. Its arguments are views of wasm memory, valid only during the call.
  configure(account: AccountSettings, hmac: Hmac | undefined): void;
  // Executes an HTTP request message that reads. The response is a view, like that of read().
  handle(request: Uint8Array, nowMs: number): Uint8Array | PartsNeeded;

  // Stages request messages of both entry points. The caller must load all parts of PartsNeeded.
  stage(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded;
  // Stages request messages and publishes the changes at once. If it throws, nothing was published.
  write(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded;
  // Like write() with one message, without copying the response.
  writeOne(request: Uint8Array, nowMs: number): WriteResult | PartsNeeded;

  // The next three functions serve request logs and simulated errors. They take a request message
  // of either entry point, with or without a call around it, and change nothing in the store.
  //
  // Describes the request without executing it. The same operation has the same description for
  // both entry points.
  describeRequest(request: Uint8Array): RequestDescription;
  // Returns the response with which the service would report `error`. Throws StoreError
  // ValidationFailed if no response can express it.
  makeErrorResponse(
    request: Uint8Array,
    error: SimulatedError,
    nowMs: number,
  ): Uint8Array<ArrayBuffer>;
  responseOutcome(request: Uint8Array, response: Uint8Array): ResponseOutcome;
  // Makes later pages end after this share of their content (Store::set_page_fraction); 1: normal
  // pages.
  truncatePages(share: number): void;
  // Makes queries read as many rows as the real service would, or turns that off.
  emulateServiceScans(on: boolean): void;
  // The row counts of the last read() or handle(). Read this property in the same task.
  readonly lastRead: RowCounts;

  publish(): void;
  discard(): void;
  // Seals all commits that are not stored yet. Each segment has at most `segmentBytes` bytes,
  // unless it has only one commit.
  seal(segmentBytes?: number): SealedSegments | undefined;
  claim(): Claim; // once this segment is stored, the engine owns the log
  markStored(sequence: number): void; // all sealed segments up to this one are stored

  // Returns the approximate size of the rows that a checkpoint would write now. Visits every leaf.
  checkpointBytes(): number;
  // Returns false if there is nothing to do. The caller must load all parts of PartsNeeded.
  beginCheckpoint(): boolean | PartsNeeded;
  nextCheckpointPart(): CheckpointPart | undefined; // undefined: there are no more parts
  finishCheckpoint(): CheckpointEnd;
  checkpointCommitted(): void;
  abandonCheckpoint(): void;

  // Writes the published version as a file, chunk by chunk; undefined: the file is complete.
  beginSnapshot(): void;
  nextSnapshotChunk(): Uint8Array<ArrayBuffer> | PartsNeeded | undefined;
  endSnapshot(): void;
  // Reads a snapshot file, chunk by chunk. Throws StoreError Corrupted or FormatTooNew. After
  // finishRestore(), the caller either replaces the content (beginReplace(), then the functions of
  // a checkpoint from nextCheckpointPart() on), or merges (stageMerge() until it returns false).
  beginRestore(): void;
  restore(chunk: Uint8Array): void;
  finishRestore(): RestoreReport;
  // `call`: number and client id, as in a call's header. Returns false if the call was already
  // applied.
  beginReplace(call: Uint8Array | undefined): boolean;
  stageMerge(nowMs: number): boolean | PartsNeeded;
  endRestore(): void;

  // Versions, in constant time; versions share the memory of what they have in common. Store::fork
  // in core/store/store.h states which stores have them. The fork is a new engine in the same
  // module instance; the caller must close it too.
  fork(): Engine;
  retainVersion(): number; // retains the published version and returns its number
  rollback(version: number): void;
  releaseVersion(version: number): void;

  stats(): EngineStats;
  verify(): string; // the first violated invariant; empty: all hold
  // Links the deferred module, unless the module is complete (bindings/split.mjs). The functions
  // that cannot return PartsNeeded may need the deferred module, so the caller must await this
  // first; the functions for tables do not need it. Rejects with StoreError WasmLoadFailed or
  // WasmVersionMismatch; then nothing has changed, and the caller may retry.
  loadDeferredModule(): Promise<void>;
  // Opens the IndexedDB database of IDBFS whose name is the mount point.
  openIdbfsDatabase(mountPoint: string): Promise<IDBDatabase>;
  // Creates an engine with an empty store in a new module instance, complete if this one is.
  createEmpty(): Promise<Engine>;
  close(): void;
}

export interface EngineOptions {
  wasm?: WasmSource | undefined;
  // Loads the deferred module when it is needed. Default: the engine starts with the whole module.
  splitModule?: boolean;
  // URL of the deferred module. Default: in the folder of this file.
  deferredModuleUrl?: string | undefined;
}

// Creates an engine with an empty store in a new module instance.
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const { wasm, splitModule = false, deferredModuleUrl } = options;
  const engine = await WasmEngine.start(
    compileModule(wasm, splitModule ? "primary" : "complete"),
    deferredModuleUrl,
  );
  if (!splitModule) await engine.loadDeferredModule();
  return engine;
}
