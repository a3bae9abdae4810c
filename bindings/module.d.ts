// Declares all exports of the wasm module. Written by hand, because Emscripten 3.1.6 cannot
// generate it; tests/web/module.test.ts compares it with the module. exports.cc documents the
// functions, README.md the ownership of their results.

// Addresses are unsigned only after `>>> 0`: above 2 GB they come back negative.
export type Address = number;
// Address of a CallResult, six words in HEAPU32: status, address and size of the bytes, a small
// value, a 64-bit number.
export type ResultAddress = Address;

export interface Stats {
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

// core/rest/account_settings.h
export interface AccountSettings {
  name: string;
  keys: Uint8Array[];
  authorize: boolean;
  bearerTokens: boolean;
  strictVersions: boolean;
  strictDates: boolean;
  limitComparisons: boolean;
  permissiveCors: boolean;
}

// Returns HMAC-SHA256, 32 bytes. The arguments are views of wasm memory, valid during the call.
export type Hmac = (key: Uint8Array, message: Uint8Array) => Uint8Array;

export interface EntitableModule {
  // exports.cc: C functions over memory
  _entitable_open(): Address;
  _entitable_close(handle: Address): number;
  _entitable_reserve_input(handle: Address, size: number): Address;
  _entitable_recover(
    handle: Address,
    size: number,
    hasManifest: number,
    changesMax: number,
  ): ResultAddress;
  _entitable_load_part(handle: Address, id: number, size: number, hasFile: number): ResultAddress;
  _entitable_load_part_for_checkpoint(
    handle: Address,
    id: number,
    size: number,
    hasFile: number,
  ): ResultAddress;
  _entitable_replay_segment(handle: Address, sequence: number, size: number): ResultAddress;
  _entitable_uncounted_parts(handle: Address): ResultAddress;
  _entitable_limit_memory(handle: Address, bytes: number): void;
  _entitable_truncate_result_pages(handle: Address, share: number): void;
  _entitable_simulate_service_reads(handle: Address, on: number): void;
  _entitable_trim_memory(handle: Address): ResultAddress;
  _entitable_trim_memory_to(handle: Address, bytes: number): ResultAddress;
  _entitable_finish_recovery(handle: Address): ResultAddress;
  _entitable_first_unapplied_segment(handle: Address): number;
  _entitable_resume_recovery(handle: Address, changesMax: number): ResultAddress;
  _entitable_last_commit(handle: Address): number;
  _entitable_first_live_sequence(handle: Address): number;
  _entitable_first_kept_sequence(handle: Address): number;
  _entitable_is_damaged(handle: Address): number;
  _entitable_report_damage(handle: Address, fileSize: number, size: number): ResultAddress;
  _entitable_rpc_read(handle: Address, size: number): ResultAddress;
  _entitable_listen(handle: Address, client: number, size: number): ResultAddress;
  _entitable_rest_read(handle: Address, size: number, nowMs: number): ResultAddress;
  _entitable_stage(handle: Address, count: number, size: number, nowMs: number): ResultAddress;
  _entitable_stage_and_publish(
    handle: Address,
    count: number,
    size: number,
    nowMs: number,
  ): ResultAddress;
  _entitable_known_calls(handle: Address, size: number): ResultAddress;
  _entitable_has_synced_tables(handle: Address): number;
  _entitable_enable_sync(handle: Address): ResultAddress;
  _entitable_set_synced(
    handle: Address,
    size: number,
    how: number,
    publishes: number,
    nowMs: number,
  ): ResultAddress;
  _entitable_has_pending_operations(handle: Address): ResultAddress;
  _entitable_matches_filter(handle: Address, size: number, filterSize: number): ResultAddress;
  _entitable_sync_read(handle: Address, table: number, size: number): ResultAddress;
  _entitable_apply_synced(
    handle: Address,
    count: number,
    size: number,
    seenCommit: number,
    publishes: number,
    nowMs: number,
  ): ResultAddress;
  _entitable_rows_read(handle: Address): number;
  _entitable_rows_returned(handle: Address): number;
  _entitable_last_read_partition(handle: Address): ResultAddress;
  _entitable_describe_request(handle: Address, size: number): ResultAddress;
  _entitable_make_error_response(
    handle: Address,
    messageSize: number,
    size: number,
    nowMs: number,
  ): ResultAddress;
  _entitable_response_outcome(handle: Address, messageSize: number, size: number): ResultAddress;
  _entitable_publish(handle: Address): ResultAddress;
  _entitable_discard(handle: Address): ResultAddress;
  _entitable_seal(handle: Address, bytesMax: number, next: number): ResultAddress;
  _entitable_make_claim_segment(handle: Address): ResultAddress;
  _entitable_mark_segments_stored(handle: Address, sequence: number): ResultAddress;
  _entitable_begin_checkpoint(handle: Address): ResultAddress;
  _entitable_memory_bytes(handle: Address): number;
  _entitable_unsaved_memory(handle: Address): number;
  _entitable_estimate_checkpoint_bytes(handle: Address): number;
  _entitable_next_checkpoint_part(handle: Address): ResultAddress;
  _entitable_mark_checkpoint_part_stored(handle: Address): ResultAddress;
  _entitable_interim_checkpoint(handle: Address): ResultAddress;
  _entitable_mark_interim_checkpoint_committed(handle: Address): ResultAddress;
  _entitable_finish_checkpoint(
    handle: Address,
    historyBytes: number,
    historyMs: number,
    nowMs: number,
  ): ResultAddress;
  _entitable_mark_checkpoint_committed(handle: Address): ResultAddress;
  _entitable_abandon_checkpoint(handle: Address): ResultAddress;
  _entitable_begin_snapshot(handle: Address): ResultAddress;
  _entitable_next_snapshot_chunk(handle: Address, number: number): ResultAddress;
  _entitable_end_snapshot(handle: Address, number: number): ResultAddress;
  _entitable_begin_restore(handle: Address, size: number): ResultAddress;
  _entitable_restore_chunk(handle: Address, size: number): ResultAddress;
  _entitable_next_restored_part(handle: Address): ResultAddress;
  _entitable_finish_restore_reading(handle: Address): ResultAddress;
  _entitable_begin_replace(handle: Address, size: number): ResultAddress;
  _entitable_stage_merge_chunk(handle: Address, nowMs: number): ResultAddress;
  _entitable_end_restore(handle: Address): ResultAddress;
  _entitable_fork(handle: Address): ResultAddress;
  _entitable_retain_version(handle: Address): ResultAddress;
  _entitable_rollback_to_version(handle: Address, version: number): ResultAddress;
  _entitable_release_version(handle: Address, version: number): ResultAddress;

  // embind.cc: rarely called; undefined if the call failed
  version(): string;
  stats(handle: Address): Stats | undefined;
  damage(handle: Address): { file: string; message: string }[] | undefined;
  verify(handle: Address): string | undefined;
  configure(handle: Address, account: AccountSettings, hmac: Hmac | undefined): true | undefined;

  // From Emscripten. Growing memory replaces the views: read them again after each call.
  readonly HEAPU8: Uint8Array<ArrayBuffer>;
  readonly HEAPU32: Uint32Array<ArrayBuffer>;
  readonly FS: {
    mkdirTree(path: string): void;
    mount(type: IdbfsType, options: object, mountPoint: string): unknown;
    analyzePath(path: string): { exists: boolean };
  };
  readonly IDBFS: IdbfsType;
}

export interface IdbfsType {
  // Opens the database whose name is the mount point. On failure the callback gets no database, and
  // in 3.1.6 not always an error.
  getDB(
    mountPoint: string,
    callback: (error: unknown, database: IDBDatabase | undefined) => void,
  ): void;
  readonly dbs: Record<string, IDBDatabase>; // open connections, by mount point
  readonly DB_VERSION: number;
  readonly DB_STORE_NAME: string;
}

export interface ModuleOptions {
  instantiateWasm?(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
  locateFile?(path: string): string;
  print?(text: string): void;
  printErr?(text: string): void;
}

// The glue's default export.
export type CreateModule = (options?: ModuleOptions) => Promise<EntitableModule>;
