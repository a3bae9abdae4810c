// The interface of the engine: the store inside the WebAssembly module, as typed, synchronous
// calls.
//
// Its functions have the names of core/store/store.h, which explains how writes, checkpoints and
// opening work. Requests and responses are messages (arrays of bytes). A request that fails gets an
// error response; any other failure throws a StoreError.

import type { RequestDescription } from "../types.ts";
import type { AccountSettings, Hmac } from "./entitable.mjs";
import { compileModule, type WasmSource } from "./module.ts";
import {
  type DeferredModuleName,
  type DeferredModuleUrls,
  deferredModuleNames,
} from "./module-urls.ts";
import type { PartsNeeded } from "./parts-needed.ts";
import { WasmEngine } from "./wasm-engine.ts";

export { DeferredModuleNeeded, PartsNeeded } from "./parts-needed.ts";
export type { DeferredModuleName, DeferredModuleUrls };

export interface PartInfo {
  id: number;
  bytes: number; // size of its packed rows, about that of the file
}

export interface Damage {
  file: string; // "manifest", "part-…", "wal-…"
  message: string;
}

export interface KnownCalls {
  numbers: number[]; // of the newest calls, in the order in which they were applied
  droppedThrough: number; // Store::calls_dropped_through
}

// The byte arrays in the following results are copies, not views of wasm memory.
export interface SealedSegments {
  sequence: number; // the number of the first segment; the others follow without gaps
  segments: Uint8Array[]; // with consecutive sequences
}
export interface ClaimSegment {
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
  historyFrom?: number; // of those, the segments from this sequence on are kept as history
  obsoleteParts: number[];
}

// How much of the covered log is kept as history, while durable readers of the change feed need it.
export interface HistoryLimits {
  readonly bytes: number;
  readonly ageMs: number;
}

export interface InterimCheckpoint {
  manifest: Uint8Array;
  extraPart: CheckpointPart | undefined; // must be stored before the manifest
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

// A service error to simulate. For a code of the service, status and message have the service's
// values by default.
export interface SimulatedError {
  code: string;
  status?: number; // 300 to 599
  message?: string;
  // Response headers, such as Retry-After. They replace headers with the same name.
  headers?: Readonly<Record<string, string>>;
}

// The outcome of a request, derived from its response. `status`: the HTTP status that a client gets
// that asks for no content. For a transaction that failed, the status of the failed operation.
export interface ResponseOutcome {
  status: number;
  code?: string; // the error code; absent: the request succeeded
}

export interface RowCounts {
  read: number; // rows examined
  returned: number;
  partition?: string; // the partition of these rows; only while emulateServiceScans() is on
}

export interface StagedResponses {
  responses: Uint8Array[]; // one per message, in order; copies (byte-arena.ts)
  failed: boolean[]; // true: the message changes nothing, because it failed or only reads
  onlyDeletes: boolean[]; // true: the message only deletes rows or a table
  changes: boolean; // false: there is nothing to seal or publish
}

// Changes of one table in Engine.applySynced().
export interface SyncedPart {
  table: number; // as in readSynced()
  message: Uint8Array; // a write, whose table is the synced one: insertOrReplace and delete only
  timestamps: readonly bigint[]; // of its operations, in ticks of the store; 0: the store chooses
}

export interface WriteResult {
  response: Uint8Array; // a view, like that of read()
  changes: boolean; // false: there is nothing to seal
  onlyDeletes: boolean; // true: the message only deletes rows or a table
}

// If a function returns PartsNeeded, it has done nothing. The caller must load the parts and repeat
// the call.
export interface Engine {
  // Opening: call recover(), then replaySegment() for each segment in the order of the numbers,
  // then finishRecovery(). recover() returns the parts that the manifest names. Throws StoreError
  // FormatTooNew.
  //
  // Once the changes of segments take more than `changesMax` bytes of memory, segments are checked
  // but not applied. firstUnappliedSegment is then the first of these; otherwise it is undefined.
  // The caller must claim the log, write a checkpoint, call resumeRecovery(), replay segments from
  // firstUnappliedSegment on, and call finishRecovery(), until all segments are applied.
  recover(manifest: Uint8Array | undefined, changesMax?: number): PartInfo[];
  replaySegment(sequence: number, bytes: Uint8Array): void;
  finishRecovery(): void;
  readonly firstUnappliedSegment: number | undefined;
  resumeRecovery(changesMax: number): void;
  // Loads a part. May be called at any time; a part that is not needed is ignored. `bytes`
  // undefined: the file is missing, which is damage.
  loadPart(id: number, bytes: Uint8Array | undefined): void;
  // Returns the parts that must be loaded before rows and bytes in stats() are exact: segments have
  // changed some of their rows. undefined: the counts are exact.
  partsWithInexactCounts(): PartsNeeded | undefined;
  // Sets the approximate limit of the memory for rows; 0: no limit.
  setMemoryLimit(bytes: number): void;
  // If memory exceeds the limit, unloads parts that were not used recently.
  trimMemory(): void;
  // If there is a limit and memory exceeds `bytes`, unloads parts likewise, but calls may still
  // wait for parts: writes do not unload parts that a read has needed since the last trimMemory().
  trimMemoryTo(bytes: number): void;
  readonly lastCommit: number; // the number of the newest published commit
  readonly firstLiveSequence: number;
  // The segments from this one up to firstLiveSequence are kept as history, for durable readers of
  // the change feed.
  readonly firstKeptSequence: number;
  readonly isDamaged: boolean;
  damage(): Damage[];
  reportDamage(damage: Damage): void;

  // Registers `reads`. It runs once, before the next call of any function except read(). A caller
  // can thus defer reads and still run them before anything changes.
  runBeforeNextChange(reads: () => void): void;
  // Registers `take`. It runs once, before the next call of any function except read() and
  // stageAndPublishOne().
  runBeforeOtherCalls(take: () => void): void;
  runPendingReads(): void; // runs the registered functions now

  // Executes an RPC request message that reads, and returns its response message. The response is a
  // view of wasm memory, which the next call of any function overwrites.
  read(request: Uint8Array): Uint8Array | PartsNeeded;

  // Executes a request of a client that listens (core/rpc/listening_clients.h). The response is a
  // view like that of read().
  listen(client: number, request: Uint8Array): Uint8Array | PartsNeeded;
  // Called at the end of each call that may have changed what listeners see, or after which feeds
  // can be opened. `mustTake`: the changes should be taken before the next call.
  onChange: ((mustTake?: boolean) => void) | undefined;
  // Called with onChange(), for the code that syncs tables. Must not throw or call the engine.
  onCommit: (() => void) | undefined;

  // Sets the account that the REST entry point serves. `hmac` computes HMAC-SHA256 to check
  // signatures; its arguments are views of wasm memory, valid only during the call. undefined:
  // signatures are not checked.
  configureAccount(account: AccountSettings, hmac: Hmac | undefined): void;
  // Runs an HTTP request message that reads. The response is a view like that of read().
  readHttp(request: Uint8Array, nowMs: number): Uint8Array | PartsNeeded;

  // Stages request messages, RPC and HTTP mixed. If it returns PartsNeeded, all of these parts must
  // be loaded before the next attempt.
  stage(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded;
  // Stages request messages and publishes their changes. If it throws, it has published nothing.
  stageAndPublish(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded;
  // Like write() with a single message, but does not copy the response. With `client` (16 bytes)
  // and `callNumber`, the message is wrapped in a call (util/call-message.ts).
  stageAndPublishOne(
    request: Uint8Array,
    nowMs: number,
    client?: Uint8Array,
    callNumber?: number,
  ): WriteResult | PartsNeeded;
  // Returns what is known of the client's published calls.
  knownCalls(client: Uint8Array): KnownCalls;

  // Synced tables (core/store/sync_tables.h). All but hasSyncedTables and hasPendingOperations()
  // need the deferred module "sync", and do not report it: the caller must await
  // loadDeferredModule("sync") first. Before enableSync(), writes of synced tables return
  // DeferredModuleNeeded, whose load() enables sync.
  readonly hasSyncedTables: boolean;
  enableSync(): void;
  // Begins or ends syncing a table. Stages the change, and publishes it if `publishes`. "begin"
  // fails if the table has rows. "end" fails while the table has pending operations; "discard" ends
  // syncing even then. Throws a RestError if the store refuses (core/store/sync_tables.h).
  setSynced(
    table: string,
    how: "begin" | "end" | "discard",
    publishes: boolean,
    nowMs: number,
  ): PartsNeeded | undefined;
  // Returns whether a synced table has operations that its remote does not have. They are lost if a
  // restore replaces the content.
  hasPendingOperations(): boolean | PartsNeeded;
  // Returns whether the entity of a write message with one operation matches the filter. Throws a
  // RestError if the filter is invalid, or names Timestamp.
  matchesFilter(filter: string, message: Uint8Array): boolean;
  // Executes a get or query message on a hidden table, or on the synced table, by its number
  // (core/rpc/sync_messages.h). The response is a view like that of read().
  readSynced(table: number, request: Uint8Array): Uint8Array | PartsNeeded;
  // Stages changes of a synced table and its hidden tables as one commit, which must follow
  // `seenCommit`, and publishes it if `publishes`. Returns whether anything changed, and so whether
  // there is a commit. Throws a RestError if the store refuses.
  applySynced(
    parts: readonly SyncedPart[],
    seenCommit: number,
    publishes: boolean,
    nowMs: number,
  ): boolean | PartsNeeded;

  // The next three functions serve request logs and simulated errors. They take any request
  // message, also inside a call (util/engine-message-kinds.ts), and change nothing in the store.
  //
  // Describes a request without running it. RPC and HTTP requests for the same operation have the
  // same description.
  describeRequest(request: Uint8Array): RequestDescription;
  // Returns the response by which the service would report `error`. Throws StoreError
  // ValidationFailed if that is not possible.
  makeErrorResponse(
    request: Uint8Array,
    error: SimulatedError,
    nowMs: number,
  ): Uint8Array<ArrayBuffer>;
  responseOutcome(request: Uint8Array, response: Uint8Array): ResponseOutcome;
  // Makes pages end after this share of their rows (Store::truncate_result_pages). 1 restores
  // normal pages.
  truncatePages(share: number): void;
  // Makes queries read as many rows as the real service would; false turns this off.
  emulateServiceScans(on: boolean): void;
  // The row counts of the last read() or readHttp(). Must be read before the next call.
  readonly lastReadRowCounts: RowCounts;

  publish(): void;
  discard(): void;
  // Seals all commits that are not stored yet: encodes them as segments. A segment has at most
  // `segmentBytes` bytes, unless it consists of a single commit. Returns undefined if there is
  // nothing to seal.
  seal(segmentBytes?: number): SealedSegments | undefined;
  makeClaimSegment(): ClaimSegment; // when this segment is stored, the engine owns the log
  markStored(sequence: number): void; // all sealed segments up to this number are stored

  // Returns about how many bytes of rows a checkpoint would write now. Visits every leaf of the
  // index.
  estimateCheckpointBytes(): number;
  // The memory that rows take, and how much of it no unloading can free. The latter visits every
  // leaf.
  readonly memoryBytes: number;
  unsavedMemory(): number;
  beginCheckpoint(): boolean; // false: there is nothing to write
  // Returns the next part to store, or the parts that must first be loaded with
  // loadPartForCheckpoint(). undefined: that was all.
  nextCheckpointPart(): CheckpointPart | PartsNeeded | undefined;
  markCheckpointPartStored(): void; // the part that nextCheckpointPart() returned is stored
  loadPartForCheckpoint(id: number, bytes: Uint8Array | undefined): void;
  // Returns a manifest that may be stored before the checkpoint ends, to remove obsolete parts when
  // space is short. It covers no segments. undefined: there is none now. REQUIRES: the last part is
  // marked as stored; before the manifest is stored, all stored segments survive a power failure.
  interimCheckpoint(): InterimCheckpoint | undefined;
  markInterimCheckpointCommitted(): void; // that manifest is stored
  finishCheckpoint(history: HistoryLimits, nowMs: number): CheckpointEnd;
  markCheckpointCommitted(): void;
  abandonCheckpoint(): number[]; // the parts that may be deleted

  // Writes the published version as a snapshot file, one chunk per call of nextSnapshotChunk().
  // undefined: the file is complete. beginSnapshot() returns the snapshot's number; several may be
  // open.
  beginSnapshot(): number;
  nextSnapshotChunk(snapshot: number): Uint8Array<ArrayBuffer> | PartsNeeded | undefined;
  endSnapshot(snapshot: number): void;
  // Reads a snapshot file. After each call of restoreChunk(), the caller stores the parts that
  // nextRestoredPart() returns, each before the next call, until it returns undefined. It throws
  // StoreError Corrupted or FormatTooNew. After finishRestoreInput(), the caller either replaces
  // the store's content or merges. To replace, it calls beginReplace(), then nextCheckpointPart()
  // and the other functions of a checkpoint. To merge, it calls stageRestoredRows() until that
  // returns false. endRestore() returns the stored parts that may be deleted.
  // Unless `synced` is empty, only the tables that it names are restored, and they begin to be
  // synced, with rows that their remote has had.
  beginRestore(synced: readonly string[]): void;
  restoreChunk(chunk: Uint8Array): void;
  nextRestoredPart(): CheckpointPart | undefined;
  finishRestoreInput(): RestoreReport;
  // `call`: client id and call number, as in a call's header. Returns false if that call was
  // already applied.
  beginReplace(call: Uint8Array | undefined): boolean;
  stageRestoredRows(nowMs: number): boolean | PartsNeeded;
  endRestore(): number[];

  // Versions. All functions take constant time, because versions share memory. Only some stores
  // have versions (Store::fork in core/store/store.h). A fork is a new engine in the same module
  // instance; it must be closed too.
  fork(): Engine;
  retainVersion(): number; // returns the number of the published version, which it retains
  rollbackToVersion(version: number): void;
  releaseVersion(version: number): void;

  stats(): EngineStats;
  verify(): string; // returns the first violated invariant; empty: all hold
  // Links a deferred module (module.ts). Has no effect if the module is complete. Rejects with
  // StoreError WasmLoadFailed or WasmVersionMismatch. Then nothing has changed, and the caller may
  // try again.
  //
  // listen() needs "live"; if it is not linked, listen() returns DeferredModuleNeeded, which is a
  // PartsNeeded. So does nextSnapshotChunk(), which needs "snapshot", and so do read(), readHttp(),
  // stage(), stageAndPublish() and stageAndPublishOne() if they need "rest". The following do not
  // report what they need, so the caller must await this function first. describeRequest(),
  // makeErrorResponse(), responseOutcome(), the functions of versions, and queries while
  // emulateServiceScans() is on need "rest". verify() needs "snapshot". beginRestore(),
  // restoreChunk(), nextRestoredPart(), finishRestoreInput(), beginReplace() and
  // stageRestoredRows() need both. All other functions work without a deferred module.
  loadDeferredModule(name: DeferredModuleName): Promise<void>;
  // Whether no call needs loadDeferredModule(name) any more.
  hasDeferredModule(name: DeferredModuleName): boolean;
  // "fails": for one of the deferred modules, the last attempt to load it has failed. "unused":
  // none was loaded. It does not say which module failed, so a tab that lacks one of them is not
  // asked for calls that need another one. After a redeployment, a call may thus be rejected though
  // an open tab has loaded the module that it needs. This is accepted: it takes two tabs that have
  // each loaded another module before, and it ends when one of them is loaded again.
  readonly moduleLoading: "unused" | "works" | "fails";
  // Opens the IndexedDB database of IDBFS (storage/idbfs-database.ts). Its name is the mount point.
  openIdbfsDatabase(mountPoint: string): Promise<IDBDatabase>;
  // Creates an engine with an empty store, in another module instance, which has the deferred
  // modules that this engine's has.
  createEmptyEngine(): Promise<Engine>;
  close(): void;
}

export interface EngineOptions {
  wasm?: WasmSource | undefined;
  // The deferred modules to load at once; the others are loaded when they are needed. Default: all,
  // so that the engine can execute all calls.
  preload?: readonly DeferredModuleName[];
  // Default: the files in this folder.
  deferredModuleUrls?: DeferredModuleUrls | undefined;
  // The instance of a closed engine is used again if its memory has at most this size, in bytes.
  // Default: 0.
  reusedBytesMax?: number;
}

// Creates an engine with an empty store, in a new module instance.
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const { wasm, preload = deferredModuleNames, deferredModuleUrls, reusedBytesMax } = options;
  const engine = await WasmEngine.start(compileModule(wasm), deferredModuleUrls, reusedBytesMax);
  await Promise.all(preload.map((name) => engine.loadDeferredModule(name)));
  return engine;
}
