// The public types. The first half has the names and shapes of @azure/data-tables 13 (mutually assignable with
// them, which tests/web/types.test-d.ts checks); the second half is what this package adds.

// ---- Entities and values ------------------------------------------------------------------------------------------

export type EdmTypes =
  | "Binary"
  | "Boolean"
  | "DateTime"
  | "Double"
  | "Guid"
  | "Int32"
  | "Int64"
  | "String";

export interface Edm<T extends EdmTypes> {
  value: T extends "Boolean" ? boolean : T extends "Double" | "Int32" ? number : string;
  type: T;
}

export type TableEntity<T extends object = Record<string, unknown>> = T & {
  partitionKey: string;
  rowKey: string;
};

/** Keys and timestamp are left out when a `select` doesn't name them; the ETag always comes. */
export type TableEntityResult<T> = T & {
  etag: string;
  partitionKey?: string;
  rowKey?: string;
  timestamp?: string;
};

export type TableEntityResultPage<T> = Array<TableEntityResult<T>> & {
  continuationToken?: string;
};

export type UpdateMode = "Merge" | "Replace";

// ---- Options --------------------------------------------------------------------------------------------------

/** Satisfied by every AbortSignal; the shape that the official client accepts. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  addEventListener(
    type: "abort",
    listener: (this: AbortSignalLike, event: unknown) => unknown,
    options?: unknown,
  ): void;
  removeEventListener(
    type: "abort",
    listener: (this: AbortSignalLike, event: unknown) => unknown,
    options?: unknown,
  ): void;
}

export interface OperationOptions {
  /** Already aborted: nothing happens. Aborted while a write still waits for its turn: it is withdrawn. Later: ignored. */
  abortSignal?: AbortSignalLike;
  /** Accepted and without effect here: there is no request. */
  requestOptions?: { timeout?: number; allowInsecureConnection?: boolean };
  tracingOptions?: object;
  serializerOptions?: { xml: { rootName?: string; includeRoot?: boolean; xmlCharKey?: string } };
}

export type GetTableEntityOptions = OperationOptions & {
  queryOptions?: TableEntityQueryOptions;
  disableTypeConversion?: boolean;
};

export type ListTableEntitiesOptions = OperationOptions & {
  queryOptions?: TableEntityQueryOptions;
  disableTypeConversion?: boolean;
};

export type UpdateTableEntityOptions = OperationOptions & { etag?: string };
export type DeleteTableEntityOptions = OperationOptions & { etag?: string };
export type ListTableItemsOptions = OperationOptions & { queryOptions?: TableQueryOptions };

export interface TableEntityQueryOptions {
  filter?: string;
  select?: string[];
}

export interface TableQueryOptions {
  filter?: string;
}

// ---- Responses ------------------------------------------------------------------------------------------------

export interface TableMergeEntityHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
  etag?: string;
}
export interface TableUpdateEntityHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
  etag?: string;
}
export interface TableInsertEntityHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
  etag?: string;
  preferenceApplied?: string;
  contentType?: string;
}
export interface TableDeleteEntityHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
}

export type CreateTableEntityResponse = TableInsertEntityHeaders;
export type UpdateEntityResponse = TableUpdateEntityHeaders;
export type UpsertEntityResponse = TableMergeEntityHeaders;
export type DeleteTableEntityResponse = TableDeleteEntityHeaders;
export type GetTableEntityResponse<T extends object> = TableEntityResult<T>;

export interface TableItem {
  name?: string;
}

export interface TableItemResultPage extends Array<TableItem> {
  continuationToken?: string;
}

// ---- Transactions -----------------------------------------------------------------------------------------------

export type CreateDeleteEntityAction = ["create" | "delete", TableEntity];
export type UpdateEntityAction =
  | ["update" | "upsert", TableEntity]
  | ["update" | "upsert", TableEntity, "Merge" | "Replace"]
  | ["update" | "upsert", TableEntity, "Merge" | "Replace", UpdateTableEntityOptions | undefined];
export type TransactionAction = CreateDeleteEntityAction | UpdateEntityAction;

export interface TableTransactionEntityResponse {
  etag?: string;
  rowKey?: string;
  status: number;
}

export interface TableTransactionResponse {
  subResponses: TableTransactionEntityResponse[];
  status: number;
  getResponseForEntity: (rowKey: string) => TableTransactionEntityResponse | undefined;
}

// ---- Bulk ---------------------------------------------------------------------------------------------------------

export type BulkActions = Iterable<TransactionAction> | AsyncIterable<TransactionAction>;

export interface BulkProgress {
  /** Actions so far. */
  read: number;
  done: number;
  failed: number;
  /** Transactions that were sent. */
  requests: number;
}

export interface BulkOptions {
  /** How many transactions are under way at a time, each of another partition; default 4. */
  concurrency?: number;
  /**
   * Of an action that fails. "stop" (default): no more is begun, and bulk rejects with BulkError. "continue": the rest is carried out, and
   * the result lists what failed; but where all would fail (there is no such table, the store is closed or full) it stops all the same.
   */
  onError?: "stop" | "continue";
  /** No more is begun then; what is under way is waited for. */
  signal?: AbortSignalLike;
  /** After each transaction. */
  onProgress?: (progress: BulkProgress) => void;
}

export interface BulkFailure {
  /** Which of the input, from 0. */
  index: number;
  action: TransactionAction;
  error: Error;
  /** It may have been carried out all the same: its answer was lost, or the service failed. */
  uncertain: boolean;
}

export interface BulkResult extends Omit<BulkProgress, "failed"> {
  failed: BulkFailure[];
  /** Those that were read but never tried, since it stopped: their indexes. What comes after the last that was read wasn't either. */
  notAttempted: number[];
}

// ---- Paging -----------------------------------------------------------------------------------------------------

export interface PageSettings {
  continuationToken?: string;
  maxPageSize?: number;
}

export interface PagedAsyncIterableIterator<
  TElement,
  TPage = TElement[],
  TPageSettings = PageSettings,
> {
  next(): Promise<IteratorResult<TElement>>;
  /** Ends the iteration and frees everything at once (an addition: the official iterator has none). */
  return(): Promise<IteratorResult<TElement>>;
  [Symbol.asyncIterator](): PagedAsyncIterableIterator<TElement, TPage, TPageSettings>;
  byPage: (settings?: TPageSettings) => AsyncIterableIterator<TPage>;
}

// ---- Explain --------------------------------------------------------------------------------------------------------

export type PlanKind = "empty" | "point" | "range" | "partition" | "table";

export interface ExplainRange {
  /** Inclusive. */
  from: { partitionKey: string; rowKey: string };
  /** Exclusive; absent: to the end of the table. */
  to?: { partitionKey: string; rowKey: string };
}

export interface ExplainWarning {
  code: string;
  message: string;
  help: string;
}

export interface Explain {
  /** The widest of its ranges. */
  kind: PlanKind;
  ranges: ExplainRange[];
  rowsRead: number;
  rowsReturned: number;
  bytesRead: number;
  /** The scan that the real service would run. */
  serviceKind: PlanKind;
  /** Requests that it would take there to read the whole result. */
  serviceRoundTrips: number;
  /** Transactions that it would bill for them. */
  serviceTransactions: number;
  warnings: ExplainWarning[];
}

// ---- Clients ----------------------------------------------------------------------------------------------------

export interface WriteOptions {
  /** Of this call; default: the handle's, then the store's. */
  durability?: Durability;
}

/** The methods that the official client, `TableClient` of @azure/data-tables, has for one table. */
export interface TableClient {
  readonly tableName: string;
  createTable(options?: OperationOptions & WriteOptions): Promise<void>;
  deleteTable(options?: OperationOptions & WriteOptions): Promise<void>;
  createEntity<T extends object>(
    entity: TableEntity<T>,
    options?: OperationOptions & WriteOptions,
  ): Promise<CreateTableEntityResponse>;
  getEntity<T extends object = Record<string, unknown>>(
    partitionKey: string,
    rowKey: string,
    options?: GetTableEntityOptions,
  ): Promise<GetTableEntityResponse<TableEntityResult<T>>>;
  listEntities<T extends object = Record<string, unknown>>(
    options?: ListTableEntitiesOptions,
  ): PagedAsyncIterableIterator<TableEntityResult<T>, TableEntityResultPage<T>>;
  updateEntity<T extends object>(
    entity: TableEntity<T>,
    mode?: UpdateMode,
    options?: UpdateTableEntityOptions & WriteOptions,
  ): Promise<UpdateEntityResponse>;
  upsertEntity<T extends object>(
    entity: TableEntity<T>,
    mode?: UpdateMode,
    options?: OperationOptions & WriteOptions,
  ): Promise<UpsertEntityResponse>;
  deleteEntity(
    partitionKey: string,
    rowKey: string,
    options?: DeleteTableEntityOptions & WriteOptions,
  ): Promise<DeleteTableEntityResponse>;
  submitTransaction(
    actions: TransactionAction[],
    options?: OperationOptions & WriteOptions,
  ): Promise<TableTransactionResponse>;
}

/** What may be written for a property that reads as T: the value, the value with its Edm type, or null (not stored). */
export type EntityInput<T extends object> = { [K in keyof T]: T[K] | Edm<EdmTypes> | null };

/** A TableClient whose entities are all of type T, with more. */
export interface Table<T extends object = Record<string, unknown>> {
  readonly tableName: string;
  createTable(options?: OperationOptions & WriteOptions): Promise<void>;
  deleteTable(options?: OperationOptions & WriteOptions): Promise<void>;
  createEntity(
    entity: TableEntity<EntityInput<T>>,
    options?: OperationOptions & WriteOptions,
  ): Promise<CreateTableEntityResponse>;
  getEntity(
    partitionKey: string,
    rowKey: string,
    options?: GetTableEntityOptions,
  ): Promise<TableEntityResult<T>>;
  listEntities(
    options?: ListTableEntitiesOptions,
  ): PagedAsyncIterableIterator<TableEntityResult<T>, TableEntityResultPage<T>>;
  updateEntity(
    entity: TableEntity<Partial<EntityInput<T>>>,
    mode?: UpdateMode,
    options?: UpdateTableEntityOptions & WriteOptions,
  ): Promise<UpdateEntityResponse>;
  upsertEntity(
    entity: TableEntity<Partial<EntityInput<T>>>,
    mode?: UpdateMode,
    options?: OperationOptions & WriteOptions,
  ): Promise<UpsertEntityResponse>;
  deleteEntity(
    partitionKey: string,
    rowKey: string,
    options?: DeleteTableEntityOptions & WriteOptions,
  ): Promise<DeleteTableEntityResponse>;
  submitTransaction(
    actions: TransactionAction[],
    options?: OperationOptions & WriteOptions,
  ): Promise<TableTransactionResponse>;
  /**
   * Carries out any number of actions, as if each were done alone, those of one partition in their order. They travel as transactions
   * of at most 100. Rejects with BulkError, of `entitable/bulk`.
   */
  bulk(actions: BulkActions, options?: BulkOptions): Promise<BulkResult>;
  /** How listEntities with the same options would run, and what the real service would do. */
  explain(options?: ListTableEntitiesOptions): Promise<Explain>;
}

export interface TableServiceClient {
  createTable(name: string, options?: OperationOptions & WriteOptions): Promise<void>;
  deleteTable(name: string, options?: OperationOptions & WriteOptions): Promise<void>;
  listTables(
    options?: ListTableItemsOptions,
  ): PagedAsyncIterableIterator<TableItem, TableItemResultPage>;
}

/** An entity as it was read. */
export type RawEntity = TableEntityResult<Record<string, unknown>>;

/** What is used of a schema by the Standard Schema (Zod, Valibot, ArkType and others have it); it must validate at once. */
export interface StandardSchema<T> {
  readonly "~standard": {
    readonly version: 1;
    readonly validate: (value: unknown) => StandardResult<T> | Promise<StandardResult<T>>;
  };
}
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** Makes of each row what it stands for, where a table holds several kinds. */
export interface Resolver<T extends object> {
  /** What says which kind a row is: the name of a property, or a function of the entity. */
  discriminator: string | ((entity: RawEntity) => string | undefined);
  /** By kind. What a shape leaves out of keys, ETag and timestamp is added to what it gives. */
  schemas: Readonly<Record<string, StandardSchema<T> | ((entity: RawEntity) => T)>>;
  /** Of a row that is none of these kinds: "raw" (default) gives it as it is, "error" rejects. */
  otherwise?: "raw" | "error";
}

export interface TableOptions<T extends object = Record<string, unknown>> {
  /** Of what is read; not with `disableTypeConversion`. */
  resolver?: Resolver<T>;
  /** Fixes the Edm type of plain numbers, for example { price: "Double" }: 3 is then stored as a Double. */
  types?: Partial<Record<keyof T, EdmTypes>>;
  /** Of this handle's writes; default: the store's. */
  durability?: Durability;
}

// ---- Store ------------------------------------------------------------------------------------------------------

export type Persistence = "auto" | "memory" | "indexeddb" | "file";

/**
 * When a write is acknowledged, in IndexedDB's own words. strict: its transaction completed and was flushed to
 * disk (survives power loss). relaxed: its transaction completed (survives the death of page, tab and browser, or of
 * the process). deferred: it is in memory, and stored within a bounded delay.
 */
export type Durability = "strict" | "relaxed" | "deferred";

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

/** Where ids in responses come from. */
export interface RandomSource {
  /** Overwrites all of it. */
  fill(bytes: Uint8Array<ArrayBuffer>): void;
}

export type WarningCode =
  /** "auto" found no usable IndexedDB: the store is in memory and ends with the page. */
  | "PersistenceUnavailable"
  /** The browser may evict this origin's data when space runs out. Said once per page. */
  | "StorageNotPersisted"
  /** Something in the log did not verify: the store is read-only, see status.damage. */
  | "Damaged"
  /** The log could not be shortened. Nothing is lost; opening takes longer. */
  | "CheckpointFailed"
  /** thread: "worker" found no worker to start: the store runs in the page. */
  | "WorkerUnavailable"
  /** A client was given an account's key in a page, for an address that is not this machine's: the page gives the key away. */
  | "AccountKeyInPage";

export interface StoreWarning {
  code: WarningCode;
  message: string;
}

/** The account that the REST door (fetch, httpClient) answers for, and how strictly. */
export interface AccountOptions {
  /**
   * Default: the store's name. Requests address it as `https://<name>.table.core.windows.net/` or
   * `http://127.0.0.1:10002/<name>/`.
   */
  name?: string;
  /** base64, as in a connection string; a signature by any of them is good. */
  keys?: readonly string[];
  /** Refuse requests without a valid signature (Shared Key or SAS by one of `keys`); default false: everybody may do everything. */
  authorize?: boolean;
  /** Refuse x-ms-version that the service does not know; default false. */
  strictVersions?: boolean;
  /** Refuse signatures of more than 15 minutes ago; default false. */
  strictDates?: boolean;
  /** Refuse a $filter of more than 15 comparisons, as the service documents; default false. */
  limitComparisons?: boolean;
  /** Without CORS rules, answer as if one allowed everything; default false. */
  permissiveCors?: boolean;
}

export interface OpenOptions {
  /** 1–63 of [A-Za-z0-9._-]; default "default". */
  name?: string;
  /** Default "auto": IndexedDB where there is one, else memory with a warning. "file": Node. */
  persistence?: Persistence;
  /** Of "file": the folder in which stores are folders by their name. Made if need be. */
  path?: string;
  /** Default "strict". */
  durability?: Durability;
  /** 0–1000, default 200: how long a deferred write may wait (at most 1000 under load). */
  deferredDelayMs?: number;
  /**
   * Bytes that rows may take in memory, about; default 512 MiB, 0: no limit. Rows are read from storage when they are needed first; beyond
   * the limit those that were not used lately go again, and pages may be shorter than asked for, with a token to go on. Rows written
   * since the last checkpoint always stay, and so does everything of a store in memory.
   */
  memoryLimit?: number;
  /** The module: where it is, or what it is. Default: entitable.core.wasm beside this package's code, and entitable.rest.wasm when it is needed. */
  wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
  /**
   * Of stores in IndexedDB. "shared" (default): one tab runs the store and answers the others, which don't notice. "exclusive": a
   * second tab that opens it gets StoreLocked. Without Web Locks (plain HTTP) every store is exclusive.
   */
  tabs?: "shared" | "exclusive";
  /**
   * Where the engine runs: in the page (default), or in a worker that is started for this store, so that long lists and
   * transactions don't make the page stutter; each call then costs a message there and back. All else is the same. If no worker can be
   * started: inline, with a warning. With "worker" there is no `clock`.
   */
  thread?: "inline" | "worker";
  /** Whether to ask the browser not to evict the data (navigator.storage.persist()); default "never". */
  requestPersistence?: "never" | "on-open" | "on-first-write";
  clock?: Clock;
  /** Default: the platform's. Nothing that is stored depends on it. */
  random?: RandomSource;
  /** Writes reject; default false. */
  readOnly?: boolean;
  account?: AccountOptions;
  /** Gives up opening, for example while another tab or process holds the store. */
  signal?: AbortSignalLike;
  /** Nothing is ever printed. */
  onWarning?: (warning: StoreWarning) => void;
}

export interface StoreDamage {
  /** "manifest", "part-…", "wal-…". */
  file: string;
  message: string;
}

export interface StoreStatus {
  readonly state: "open" | "read-only" | "closed";
  readonly persistence: "memory" | "indexeddb" | "file";
  /** Who runs the store: this tab (or its worker), or another one that answers its calls. */
  readonly owner: "self" | "other-tab";
  /** Acknowledged (deferred) and not stored yet. */
  readonly pendingBytes: number;
  readonly lastPersistedAt: Date | undefined;
  /** Rises whenever the store gets another owner. */
  readonly generation: number;
  /** The browser promised not to evict this origin's storage; with "file" always. */
  readonly persisted: boolean;
  /** What did not verify at opening; not empty: read-only. */
  readonly damage: readonly StoreDamage[];
}

export interface TableStats {
  name: string;
  rows: number;
  bytes: number;
}

export interface StoreStats {
  tables: TableStats[];
  /** Exactly: after opening, what the log has changed is read for that. */
  rows: number;
  /** Of packed rows. */
  bytes: number;
  /** Of the index that holds them. */
  memoryBytes: number;
  pendingBytes: number;
  /** Log segments since the last checkpoint. */
  segments: number;
  segmentBytes: number;
}

export interface FileCount {
  count: number;
  bytes: number;
}

export interface VerifyReport {
  /** All that is stored can be read back: `damage` is empty. */
  ok: boolean;
  /** What was read. In memory there are none. */
  files: { manifest: FileCount; parts: FileCount; segments: FileCount };
  damage: StoreDamage[];
  /** Parts that don't belong to the store: of a checkpoint that is being written, or that never finished. They do no harm. */
  orphans: number;
}

export type SnapshotSource = ArrayBuffer | ArrayBufferView | Blob | ReadableStream<Uint8Array>;

export type RestoreMode = "replace" | "merge";

export interface RestoreOptions {
  /**
   * "replace" (default): the store holds the snapshot and nothing else, timestamps and ETags included; in one step, which a crash or a full
   * disk leaves undone. "merge": its entities are inserted or replaced, with new timestamps, and tables that are missing are
   * made, group by group: what a failure leaves is some of them, each whole.
   */
  mode?: RestoreMode;
}

/** What was in the snapshot. */
export interface RestoreReport {
  tables: number;
  entities: number;
}

export type FileFormat = "ndjson" | "json" | "csv";

export interface ExportOptions {
  table: string;
  /** A filter, and properties by name; default: everything. */
  query?: TableEntityQueryOptions;
  format: FileFormat;
  /**
   * Default true: with the types of the properties, so that importing the file gives the same entities. In CSV these are columns `name@type`, as
   * Azure Storage Explorer writes them.
   */
  typed?: boolean;
  signal?: AbortSignalLike;
}

/** A string is the text itself. Streams are read as fast as rows are stored. */
export type ImportSource = string | SnapshotSource;

/**
 * "insert" (default): an entity that exists is a rejected row. "upsert": it is merged with the row, "replace": replaced.
 */
export type ImportMode = "insert" | "upsert" | "replace";

export interface ImportedRow {
  /** On which it begins, from 1 on. */
  line: number;
  /** Its properties are all pairs of type and value. May be changed. */
  entity: TableEntity;
}

export interface ImportOptions {
  /** Made if need be. */
  table: string;
  format: FileFormat;
  mode?: ImportMode;
  /** Of CSV: the types of columns that don't say them. Default there: String. */
  types?: Readonly<Record<string, EdmTypes>>;
  /**
   * Sees every row before it is written. What it returns is written in its place, null: nothing, undefined: the row as it is
   * now. If it throws, the row is rejected.
   */
  onRow?: (
    row: ImportedRow,
  ) => TableEntity | null | undefined | Promise<TableEntity | null | undefined>;
  /** Told now and then what has become of the rows so far. */
  onProgress?: (progress: ImportProgress) => void;
  /** Of each batch; default: the store's. */
  durability?: Durability;
  signal?: AbortSignalLike;
}

export interface ImportProgress {
  /** That were read. */
  rows: number;
  written: number;
  /** Left out by onRow. */
  skipped: number;
  rejected: number;
}

export interface RejectedRow {
  line: number;
  message: string;
  /** The service's, if it was that which refused the row. */
  code?: string;
  partitionKey?: string;
  rowKey?: string;
}

export interface ImportReport extends ImportProgress {
  /** The first 1000 of the rejected rows, by line. */
  rejections: RejectedRow[];
  /** False: the rest of the source could not be read; the last of `rejections` says why. */
  complete: boolean;
}

export interface StoreEvents {
  status: StoreStatus;
  persisted: { at: Date };
  "persist-error": { error: Error; pendingBytes: number; retryInMs: number | undefined };
  /** The connection to IndexedDB was lost and made anew. */
  reopened: { at: Date };
  /**
   * More than 80 % of what the browser grants this origin is in use, in bytes by its own estimate: of all that the origin stores, not of this
   * store alone. Looked at when a store in IndexedDB opens and after checkpoints, at most once a minute. Told again when another
   * 5 % are used, or when it comes above 80 % anew.
   */
  quota: { usage: number; quota: number };
  /**
   * The store held data, last known at `lastSeen`, and was found empty: the browser threw it away, or something deleted it past
   * this package. Told once, after openStore has resolved. Best effort: a page remembers it in localStorage.
   */
  evicted: { lastSeen: Date };
  /** Another tab runs the store from now on, or this one does. */
  owner: { owner: "self" | "other-tab" };
  /** Another tab has a version of the package that this one can't share a store with. If it is newer, this store is closed. */
  "version-conflict": { ours: number; theirs: number };
}

export interface StoreInfo {
  name: string;
  persistence: "indexeddb" | "file";
}

/** Where a store is kept, as it was said when it was opened. */
export interface StoreLocation {
  /** Default "auto". */
  persistence?: Persistence;
  /** Of "file". */
  path?: string;
}

// The transport of the official clients, by shape.

export interface HttpHeadersLike extends Iterable<[string, string]> {
  get(name: string): string | undefined;
  has(name: string): boolean;
  set(name: string, value: string | number | boolean): void;
  delete(name: string): void;
  toJSON(options?: { preserveCase?: boolean }): Record<string, string>;
}

export interface HttpRequestLike {
  url: string;
  method: string;
  headers: Iterable<[string, string]>;
  /** Text, bytes, Blob, FormData, a stream of the platform or of Node, or a function that makes one. */
  body?: unknown;
  abortSignal?: AbortSignalLike;
  onUploadProgress?: (progress: { loadedBytes: number }) => void;
  onDownloadProgress?: (progress: { loadedBytes: number }) => void;
}

export interface HttpResponseLike<R extends HttpRequestLike = HttpRequestLike> {
  request: R;
  status: number;
  headers: HttpHeadersLike;
  bodyAsText: string;
}

export interface HttpClient {
  sendRequest<R extends HttpRequestLike>(request: R): Promise<HttpResponseLike<R>>;
}

export interface Store {
  readonly name: string;
  readonly status: StoreStatus;
  /** A handle; nothing happens until one of its methods is called, and the table need not exist. */
  table<T extends object = Record<string, unknown>>(
    name: string,
    options?: TableOptions<T>,
  ): Table<T>;
  tableClient(name: string): TableClient;
  serviceClient(): TableServiceClient;
  /**
   * The Table service's REST protocol, answered by this store, in the shape of the platform's fetch; no network is used. Bound: may be
   * passed around. What the service would refuse is a response; rejects with StoreError if the store can't answer.
   */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;
  /** The same for the official clients: `new TableClient(url, name, { httpClient: store.httpClient })`. */
  readonly httpClient: HttpClient;
  /** Resolves when all earlier writes are stored. */
  flush(): Promise<void>;
  stats(): Promise<StoreStats>;
  /**
   * Reads every stored file back and checks all of it, and the store in memory, while work goes on. Takes about the store's memory a second
   * time until it is done. Damage is in the report; rejects with StoreError if there is no report.
   */
  verify(): Promise<VerifyReport>;
  /**
   * Writes a checkpoint now: when it resolves, all that was written before is in the stored parts, and the log holds nothing of it any
   * more. Rejects with StoreError if it could not be stored; then nothing has changed.
   */
  compact(): Promise<void>;
  /**
   * All tables, entities, access policies and service properties of this moment as one checksummed file: the same bytes for the same content,
   * in a browser and under Node.
   */
  snapshot(): Promise<Uint8Array>;
  /**
   * Reads a snapshot and checks all of it; rejects with StoreError Corrupted or FormatTooNew, and changes nothing, unless all of it
   * is good. Writes that are made meanwhile come before it or after it.
   */
  restore(source: SnapshotSource, options?: RestoreOptions): Promise<RestoreReport>;
  /**
   * A table, or what a query finds in it, as a file, page by page as it is read. Nothing happens before the first read. Each page is of one
   * moment; entities that are written meanwhile are in the file or not. The stream fails with RestError (no such table, a bad filter) or
   * StoreError.
   */
  export(options: ExportOptions): ReadableStream<Uint8Array>;
  /**
   * Writes the entities of a file into a table, in batches of up to 100 per partition, each stored whole or not at all. A row that can't be read, or that
   * is refused, is in the report with its line, and the others are written. Rejects with StoreError if the store can't be written, with
   * AbortError, and as the source does; then some batches may have been written.
   */
  import(source: ImportSource, options: ImportOptions): Promise<ImportReport>;
  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void;
  /** Stores what is pending, then lets the store go. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// ---- Watching requests --------------------------------------------------------------------------------------------

/** What a request asks for. `upsert` comes with a mode; `unknown` is what no operation can be made out in. */
export type Operation =
  | "get"
  | "query"
  | "explain"
  | "insert"
  /** Replaces an entity that must be there. */
  | "update"
  /** Likewise. */
  | "merge"
  | "upsert"
  | "delete"
  | "batch"
  | "createTable"
  | "deleteTable"
  | "listTables"
  | "getTable"
  | "getAcl"
  | "setAcl"
  | "getProperties"
  | "setProperties"
  | "getStatistics"
  /** A preflight request of a page on another origin. */
  | "options"
  | "unknown";

/** What a request names; what it doesn't name, or names in a way that can't be read, is absent. */
export interface RequestDescription {
  operation: Operation;
  /** Of an `upsert`. */
  mode?: UpdateMode;
  /** As it is spelled there. Of a batch: that of its first operation, and so its partition. */
  table?: string;
  partitionKey?: string;
  rowKey?: string;
  filter?: string;
  select?: string[];
  top?: number;
  /** Of a batch, none if it can't be read. */
  operations?: RequestDescription[];
}
