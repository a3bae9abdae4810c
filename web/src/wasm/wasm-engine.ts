// Implements Engine by calls into the wasm module. bindings/exports.cc documents the functions that
// it calls.

import { StoreError } from "../errors.ts";
import type { RequestDescription } from "../types.ts";
import { copyToArena } from "../util/byte-arena.ts";
import { writeCallHeader } from "../util/call-message.ts";
import { callHeaderBytes, requestKind } from "../util/engine-message-kinds.ts";
import { SubarrayCache } from "../util/subarray-cache.ts";
import { type DeferredModule, isHttpRequest } from "./deferred-module.ts";
import type {
  CheckpointEnd,
  CheckpointPart,
  ClaimSegment,
  Damage,
  Engine,
  EngineStats,
  HistoryLimits,
  InterimCheckpoint,
  KnownCalls,
  PartInfo,
  ResponseOutcome,
  RestoreReport,
  RowCounts,
  SealedSegments,
  SimulatedError,
  StagedResponses,
  SyncedPart,
  WriteResult,
} from "./engine.ts";
import {
  errorFromText,
  internalError,
  outboxMissingError,
  outOfMemoryError,
} from "./engine-errors.ts";
import type { AccountSettings, EntitableModule, Hmac, ResultAddress } from "./entitable.mjs";
import { openIdbfsConnection } from "./idbfs-connection.ts";
import { instantiateCompiled } from "./module.ts";
import { ModuleInstance } from "./module-instance.ts";
import type { DeferredModuleName, DeferredModuleUrls } from "./module-urls.ts";
import { DeferredModuleNeeded, PartsNeeded } from "./parts-needed.ts";

async function newInstance(
  compiling: WebAssembly.Module | Promise<WebAssembly.Module>,
  urls: DeferredModuleUrls | undefined,
): Promise<ModuleInstance> {
  const [instantiated, code] = await Promise.all([instantiateCompiled(compiling), compiling]);
  return new ModuleInstance(instantiated, code, urls);
}

type ModuleCall = (module: EntitableModule, handle: number) => ResultAddress;

// The status of a CallResult (bindings/handle.h), which is the result of a wasm function. It has
// six words: status, address, size, value, and the two halves of a 64-bit number.
const statusDone = 0;
const statusNothing = 1;
const statusFailed = 2;
const statusPartsNeeded = 4;

// Takes the place of a part that a write of a synced table needs (core/query/query.h).
const outboxCode = 0;

// The flags of a staged message.
const failedFlag = 1;
const onlyDeletesFlag = 2;
// The flags of all staged messages.
const changesFlag = 1;
const mustTakeFlag = 2;
const unlimitedBytes = 0xffff_ffff;
const emptyBytes = new Uint8Array(0);

function hasFlag(flags: number | undefined, flag: number): boolean {
  return ((flags ?? 0) & flag) !== 0;
}

export class WasmEngine implements Engine {
  readonly #instance: ModuleInstance;
  // Members of #instance, kept here to save a lookup in each read or write.
  readonly #module: EntitableModule;
  readonly #rest: DeferredModule;
  #handle: number; // 0: closed
  #deferredReads: (() => void) | undefined; // to be called before the next call
  #deferredTake: (() => void) | undefined; // the same, but single writes may come first
  readonly #views = new SubarrayCache(); // views of results in wasm memory
  readonly #outboxNeeded = new DeferredModuleNeeded(() => this.#loadOutbox());
  onChange: ((mustTake?: boolean) => void) | undefined;
  onCommit: (() => void) | undefined;

  static async start(
    compiling: WebAssembly.Module | Promise<WebAssembly.Module>,
    urls: DeferredModuleUrls | undefined,
    reusedBytesMax = 0,
  ): Promise<WasmEngine> {
    const unused = await ModuleInstance.takeUnused(compiling, urls, reusedBytesMax);
    const engine = unused === undefined ? undefined : WasmEngine.#openIn(unused);
    if (engine !== undefined) return engine;
    const opened = WasmEngine.#openIn(await newInstance(compiling, urls));
    if (opened === undefined) throw outOfMemoryError();
    return opened;
  }

  // Returns undefined if the instance has no memory left.
  static #openIn(instance: ModuleInstance): WasmEngine | undefined {
    const handle = instance.module._entitable_open() >>> 0;
    return handle === 0 ? undefined : new WasmEngine(instance, handle);
  }

  private constructor(instance: ModuleInstance, handle: number) {
    this.#instance = instance;
    this.#module = instance.module;
    this.#rest = instance.rest;
    this.#handle = handle;
    instance.onEngineOpened();
  }

  // ---- Opening ----------------------------------------------------------------------------------

  recover(manifest: Uint8Array | undefined, changesMax = 0): PartInfo[] {
    this.#writeInput(manifest ?? emptyBytes);
    const size = manifest?.length ?? 0;
    const hasManifest = manifest === undefined ? 0 : 1;
    this.#call((m, h) => m._entitable_recover(h, size, hasManifest, changesMax));
    const numbers = this.#readU64s(this.#size / 8);
    const parts: PartInfo[] = [];
    for (let i = 0; i < numbers.length; i += 2) {
      parts.push({ id: numbers[i] as number, bytes: numbers[i + 1] as number });
    }
    return parts;
  }

  replaySegment(sequence: number, bytes: Uint8Array): void {
    this.#writeInput(bytes);
    this.#call((m, h) => m._entitable_replay_segment(h, sequence, bytes.length));
  }

  partsWithInexactCounts(): PartsNeeded | undefined {
    const result = this.#callForResult((m, h) => m._entitable_uncounted_parts(h));
    return result instanceof PartsNeeded ? result : undefined;
  }

  loadPart(id: number, bytes: Uint8Array | undefined): void {
    this.#writeInput(bytes ?? emptyBytes);
    const size = bytes?.length ?? 0;
    const hasFile = bytes === undefined ? 0 : 1;
    this.#call((m, h) => m._entitable_load_part(h, id, size, hasFile));
    this.#changed(); // the part may be damaged
  }

  setMemoryLimit(bytes: number): void {
    this.#catchingTraps((m, h) => m._entitable_limit_memory(h, bytes));
  }

  trimMemory(): void {
    this.#call((m, h) => m._entitable_trim_memory(h));
  }

  trimMemoryTo(bytes: number): void {
    this.#call((m, h) => m._entitable_trim_memory_to(h, bytes));
  }

  finishRecovery(): void {
    this.#call((m, h) => m._entitable_finish_recovery(h));
  }

  get firstUnappliedSegment(): number | undefined {
    const first = this.#catchingTraps((m, h) => m._entitable_first_unapplied_segment(h));
    return first === 0 ? undefined : first;
  }

  resumeRecovery(changesMax: number): void {
    this.#call((m, h) => m._entitable_resume_recovery(h, changesMax));
  }

  get lastCommit(): number {
    return this.#catchingTraps((m, h) => m._entitable_last_commit(h));
  }

  get firstLiveSequence(): number {
    return this.#catchingTraps((m, h) => m._entitable_first_live_sequence(h));
  }

  get firstKeptSequence(): number {
    return this.#catchingTraps((m, h) => m._entitable_first_kept_sequence(h));
  }

  get isDamaged(): boolean {
    return this.#catchingTraps((m, h) => m._entitable_is_damaged(h)) !== 0;
  }

  // If the store is not read-only, there is no damage. Checking this first is cheap; m.damage()
  // creates objects.
  damage(): Damage[] {
    if (!this.isDamaged) return [];
    return this.#requireResult(this.#catchingTraps((m, h) => m.damage(h)));
  }

  reportDamage(damage: Damage): void {
    const file = new TextEncoder().encode(damage.file);
    const text = new TextEncoder().encode(damage.file + damage.message);
    this.#writeInput(text);
    this.#call((m, h) => m._entitable_report_damage(h, file.length, text.length));
    this.#changed();
  }

  // ---- Reading and writing ----------------------------------------------------------------------

  runBeforeNextChange(reads: () => void): void {
    if (this.#deferredReads !== reads) this.#runReads();
    this.#deferredReads = reads;
  }

  runBeforeOtherCalls(take: () => void): void {
    this.#deferredTake = take;
  }

  runPendingReads(): void {
    this.#runReads();
    const take = this.#deferredTake;
    this.#deferredTake = undefined;
    take?.();
  }

  #runReads(): void {
    const reads = this.#deferredReads;
    this.#deferredReads = undefined;
    reads?.();
  }

  // Does not use #call: creating its closures would slow down a point read.
  read(request: Uint8Array): Uint8Array | PartsNeeded {
    const handle = this.#requireHandle();
    if (!this.#rest.isLinked && request[0] === requestKind.explain) return this.#rest.needed;
    const module = this.#module;
    try {
      const input = module._entitable_reserve_input(handle, request.length) >>> 0;
      if (input === 0) throw outOfMemoryError();
      module.HEAPU8.set(request, input);
      const result = module._entitable_rpc_read(handle, request.length) >>> 2;
      const words = module.HEAPU32;
      this.#address = words[result + 1] as number;
      this.#size = words[result + 2] as number;
      if (words[result] === statusDone) return this.#view();
      if (words[result] === statusPartsNeeded) return this.#partsNeeded();
      throw outOfMemoryError();
    } catch (error) {
      throw this.#errorFromTrap(error);
    }
  }

  // Does not use #call, for the same reason as read(): changes are taken after each write.
  listen(client: number, request: Uint8Array): Uint8Array | PartsNeeded {
    const { live } = this.#instance;
    if (!live.isLinked) return live.needed;
    this.runPendingReads();
    const result = this.#readResult(this.#callListen(client, request));
    return result instanceof PartsNeeded ? result : this.#view();
  }

  #callListen(client: number, request: Uint8Array): ResultAddress {
    const handle = this.#requireHandle();
    const module = this.#module;
    try {
      const input = module._entitable_reserve_input(handle, request.length) >>> 0;
      if (input === 0) throw outOfMemoryError();
      module.HEAPU8.set(request, input);
      return module._entitable_listen(handle, client, request.length);
    } catch (error) {
      throw this.#errorFromTrap(error);
    }
  }

  configureAccount(account: AccountSettings, hmac: Hmac | undefined): void {
    this.#requireResult(this.#catchingTraps((m, h) => m.configure(h, account, hmac)));
  }

  readHttp(request: Uint8Array, nowMs: number): Uint8Array | PartsNeeded {
    if (!this.#rest.isLinked) return this.#rest.needed;
    this.#writeInput(request);
    const result = this.#callForResult((m, h) => m._entitable_rest_read(h, request.length, nowMs));
    return result instanceof PartsNeeded ? result : this.#view();
  }

  stage(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded {
    if (!this.#rest.isLinked && requests.some(isHttpRequest)) return this.#rest.needed;
    const size = this.#writeRequests(requests);
    const flags = this.#callForResult((m, h) =>
      m._entitable_stage(h, requests.length, size, nowMs),
    );
    return flags instanceof PartsNeeded
      ? flags
      : this.#responses(requests.length, hasFlag(flags, changesFlag));
  }

  stageAndPublish(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded {
    if (!this.#rest.isLinked && requests.some(isHttpRequest)) return this.#rest.needed;
    const size = this.#writeRequests(requests);
    const flags = this.#callForResult((m, h) =>
      m._entitable_stage_and_publish(h, requests.length, size, nowMs),
    );
    if (flags instanceof PartsNeeded) return flags;
    const responses = this.#responses(requests.length, hasFlag(flags, changesFlag));
    this.#changed(hasFlag(flags, mustTakeFlag));
    return responses;
  }

  #changed(mustTake?: boolean): void {
    this.onChange?.(mustTake);
    this.onCommit?.();
  }

  // Does not use #call, for the same reason as read().
  stageAndPublishOne(
    request: Uint8Array,
    nowMs: number,
    client?: Uint8Array,
    callNumber = 0,
  ): WriteResult | PartsNeeded {
    if (!this.#rest.isLinked && isHttpRequest(request)) return this.#rest.needed;
    if (this.#deferredReads !== undefined) this.#runReads();
    const flags = this.#readResult(this.#callWriteOne(request, nowMs, client, callNumber));
    if (flags instanceof PartsNeeded) return flags;
    const { HEAPU8: bytes, HEAPU32: words } = this.#module;
    const word = this.#address >>> 2;
    const response = this.#views.view(bytes, words[word] as number, words[word + 1] as number);
    const onlyDeletes = ((words[word + 2] as number) & onlyDeletesFlag) !== 0;
    this.#changed(hasFlag(flags, mustTakeFlag));
    return { response, changes: hasFlag(flags, changesFlag), onlyDeletes };
  }

  #callWriteOne(
    request: Uint8Array,
    nowMs: number,
    client: Uint8Array | undefined,
    callNumber: number,
  ): ResultAddress {
    const handle = this.#requireHandle();
    const module = this.#module;
    try {
      const messageBytes = request.length + (client === undefined ? 0 : callHeaderBytes);
      const size = 4 + messageBytes;
      const input = module._entitable_reserve_input(handle, size) >>> 0;
      if (input === 0) throw outOfMemoryError();
      module.HEAPU32[input >>> 2] = messageBytes;
      if (client !== undefined) writeCallHeader(module.HEAPU8, input + 4, client, callNumber);
      module.HEAPU8.set(request, input + size - request.length);
      return module._entitable_stage_and_publish(handle, 1, size, nowMs);
    } catch (error) {
      throw this.#errorFromTrap(error);
    }
  }

  knownCalls(client: Uint8Array): KnownCalls {
    this.#writeInput(client);
    this.#call((m, h) => m._entitable_known_calls(h, client.length));
    const [droppedThrough = 0, ...numbers] = this.#readU64s(this.#size / 8);
    return { numbers, droppedThrough };
  }

  // Writes the messages' lengths and then the messages into the input. Returns the input's size in
  // bytes.
  #writeRequests(requests: readonly Uint8Array[]): number {
    let size = requests.length * 4;
    for (const request of requests) size += request.length;
    const input = this.#reserveInput(size);
    const { HEAPU8: bytes, HEAPU32: words } = this.#module;
    let word = input >>> 2;
    let offset = input + requests.length * 4;
    for (const request of requests) {
      words[word++] = request.length;
      bytes.set(request, offset);
      offset += request.length;
    }
    return size;
  }

  #responses(count: number, changes: boolean): StagedResponses {
    const { HEAPU8: bytes, HEAPU32: words } = this.#module;
    const staged: StagedResponses = { responses: [], failed: [], onlyDeletes: [], changes };
    for (let i = 0, word = this.#address >>> 2; i < count; ++i, word += 3) {
      const from = words[word] as number;
      staged.responses.push(copyToArena(bytes, from, from + (words[word + 1] as number)));
      const flags = words[word + 2] as number;
      staged.failed.push((flags & failedFlag) !== 0);
      staged.onlyDeletes.push((flags & onlyDeletesFlag) !== 0);
    }
    return staged;
  }

  // ---- Synced tables ----------------------------------------------------------------------------

  get hasSyncedTables(): boolean {
    return this.#catchingTraps((m, h) => m._entitable_has_synced_tables(h)) !== 0;
  }

  enableSync(): void {
    this.#call((m, h) => m._entitable_enable_sync(h));
  }

  async #loadOutbox(): Promise<void> {
    try {
      await this.loadDeferredModule("sync");
    } catch (error) {
      throw outboxMissingError(error);
    }
    this.enableSync();
  }

  setSynced(
    table: string,
    how: "begin" | "end" | "discard",
    publishes: boolean,
    nowMs: number,
  ): PartsNeeded | undefined {
    const name = new TextEncoder().encode(table);
    const number = { end: 0, begin: 1, discard: 2 }[how];
    this.#writeInput(name);
    const staged = this.#stagedSync(publishes, (m, h) =>
      m._entitable_set_synced(h, name.length, number, publishes ? 1 : 0, nowMs),
    );
    return staged instanceof PartsNeeded ? staged : undefined;
  }

  matchesFilter(filter: string, message: Uint8Array): boolean {
    const text = new TextEncoder().encode(filter);
    const input = new Uint8Array(text.length + message.length);
    input.set(text);
    input.set(message, text.length);
    this.#writeInput(input);
    const result = this.#callForResult((m, h) =>
      m._entitable_matches_filter(h, input.length, text.length),
    );
    return result === 1;
  }

  hasPendingOperations(): boolean | PartsNeeded {
    const result = this.#callForResult((m, h) => m._entitable_has_pending_operations(h));
    return result instanceof PartsNeeded ? result : result !== 0;
  }

  readSynced(table: number, request: Uint8Array): Uint8Array | PartsNeeded {
    this.#writeInput(request);
    const result = this.#callForResult((m, h) => m._entitable_sync_read(h, table, request.length));
    return result instanceof PartsNeeded ? result : this.#view();
  }

  applySynced(
    parts: readonly SyncedPart[],
    seenCommit: number,
    publishes: boolean,
    nowMs: number,
  ): boolean | PartsNeeded {
    const size = this.#writeSyncedParts(parts);
    return this.#stagedSync(publishes, (m, h) =>
      m._entitable_apply_synced(h, parts.length, size, seenCommit, publishes ? 1 : 0, nowMs),
    );
  }

  #stagedSync(publishes: boolean, call: ModuleCall): boolean | PartsNeeded {
    const flags = this.#callForResult(call);
    if (flags instanceof PartsNeeded) return flags;
    const changes = hasFlag(flags, changesFlag);
    if (publishes && changes) this.#changed(hasFlag(flags, mustTakeFlag));
    return changes;
  }

  // Returns the input's size (exports.cc, entitable_apply_synced).
  #writeSyncedParts(parts: readonly SyncedPart[]): number {
    const headBytes = 16;
    let operations = 0;
    let messageBytes = 0;
    for (const { timestamps, message } of parts) {
      operations += timestamps.length;
      messageBytes += message.length;
    }
    const size = parts.length * headBytes + operations * 8 + messageBytes;
    const input = this.#reserveInput(size);
    const { HEAPU8: bytes } = this.#module;
    const view = new DataView(bytes.buffer, input, size);
    let time = parts.length * headBytes;
    let at = time + operations * 8;
    for (const [index, { table, timestamps, message }] of parts.entries()) {
      view.setUint32(index * headBytes, table, true);
      view.setUint32(index * headBytes + 4, 0, true);
      view.setUint32(index * headBytes + 8, timestamps.length, true);
      view.setUint32(index * headBytes + 12, message.length, true);
      for (const timestamp of timestamps) {
        view.setBigUint64(time, timestamp, true);
        time += 8;
      }
      bytes.set(message, input + at);
      at += message.length;
    }
    return size;
  }

  // ---- Instrumentation --------------------------------------------------------------------------

  describeRequest(request: Uint8Array): RequestDescription {
    this.#writeInput(request);
    this.#call((m, h) => m._entitable_describe_request(h, request.length));
    return JSON.parse(new TextDecoder().decode(this.#copy())) as RequestDescription;
  }

  makeErrorResponse(
    request: Uint8Array,
    error: SimulatedError,
    nowMs: number,
  ): Uint8Array<ArrayBuffer> {
    const { headers, ...fields } = error;
    const members: Record<string, unknown> = { ...fields };
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
    this.#catchingTraps((m, h) => m._entitable_truncate_result_pages(h, share));
  }

  emulateServiceScans(on: boolean): void {
    this.#catchingTraps((m, h) => m._entitable_simulate_service_reads(h, on ? 1 : 0));
  }

  get lastReadRowCounts(): RowCounts {
    const rows = this.#catchingTraps((m, h) => ({
      read: m._entitable_rows_read(h),
      returned: m._entitable_rows_returned(h),
    }));
    const isKnown = this.#call((m, h) => m._entitable_last_read_partition(h)) === 1;
    return isKnown ? { ...rows, partition: new TextDecoder().decode(this.#view()) } : rows;
  }

  // ---- Storing ----------------------------------------------------------------------------------

  publish(): void {
    this.#call((m, h) => m._entitable_publish(h));
    this.#changed();
  }

  discard(): void {
    this.#call((m, h) => m._entitable_discard(h));
    this.#changed();
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

  makeClaimSegment(): ClaimSegment {
    this.#call((m, h) => m._entitable_make_claim_segment(h));
    return { sequence: this.#number, bytes: this.#copy() };
  }

  markStored(sequence: number): void {
    this.#call((m, h) => m._entitable_mark_segments_stored(h, sequence));
  }

  // ---- Checkpoint -------------------------------------------------------------------------------

  estimateCheckpointBytes(): number {
    return this.#catchingTraps((m, h) => m._entitable_estimate_checkpoint_bytes(h));
  }

  get memoryBytes(): number {
    return this.#catchingTraps((m, h) => m._entitable_memory_bytes(h));
  }

  unsavedMemory(): number {
    return this.#catchingTraps((m, h) => m._entitable_unsaved_memory(h));
  }

  beginCheckpoint(): boolean {
    return this.#call((m, h) => m._entitable_begin_checkpoint(h)) !== 0;
  }

  nextCheckpointPart(): CheckpointPart | PartsNeeded | undefined {
    const part = this.#callForResult((m, h) => m._entitable_next_checkpoint_part(h));
    if (part === undefined || part instanceof PartsNeeded) return part;
    return { id: this.#number, bytes: this.#copy() };
  }

  loadPartForCheckpoint(id: number, bytes: Uint8Array | undefined): void {
    this.#writeInput(bytes ?? emptyBytes);
    const size = bytes?.length ?? 0;
    const hasFile = bytes === undefined ? 0 : 1;
    this.#call((m, h) => m._entitable_load_part_for_checkpoint(h, id, size, hasFile));
    this.#changed(); // the part may be damaged
  }

  markCheckpointPartStored(): void {
    this.#call((m, h) => m._entitable_mark_checkpoint_part_stored(h));
  }

  interimCheckpoint(): InterimCheckpoint | undefined {
    const obsolete = this.#call((m, h) => m._entitable_interim_checkpoint(h));
    if (obsolete === undefined) return undefined;
    const numbers = this.#readU64s(obsolete + 2);
    const [id, size] = numbers.splice(obsolete) as [number, number];
    const [bytes, partAt] = [this.#copy(), (obsolete + 2) * 8];
    return {
      manifest: bytes.subarray(partAt + size),
      extraPart: id === 0 ? undefined : { id, bytes: bytes.subarray(partAt, partAt + size) },
      obsoleteParts: numbers,
    };
  }

  markInterimCheckpointCommitted(): void {
    this.#call((m, h) => m._entitable_mark_interim_checkpoint_committed(h));
  }

  finishCheckpoint({ bytes, ageMs }: HistoryLimits, nowMs: number): CheckpointEnd {
    const obsolete =
      this.#call((m, h) => m._entitable_finish_checkpoint(h, bytes, ageMs, nowMs)) ?? 0;
    const [historyFrom = 0, ...obsoleteParts] = this.#readU64s(1 + obsolete);
    const manifest = this.#copy((1 + obsolete) * 8);
    return { manifest, segmentsBelow: this.#number, historyFrom, obsoleteParts };
  }

  markCheckpointCommitted(): void {
    this.#call((m, h) => m._entitable_mark_checkpoint_committed(h));
    this.#changed(); // it may have replaced the content
  }

  abandonCheckpoint(): number[] {
    const unneeded = this.#call((m, h) => m._entitable_abandon_checkpoint(h)) ?? 0;
    return this.#readU64s(unneeded);
  }

  // ---- Snapshot and restore ---------------------------------------------------------------------

  beginSnapshot(): number {
    return this.#call((m, h) => m._entitable_begin_snapshot(h)) ?? 0;
  }

  nextSnapshotChunk(snapshot: number): Uint8Array<ArrayBuffer> | PartsNeeded | undefined {
    const module = this.#instance.snapshot;
    if (!module.isLinked) return module.needed;
    const next = this.#callForResult((m, h) => m._entitable_next_snapshot_chunk(h, snapshot));
    return next === undefined || next instanceof PartsNeeded ? next : this.#copy();
  }

  endSnapshot(snapshot: number): void {
    this.#call((m, h) => m._entitable_end_snapshot(h, snapshot));
  }

  beginRestore(synced: readonly string[]): void {
    const names = new TextEncoder().encode(synced.map((name) => `${name},`).join(""));
    this.#writeInput(names);
    this.#call((m, h) => m._entitable_begin_restore(h, names.length));
  }

  restoreChunk(chunk: Uint8Array): void {
    this.#writeInput(chunk);
    this.#call((m, h) => m._entitable_restore_chunk(h, chunk.length));
  }

  nextRestoredPart(): CheckpointPart | undefined {
    if (this.#call((m, h) => m._entitable_next_restored_part(h)) === undefined) return undefined;
    return { id: this.#number, bytes: this.#copy() };
  }

  finishRestoreInput(): RestoreReport {
    this.#call((m, h) => m._entitable_finish_restore_reading(h));
    const [tables = 0, entities = 0] = this.#readU64s(2);
    return { tables, entities };
  }

  beginReplace(call: Uint8Array | undefined): boolean {
    this.#writeInput(call ?? emptyBytes);
    return this.#call((m, h) => m._entitable_begin_replace(h, call?.length ?? 0)) !== 0;
  }

  stageRestoredRows(nowMs: number): boolean | PartsNeeded {
    const staged = this.#callForResult((m, h) => m._entitable_stage_merge_chunk(h, nowMs));
    return staged instanceof PartsNeeded ? staged : staged !== 0;
  }

  endRestore(): number[] {
    const unused = this.#call((m, h) => m._entitable_end_restore(h)) ?? 0;
    return this.#readU64s(unused);
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

  rollbackToVersion(version: number): void {
    this.#call((m, h) => m._entitable_rollback_to_version(h, version));
    this.#changed();
  }

  releaseVersion(version: number): void {
    this.#call((m, h) => m._entitable_release_version(h, version));
  }

  // ---- Other functions --------------------------------------------------------------------------

  stats(): EngineStats {
    return this.#requireResult(this.#catchingTraps((m, h) => m.stats(h)));
  }

  verify(): string {
    return this.#requireResult(this.#catchingTraps((m, h) => m.verify(h)));
  }

  openIdbfsDatabase(mountPoint: string): Promise<IDBDatabase> {
    return openIdbfsConnection(this.#module, mountPoint);
  }

  hasDeferredModule(name: DeferredModuleName): boolean {
    return this.#instance[name].isLinked;
  }

  loadDeferredModule(name: DeferredModuleName): Promise<void> {
    return this.#instance[name].load();
  }

  get moduleLoading(): "unused" | "works" | "fails" {
    const { deferredModules } = this.#instance;
    if (deferredModules.some(({ hasFailed }) => hasFailed)) return "fails";
    return deferredModules.some(({ isLinked }) => isLinked) ? "works" : "unused";
  }

  async createEmptyEngine(): Promise<Engine> {
    const { code, deferredModuleUrls, deferredModules } = this.#instance;
    const engine = await WasmEngine.start(code, deferredModuleUrls, Number.POSITIVE_INFINITY);
    const linked = deferredModules.filter(({ isLinked }) => isLinked);
    await Promise.all(linked.map(({ name }) => engine.loadDeferredModule(name)));
    return engine;
  }

  close(): void {
    if (this.#handle === 0) return;
    const handle = this.#handle;
    this.#handle = 0;
    const isSound = !this.#instance.hasTrapped && this.#module._entitable_close(handle) === 1;
    this.#instance.onEngineClosed(isSound);
  }

  // ---- Calling ----------------------------------------------------------------------------------

  // The result of the last #call: the bytes at #address in wasm memory, and a number.
  #address = 0;
  #size = 0;
  #number = 0;

  #requireHandle(): number {
    if (this.#handle === 0 || this.#instance.hasTrapped) {
      throw new StoreError("StoreClosed", "The store is closed.");
    }
    return this.#handle;
  }

  // Reserves `size` bytes for the input of the next call. Returns their address, a multiple of 8.
  #reserveInput(size: number): number {
    const input = this.#catchingTraps((m, h) => m._entitable_reserve_input(h, size)) >>> 0;
    if (input === 0) throw outOfMemoryError();
    return input;
  }

  #writeInput(bytes: Uint8Array): void {
    const input = this.#reserveInput(bytes.length);
    this.#module.HEAPU8.set(bytes, input);
  }

  // Writes both byte sequences as one input, and returns its size. They are copied first, because
  // they may be views of wasm memory, which become invalid when that memory grows.
  #writeInputs(first: Uint8Array, second: Uint8Array): number {
    const both = new Uint8Array(first.length + second.length);
    both.set(first);
    both.set(second, first.length);
    this.#writeInput(both);
    return both.length;
  }

  // Runs a call that never needs parts. Returns its result's value; undefined for Status::nothing.
  #call(call: ModuleCall): number | undefined {
    const result = this.#callForResult(call);
    if (result instanceof PartsNeeded) throw internalError("The WebAssembly module failed.");
    return result;
  }

  // Runs a call. Returns its result's value (undefined for Status::nothing), or the parts that it
  // needs.
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
    if (status === statusPartsNeeded) return this.#partsNeeded();
    throw status === statusFailed
      ? errorFromText(new TextDecoder().decode(this.#copy()))
      : outOfMemoryError();
  }

  #partsNeeded(): PartsNeeded {
    const ids = this.#readU64s(this.#size / 8);
    return ids[0] === outboxCode ? this.#outboxNeeded : new PartsNeeded(ids);
  }

  // Returns a view of the result's bytes, which the next call overwrites.
  #view(): Uint8Array<ArrayBuffer> {
    return this.#views.view(this.#module.HEAPU8, this.#address, this.#size);
  }

  // Returns a copy of the result's bytes.
  #copy(from = 0): Uint8Array<ArrayBuffer> {
    return this.#module.HEAPU8.slice(this.#address + from, this.#address + this.#size);
  }

  // Returns the first `count` 64-bit numbers of the result's bytes.
  #readU64s(count: number): number[] {
    const view = new DataView(this.#module.HEAPU8.buffer, this.#address);
    return Array.from({ length: count }, (_, i) => Number(view.getBigUint64(i * 8, true)));
  }

  #catchingTraps<T>(call: (module: EntitableModule, handle: number) => T): T {
    if (this.#deferredReads !== undefined || this.#deferredTake !== undefined)
      this.runPendingReads();
    const handle = this.#requireHandle();
    try {
      return call(this.#module, handle);
    } catch (error) {
      throw this.#errorFromTrap(error);
    }
  }

  // Returns the error to throw after an exception in wasm. A trap or a stack overflow may have
  // corrupted wasm memory, so all engines of the module instance become unusable.
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
