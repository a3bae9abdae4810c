// The store inside the WebAssembly module, as typed calls. Bytes cross, never handles into the
// index.
//
// The life of a write, a checkpoint and an opening is written in core/store/store.h; the names here
// are the same. Every call is synchronous. A failure of this machine (not of a request: those are
// responses) is a StoreError.

import { StoreError, type StoreErrorCode, serviceError } from "../errors.ts";
import type { RequestDescription } from "../types.ts";
import { copyToArena } from "../util/byte-arena.ts";
import { callHeaderBytes, callKind, httpRequestKind, requestKind } from "../util/message-kinds.ts";
import { ViewCache } from "../util/view-cache.ts";
import type { AccountSettings, EntitableModule, Hmac, ResultAddress } from "./entitable.mjs";
import {
  compileModule,
  type Instantiated,
  instantiateCompiled,
  linkDeferredModule,
  type WasmSource,
} from "./module.ts";

export interface PartInfo {
  id: number;
  bytes: number; // packed bytes of its rows: about the size of the file
}

export interface Damage {
  file: string; // "manifest", "part-…", "wal-…"
  message: string;
}

// What a call gives that did nothing, because parts are not in memory: load the first one, and as
// many of the others as seems good (they are what it would ask for next), then make the same call
// again.
export class PartsNeeded {
  readonly ids: readonly number[];

  constructor(ids: readonly number[]) {
    this.ids = ids;
  }
}

// The same where it is the module's second half that is not there: bring() it, then make the same
// call again.
export class DeferredModuleNeeded extends PartsNeeded {
  readonly load: () => Promise<void>;
  readonly isNeededBy: (request: Uint8Array) => boolean; // of those of a group

  constructor(load: () => Promise<void>, isNeededBy: (request: Uint8Array) => boolean) {
    super([]);
    this.load = load;
    this.isNeededBy = isNeededBy;
  }
}

// The bytes of these are exact copies, never views of wasm memory.
export interface SealedSegments {
  sequence: number; // of the first
  segments: Uint8Array[]; // one behind the other
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
  segmentsBelow: number; // segments with a smaller sequence are covered by the manifest
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

// How the service is to have failed. A code that it knows brings its status and its message.
export interface SimulatedError {
  code: string;
  status?: number; // 300 to 599
  message?: string;
  // such as Retry-After; instead of those of the same name
  headers?: Readonly<Record<string, string>>;
}

// What a reply says became of a request, as HTTP says it to a client that asks for no content. Of a
// batch of which an operation failed: of that.
export interface ResponseOutcome {
  status: number;
  code?: string; // absent: it was done
}

export interface RowCounts {
  read: number; // looked at
  returned: number;
  partition?: string; // that they are of, if emulateServiceScans()
}

export interface StagedResponses {
  responses: Uint8Array[]; // one per block, in order; copies (slab.ts)
  failed: boolean[]; // whether the block changes nothing: it was refused, or only read
  changes: boolean; // false: there is nothing to seal or publish
}

export interface WriteResult {
  response: Uint8Array; // dies with the next call
  changes: boolean; // false: there is nothing to seal
}

export interface Engine {
  // Opening: recover, replay each segment in sequence, recovered. Throws StoreError FormatTooNew.
  recover(manifest: Uint8Array | undefined): PartInfo[];
  replay(sequence: number, bytes: Uint8Array): void;
  finishRecovery(): void;
  // At any time; what nobody needs any more is ignored. No bytes: the file is missing, which is
  // damage.
  loadPart(id: number, bytes: Uint8Array | undefined): void;
  // The parts without which rows and bytes in stats() are not exact, since the log has changed some
  // of their rows.
  uncountedParts(): PartsNeeded | undefined;
  // How much memory rows may take, about; 0: as much as there is. trim() drops parts that were not
  // used lately.
  setMemoryLimit(bytes: number): void;
  trim(): void;
  readonly firstLiveSequence: number;
  readonly readOnly: boolean;
  damage(): Damage[];
  reportDamage(damage: Damage): void;

  // `reads` is called before the next call of anything but read(): who puts off reads can make them
  // before something changes.
  deferReads(reads: () => void): void;
  flushDeferredReads(): void; // calls it now

  // A read block (client/block.ts) in, a reply block out. The reply is a view of wasm memory, valid
  // only until the next call: decode it at once or copy it.
  read(request: Uint8Array): Uint8Array | PartsNeeded;

  // Whom the REST door answers for. `hmac`: HMAC-SHA256, if anything is to be authorized; what it
  // is given are views of wasm memory that die with the call.
  configure(account: AccountSettings, hmac: Hmac | undefined): void;
  // The block of an HTTP request that reads (rest/block.ts), as read().
  handle(request: Uint8Array, nowMs: number): Uint8Array | PartsNeeded;

  // Blocks of writes of either door. Of needed parts all are needed.
  stage(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded;
  // The same, and published at once: a single write is done where it stands. What throws was not
  // published.
  write(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded;
  // The same for one block, without a copy of the reply.
  writeOne(request: Uint8Array, nowMs: number): WriteResult | PartsNeeded;
  // For whoever logs requests or fails some of them. Of a block of either door, in a call or not:
  // what it asks for, without doing it (the same of the same call, whichever door it comes
  // through); the reply that the service would give if it failed so, which its client makes the
  // same error of (StoreError ValidationFailed if no reply can say that); and what a reply says
  // became of it. Nothing of all this changes the store.
  describeRequest(request: Uint8Array): RequestDescription;
  makeErrorResponse(
    request: Uint8Array,
    refusal: SimulatedError,
    nowMs: number,
  ): Uint8Array<ArrayBuffer>;
  responseOutcome(request: Uint8Array, response: Uint8Array): ResponseOutcome;
  // Pages end after this share of what they would hold (core/store/store.h), until another share is
  // given; 1: as ever.
  truncatePages(share: number): void;
  // Queries read what the real service would (likewise), until that is taken back.
  emulateServiceScans(on: boolean): void;
  // What the last read() or handle() took: ask in the same turn.
  readonly lastRead: RowCounts;

  publish(): void;
  discard(): void;
  // All that is not stored yet, in segments of so many bytes at most, but of one commit at least.
  seal(segmentBytes?: number): SealedSegments | undefined;
  claim(): Claim; // makes this engine the log's owner, once it is stored
  markStored(sequence: number): void; // all that was sealed, up to this segment

  // of the rows that a checkpoint would write now, about; looks at every leaf
  checkpointBytes(): number;
  // of needed parts all are needed; false: there is nothing to do
  beginCheckpoint(): boolean | PartsNeeded;
  nextCheckpointPart(): CheckpointPart | undefined;
  finishCheckpoint(): CheckpointEnd;
  checkpointCommitted(): void;
  abandonCheckpoint(): void;

  // The published version as a file, piece by piece; undefined: that was all.
  beginSnapshot(): void;
  nextSnapshotChunk(): Uint8Array<ArrayBuffer> | PartsNeeded | undefined;
  endSnapshot(): void;
  // Such a file, piece by piece: StoreError Corrupted or FormatTooNew. Then either replace, on with
  // nextCheckpointPart; or merge, until there is nothing left to stage.
  beginRestore(): void;
  restore(chunk: Uint8Array): void;
  finishRestore(): RestoreReport;
  beginReplace(call: Uint8Array | undefined): boolean; // false: this call was answered before
  stageMerge(nowMs: number): boolean | PartsNeeded;
  endRestore(): void;

  // Versions (store.h says of which stores). Constant time; what versions have in common is in
  // memory once. The fork is another engine in the same module instance, and is to be closed like
  // every other.
  fork(): Engine;
  retainVersion(): number; // the published version
  rollback(version: number): void;
  releaseVersion(version: number): void;

  stats(): EngineStats;
  verify(): string; // empty: every invariant holds
  // Brings the second half of the module, if it came in halves (bindings/split.mjs). What tables
  // need is in the first; this is to have resolved before anything else is called that can't answer
  // with needed parts. Rejects with StoreError WasmLoadFailed or WasmVersionMismatch: then
  // everything is as before, and it may be tried again.
  loadDeferredModule(): Promise<void>;
  // The IndexedDB connection of IDBFS for a mount point (its database has that name).
  openIdbfsDatabase(mountPoint: string): Promise<IDBDatabase>;
  createEmpty(): Promise<Engine>; // another one, with an empty store in it, and as complete
  close(): void;
}

export interface EngineOptions {
  wasm?: WasmSource | undefined;
  splitModule?: boolean; // the second one when it is called for; otherwise the engine is complete
  // URL of the deferred module. Default: in the folder of this file.
  deferredModuleUrl?: string | undefined;
}

// A module instance of its own with an empty store in it.
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const { wasm, splitModule = false, deferredModuleUrl } = options;
  const engine = await WasmEngine.start(
    compileModule(wasm, splitModule ? "primary" : "complete"),
    deferredModuleUrl,
  );
  if (!splitModule) await engine.loadDeferredModule();
  return engine;
}

// Status of a CallResult (bindings/handle.h), whose words are: status, address, size, value, number
// (two words).
const statusDone = 0;
const statusNothing = 1;
const statusFailed = 2;
const partsNeeded = 4;

const unlimitedBytes = 0xffff_ffff;

// The kinds of blocks that the second half answers (core/rpc/LAYOUT.md): HTTP, as it is or in a
// call, and plans.

function isHttpRequest(request: Uint8Array): boolean {
  return request[request[0] === callKind ? callHeaderBytes : 0] === httpRequestKind;
}

// What an engine shares with its forks.
class ModuleInstance {
  readonly module: EntitableModule;
  readonly code: WebAssembly.Module;
  readonly deferredModuleUrl: string | undefined;
  readonly needed = new DeferredModuleNeeded(() => this.loadDeferredModule(), isHttpRequest);
  hasTrapped = false; // something trapped in it
  #primaryExports: WebAssembly.Exports | undefined; // that waits for the second
  #completing: Promise<void> | undefined;

  constructor(
    { module, exports }: Instantiated,
    code: WebAssembly.Module,
    deferredModuleUrl: string | undefined,
  ) {
    this.module = module;
    this.code = code;
    this.deferredModuleUrl = deferredModuleUrl;
    this.#primaryExports = exports;
  }

  get isComplete(): boolean {
    return this.#primaryExports === undefined;
  }

  loadDeferredModule(): Promise<void> {
    if (this.#primaryExports === undefined) return Promise.resolve();
    this.#completing ??= linkDeferredModule(this.#primaryExports, this.deferredModuleUrl)
      .then(() => {
        this.#primaryExports = undefined;
      })
      .finally(() => {
        this.#completing = undefined;
      });
    return this.#completing;
  }
}

class WasmEngine implements Engine {
  readonly #instance: ModuleInstance;
  readonly #module: EntitableModule; // the instance's: at hand, since reads are short
  #handle: number; // 0: closed
  #deferredReads: (() => void) | undefined; // put off until the next call
  readonly #views = new ViewCache(); // of results

  static async start(
    compiling: WebAssembly.Module | Promise<WebAssembly.Module>,
    deferredModuleUrl: string | undefined,
  ): Promise<WasmEngine> {
    const [instantiated, code] = await Promise.all([instantiateCompiled(compiling), compiling]);
    const handle = instantiated.module._entitable_open() >>> 0;
    if (handle === 0) throw outOfMemory();
    return new WasmEngine(new ModuleInstance(instantiated, code, deferredModuleUrl), handle);
  }

  private constructor(instance: ModuleInstance, handle: number) {
    this.#instance = instance;
    this.#module = instance.module;
    this.#handle = handle;
  }

  // ---- Opening ----------------------------------------------------------------------------------

  recover(manifest: Uint8Array | undefined): PartInfo[] {
    this.#writeInput(manifest ?? emptyBytes);
    const size = manifest?.length ?? 0;
    const has = manifest === undefined ? 0 : 1;
    this.#call((m, h) => m._entitable_recover(h, size, has));
    const numbers = this.#readU64s(this.#size / 8);
    const parts: PartInfo[] = [];
    for (let i = 0; i < numbers.length; i += 2) {
      parts.push({ id: numbers[i] as number, bytes: numbers[i + 1] as number });
    }
    return parts;
  }

  replay(sequence: number, bytes: Uint8Array): void {
    this.#writeInput(bytes);
    this.#call((m, h) => m._entitable_replay_segment(h, sequence, bytes.length));
  }

  uncountedParts(): PartsNeeded | undefined {
    const answer = this.#callForResult((m, h) => m._entitable_uncounted_parts(h));
    return answer instanceof PartsNeeded ? answer : undefined;
  }

  loadPart(id: number, bytes: Uint8Array | undefined): void {
    this.#writeInput(bytes ?? emptyBytes);
    const size = bytes?.length ?? 0;
    const isThere = bytes === undefined ? 0 : 1;
    this.#call((m, h) => m._entitable_load_part(h, id, size, isThere));
  }

  setMemoryLimit(bytes: number): void {
    this.#catchingTraps((m, h) => m._entitable_limit_memory(h, bytes));
  }

  trim(): void {
    this.#call((m, h) => m._entitable_trim_memory(h));
  }

  finishRecovery(): void {
    this.#call((m, h) => m._entitable_finish_recovery(h));
  }

  get firstLiveSequence(): number {
    return this.#catchingTraps((m, h) => m._entitable_first_live_sequence(h));
  }

  get readOnly(): boolean {
    return this.#catchingTraps((m, h) => m._entitable_read_only(h)) !== 0;
  }

  // Not asked where there is none, as a rule: an answer of objects takes its time.
  damage(): Damage[] {
    if (!this.readOnly) return [];
    return this.#requireResult(this.#catchingTraps((m, h) => m.damage(h)));
  }

  reportDamage(damage: Damage): void {
    const file = new TextEncoder().encode(damage.file);
    const text = new TextEncoder().encode(damage.file + damage.message);
    this.#writeInput(text);
    this.#call((m, h) => m._entitable_report_damage(h, file.length, text.length));
  }

  // ---- Reading and writing ----------------------------------------------------------------------

  deferReads(reads: () => void): void {
    if (this.#deferredReads !== reads) this.flushDeferredReads();
    this.#deferredReads = reads;
  }

  flushDeferredReads(): void {
    const reads = this.#deferredReads;
    this.#deferredReads = undefined;
    reads?.();
  }

  // Written out, without the closures of #call: a point read is a few microseconds.
  read(request: Uint8Array): Uint8Array | PartsNeeded {
    const handle = this.#requireHandle();
    if (!this.#instance.isComplete && request[0] === requestKind.explain)
      return this.#instance.needed;
    const module = this.#module;
    try {
      const input = module._entitable_reserve_input(handle, request.length) >>> 0;
      if (input === 0) throw outOfMemory();
      module.HEAPU8.set(request, input);
      const result = module._entitable_rpc_read(handle, request.length) >>> 2;
      const words = module.HEAPU32;
      this.#address = words[result + 1] as number;
      this.#size = words[result + 2] as number;
      if (words[result] === statusDone) return this.#view();
      if (words[result] === partsNeeded) return this.#partsNeeded();
      throw outOfMemory();
    } catch (error) {
      throw this.#errorFromTrap(error);
    }
  }

  configure(account: AccountSettings, hmac: Hmac | undefined): void {
    this.#requireResult(this.#catchingTraps((m, h) => m.configure(h, account, hmac)));
  }

  handle(request: Uint8Array, nowMs: number): Uint8Array | PartsNeeded {
    if (!this.#instance.isComplete) return this.#instance.needed;
    this.#writeInput(request);
    const answer = this.#callForResult((m, h) => m._entitable_rest_read(h, request.length, nowMs));
    return answer instanceof PartsNeeded ? answer : this.#view();
  }

  stage(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded {
    if (!this.#instance.isComplete && requests.some(isHttpRequest)) return this.#instance.needed;
    const size = this.#writeRequests(requests);
    const changes = this.#callForResult((m, h) =>
      m._entitable_stage(h, requests.length, size, nowMs),
    );
    return changes instanceof PartsNeeded
      ? changes
      : this.#responses(requests.length, changes !== 0);
  }

  write(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded {
    if (!this.#instance.isComplete && requests.some(isHttpRequest)) return this.#instance.needed;
    const size = this.#writeRequests(requests);
    const changes = this.#callForResult((m, h) =>
      m._entitable_stage_and_publish(h, requests.length, size, nowMs),
    );
    return changes instanceof PartsNeeded
      ? changes
      : this.#responses(requests.length, changes !== 0);
  }

  // Written out, as read().
  writeOne(request: Uint8Array, nowMs: number): WriteResult | PartsNeeded {
    if (!this.#instance.isComplete && isHttpRequest(request)) return this.#instance.needed;
    if (this.#deferredReads !== undefined) this.flushDeferredReads();
    const changes = this.#readResult(this.#callWriteOne(request, nowMs));
    if (changes instanceof PartsNeeded) return changes;
    const { HEAPU8: bytes, HEAPU32: words } = this.#module;
    const word = this.#address >>> 2;
    const response = this.#views.view(bytes, words[word] as number, words[word + 1] as number);
    return { response, changes: changes !== 0 };
  }

  #callWriteOne(request: Uint8Array, nowMs: number): ResultAddress {
    const handle = this.#requireHandle();
    const module = this.#module;
    try {
      const size = 4 + request.length;
      const input = module._entitable_reserve_input(handle, size) >>> 0;
      if (input === 0) throw outOfMemory();
      module.HEAPU32[input >>> 2] = request.length;
      module.HEAPU8.set(request, input + 4);
      return module._entitable_stage_and_publish(handle, 1, size, nowMs);
    } catch (error) {
      throw this.#errorFromTrap(error);
    }
  }

  // Lengths, then blocks; gives the size of all that.
  #writeRequests(requests: readonly Uint8Array[]): number {
    let size = requests.length * 4;
    for (const request of requests) size += request.length;
    const input = this.#reserveInput(size);
    const { HEAPU8: bytes, HEAPU32: words } = this.#module;
    let word = input >>> 2;
    let at = input + requests.length * 4;
    for (const request of requests) {
      words[word++] = request.length;
      bytes.set(request, at);
      at += request.length;
    }
    return size;
  }

  #responses(count: number, changes: boolean): StagedResponses {
    const { HEAPU8: bytes, HEAPU32: words } = this.#module;
    const staged: StagedResponses = { responses: [], failed: [], changes };
    for (let i = 0, word = this.#address >>> 2; i < count; ++i, word += 3) {
      const from = words[word] as number;
      staged.responses.push(copyToArena(bytes, from, from + (words[word + 1] as number)));
      staged.failed.push(words[word + 2] !== 0);
    }
    return staged;
  }

  // ---- Watching ---------------------------------------------------------------------------------

  describeRequest(request: Uint8Array): RequestDescription {
    this.#writeInput(request);
    this.#call((m, h) => m._entitable_describe_request(h, request.length));
    return JSON.parse(new TextDecoder().decode(this.#copy())) as RequestDescription;
  }

  makeErrorResponse(
    request: Uint8Array,
    refusal: SimulatedError,
    nowMs: number,
  ): Uint8Array<ArrayBuffer> {
    const { headers, ...said } = refusal;
    const members: Record<string, unknown> = { ...said };
    for (const name of Object.keys(headers ?? {})) members[`header:${name}`] = headers?.[name];
    const size = this.#writeInputs(request, new TextEncoder().encode(JSON.stringify(members)));
    this.#call((m, h) => m._entitable_make_error_response(h, request.length, size, nowMs));
    return this.#copy();
  }

  responseOutcome(request: Uint8Array, response: Uint8Array): ResponseOutcome {
    const size = this.#writeInputs(request, response);
    const status =
      this.#call((m, h) => m._entitable_response_outcome(h, request.length, size)) ?? 0;
    return this.#size === 0 ? { status } : { status, code: new TextDecoder().decode(this.#copy()) };
  }

  truncatePages(share: number): void {
    this.#catchingTraps((m, h) => m._entitable_cut_pages(h, share));
  }

  emulateServiceScans(on: boolean): void {
    this.#catchingTraps((m, h) => m._entitable_read_as_service(h, on ? 1 : 0));
  }

  get lastRead(): RowCounts {
    const rows = this.#catchingTraps((m, h) => ({
      read: m._entitable_rows_read(h),
      returned: m._entitable_rows_returned(h),
    }));
    const isKnown = this.#call((m, h) => m._entitable_read_partition(h)) === 1;
    return isKnown ? { ...rows, partition: new TextDecoder().decode(this.#view()) } : rows;
  }

  // ---- Storing ----------------------------------------------------------------------------------

  publish(): void {
    this.#call((m, h) => m._entitable_publish(h));
  }

  discard(): void {
    this.#call((m, h) => m._entitable_discard(h));
  }

  seal(segmentBytes = unlimitedBytes): SealedSegments | undefined {
    const segments: Uint8Array[] = [];
    let sequence = 0;
    for (let next = 0; ; next = 1) {
      if (this.#call((m, h) => m._entitable_seal(h, segmentBytes, next)) === undefined) break;
      if (next === 0) sequence = this.#number;
      segments.push(this.#copy());
    }
    return segments.length === 0 ? undefined : { sequence, segments };
  }

  claim(): Claim {
    this.#call((m, h) => m._entitable_claim(h));
    return { sequence: this.#number, bytes: this.#copy() };
  }

  markStored(sequence: number): void {
    this.#call((m, h) => m._entitable_mark_stored(h, sequence));
  }

  // ---- Checkpoint -------------------------------------------------------------------------------

  checkpointBytes(): number {
    return this.#catchingTraps((m, h) => m._entitable_checkpoint_bytes(h));
  }

  beginCheckpoint(): boolean | PartsNeeded {
    const begun = this.#callForResult((m, h) => m._entitable_begin_checkpoint(h));
    return begun instanceof PartsNeeded ? begun : begun !== 0;
  }

  nextCheckpointPart(): CheckpointPart | undefined {
    if (this.#call((m, h) => m._entitable_next_checkpoint_part(h)) === undefined) return undefined;
    return { id: this.#number, bytes: this.#copy() };
  }

  finishCheckpoint(): CheckpointEnd {
    const obsolete = this.#call((m, h) => m._entitable_finish_checkpoint(h)) ?? 0;
    const obsoleteParts = this.#readU64s(obsolete);
    return { manifest: this.#copy(obsolete * 8), segmentsBelow: this.#number, obsoleteParts };
  }

  checkpointCommitted(): void {
    this.#call((m, h) => m._entitable_mark_checkpoint_committed(h));
  }

  abandonCheckpoint(): void {
    this.#call((m, h) => m._entitable_abandon_checkpoint(h));
  }

  // ---- Snapshot and restore ---------------------------------------------------------------------

  beginSnapshot(): void {
    this.#call((m, h) => m._entitable_begin_snapshot(h));
  }

  nextSnapshotChunk(): Uint8Array<ArrayBuffer> | PartsNeeded | undefined {
    if (!this.#instance.isComplete) return this.#instance.needed;
    const more = this.#callForResult((m, h) => m._entitable_next_snapshot_chunk(h));
    return more === undefined || more instanceof PartsNeeded ? more : this.#copy();
  }

  endSnapshot(): void {
    this.#call((m, h) => m._entitable_end_snapshot(h));
  }

  beginRestore(): void {
    this.#call((m, h) => m._entitable_begin_restore(h));
  }

  restore(chunk: Uint8Array): void {
    this.#writeInput(chunk);
    this.#call((m, h) => m._entitable_restore_chunk(h, chunk.length));
  }

  finishRestore(): RestoreReport {
    this.#call((m, h) => m._entitable_finish_restore(h));
    const [tables = 0, entities = 0] = this.#readU64s(2);
    return { tables, entities };
  }

  beginReplace(call: Uint8Array | undefined): boolean {
    this.#writeInput(call ?? emptyBytes);
    return this.#call((m, h) => m._entitable_begin_replace(h, call?.length ?? 0)) !== 0;
  }

  stageMerge(nowMs: number): boolean | PartsNeeded {
    const staged = this.#callForResult((m, h) => m._entitable_stage_merge(h, nowMs));
    return staged instanceof PartsNeeded ? staged : staged !== 0;
  }

  endRestore(): void {
    this.#call((m, h) => m._entitable_end_restore(h));
  }

  // ---- Versions ---------------------------------------------------------------------------------

  fork(): Engine {
    const handle = this.#call((m, h) => m._entitable_fork(h)) ?? 0;
    return new WasmEngine(this.#instance, handle);
  }

  retainVersion(): number {
    this.#call((m, h) => m._entitable_retain_version(h));
    return this.#number;
  }

  rollback(version: number): void {
    this.#call((m, h) => m._entitable_rollback_to_version(h, version));
  }

  releaseVersion(version: number): void {
    this.#call((m, h) => m._entitable_release_version(h, version));
  }

  // ---- The rest ---------------------------------------------------------------------------------

  stats(): EngineStats {
    return this.#requireResult(this.#catchingTraps((m, h) => m.stats(h)));
  }

  verify(): string {
    return this.#requireResult(this.#catchingTraps((m, h) => m.verify(h)));
  }

  openIdbfsDatabase(mountPoint: string): Promise<IDBDatabase> {
    return connectIdbfs(this.#module, mountPoint);
  }

  loadDeferredModule(): Promise<void> {
    return this.#instance.loadDeferredModule();
  }

  async createEmpty(): Promise<Engine> {
    const { code, deferredModuleUrl, isComplete } = this.#instance;
    const engine = await WasmEngine.start(code, deferredModuleUrl);
    if (isComplete) await engine.loadDeferredModule();
    return engine;
  }

  close(): void {
    if (this.#handle === 0) return;
    const handle = this.#handle;
    this.#handle = 0;
    if (!this.#instance.hasTrapped) this.#module._entitable_close(handle);
  }

  // ---- Calling ----------------------------------------------------------------------------------

  // What the last #call gave: bytes in wasm memory, and a number.
  #address = 0;
  #size = 0;
  #number = 0;

  #requireHandle(): number {
    if (this.#handle === 0 || this.#instance.hasTrapped) {
      throw new StoreError("StoreClosed", "The store is closed.");
    }
    return this.#handle;
  }

  // Where the next call expects `size` bytes of input; a multiple of 8.
  #reserveInput(size: number): number {
    const input = this.#catchingTraps((m, h) => m._entitable_reserve_input(h, size)) >>> 0;
    if (input === 0) throw outOfMemory();
    return input;
  }

  #writeInput(bytes: Uint8Array): void {
    const input = this.#reserveInput(bytes.length);
    this.#module.HEAPU8.set(bytes, input);
  }

  // The second may be a view of wasm memory, which moves when memory grows.
  #writeInputs(first: Uint8Array, second: Uint8Array): number {
    const both = new Uint8Array(first.length + second.length);
    both.set(first);
    both.set(second, first.length);
    this.#writeInput(both);
    return both.length;
  }

  // Runs a call that never needs parts.
  #call(call: ModuleCall): number | undefined {
    const answer = this.#callForResult(call);
    if (answer instanceof PartsNeeded) throw internalError("The WebAssembly module failed.");
    return answer;
  }

  // Runs a call that answers with a CallResult: its small value, or undefined if there is nothing
  // to give.
  #callForResult(call: ModuleCall): number | PartsNeeded | undefined {
    return this.#readResult(this.#catchingTraps(call));
  }

  #readResult(address: ResultAddress): number | PartsNeeded | undefined {
    const result = address >>> 2;
    const words = this.#module.HEAPU32;
    const status = words[result];
    this.#address = words[result + 1] as number;
    this.#size = words[result + 2] as number;
    this.#number = (words[result + 4] as number) + (words[result + 5] as number) * 2 ** 32;
    if (status === statusDone) return words[result + 3] as number;
    if (status === statusNothing) return undefined;
    if (status === partsNeeded) return this.#partsNeeded();
    throw status === statusFailed
      ? errorFromText(new TextDecoder().decode(this.#copy()))
      : outOfMemory();
  }

  #partsNeeded(): PartsNeeded {
    return new PartsNeeded(this.#readU64s(this.#size / 8));
  }

  // Of the bytes; it dies with the next call.
  #view(): Uint8Array<ArrayBuffer> {
    return this.#views.view(this.#module.HEAPU8, this.#address, this.#size);
  }

  #copy(from = 0): Uint8Array<ArrayBuffer> {
    return this.#module.HEAPU8.slice(this.#address + from, this.#address + this.#size);
  }

  // The first numbers among the bytes, u64 each.
  #readU64s(count: number): number[] {
    const view = new DataView(this.#module.HEAPU8.buffer, this.#address);
    return Array.from({ length: count }, (_, i) => Number(view.getBigUint64(i * 8, true)));
  }

  #catchingTraps<T>(call: (module: EntitableModule, handle: number) => T): T {
    if (this.#deferredReads !== undefined) this.flushDeferredReads();
    const handle = this.#requireHandle();
    try {
      return call(this.#module, handle);
    } catch (error) {
      throw this.#errorFromTrap(error);
    }
  }

  // A trap (or a stack that ran out) leaves wasm memory in a state that nobody knows: all engines
  // in it are closed for good.
  #errorFromTrap(error: unknown): unknown {
    if (error instanceof StoreError) return error;
    this.#handle = 0;
    this.#instance.hasTrapped = true;
    return internalError(`The WebAssembly module failed: ${String(error)}`);
  }

  #requireResult<T>(value: T | undefined): T {
    if (value === undefined) throw internalError("The WebAssembly module failed.");
    return value;
  }
}

type ModuleCall = (module: EntitableModule, handle: number) => ResultAddress;

const emptyBytes = new Uint8Array(0);

function outOfMemory(): StoreError {
  return new StoreError("OutOfMemory", "There is not enough memory for this operation.");
}

function internalError(message: string): Error {
  return serviceError(
    500,
    "InternalError",
    message,
    "Open the store again; what was stored is safe.",
  );
}

const localErrorCodes: ReadonlySet<string> = new Set<StoreErrorCode>([
  "OutOfMemory",
  "Corrupted",
  "FormatTooNew",
]);

// "<code>\n<message>"
function errorFromText(text: string): Error {
  const end = text.indexOf("\n");
  const code = text.slice(0, end);
  const message = text.slice(end + 1);
  if (localErrorCodes.has(code)) return new StoreError(code as StoreErrorCode, message);
  if (code === "InvalidInput") return new StoreError("ValidationFailed", message);
  return internalError(message);
}

// ---- IDBFS --------------------------------------------------------------------------------------

// Mounts the folder, so that the module's own FS knows it, and gives IDBFS's connection to its
// database. The connection is the caller's: IDBFS forgets it, since it would hand out a closed one
// again.
function connectIdbfs(module: EntitableModule, mountPoint: string): Promise<IDBDatabase> {
  const { FS, IDBFS } = module;
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) =>
      reject(
        new StoreError("PersistenceUnavailable", `IndexedDB could not be opened: ${text(cause)}`, {
          cause,
        }),
      );
    if (typeof indexedDB === "undefined") {
      fail("there is none here");
      return;
    }
    try {
      if (!FS.analyzePath(mountPoint).exists) {
        FS.mkdirTree(mountPoint);
        FS.mount(IDBFS, {}, mountPoint);
      }
      IDBFS.getDB(mountPoint, (error, database) => {
        delete IDBFS.dbs[mountPoint];
        // 3.1.6 loses the error of a failed request: then there is neither error nor database.
        if (database === undefined) fail(error ?? "the request failed");
        else resolve(database);
      });
    } catch (error) {
      fail(error);
    }
  });
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
