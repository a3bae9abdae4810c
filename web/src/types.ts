// The public types. The first half has the names and shapes of @azure/data-tables 13 (mutually
// assignable, as tests/web/types.test-d.ts checks). The other types are what this package adds.

// ---- Entities and values ---------------------------------------------------------------------

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

/** Keys and timestamp are absent if a `select` omits them. The ETag is always present. */
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

// ---- Options ---------------------------------------------------------------------------------

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
  /**
   * If already aborted, the call has no effect. If aborted while a write waits in the queue, the
   * write is cancelled. Later aborts are ignored.
   */
  abortSignal?: AbortSignalLike;
  /** Accepted for compatibility. Has no effect, because no request is sent. */
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

// ---- Responses -------------------------------------------------------------------------------

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

// ---- Transactions ----------------------------------------------------------------------------

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

// ---- Bulk ------------------------------------------------------------------------------------

export type BulkActions = Iterable<TransactionAction> | AsyncIterable<TransactionAction>;

export interface BulkProgress {
  /** Actions that were read from the input so far. */
  read: number;
  done: number;
  failed: number;
  /** Transactions that were sent. */
  requests: number;
}

export interface BulkOptions {
  /** How many transactions run at the same time, each on a different partition. Default 4. */
  concurrency?: number;
  /**
   * What happens after a failed action. "stop" (default): starts no further transaction and rejects
   * with BulkError. "continue": carries out the other actions and lists the failures in the result,
   * but still stops if all would fail (the table does not exist, or the store is closed or full).
   */
  onError?: "stop" | "continue";
  /** Cancels: no further transaction starts, and running ones are awaited. */
  signal?: AbortSignalLike;
  /** Called after each transaction. */
  onProgress?: (progress: BulkProgress) => void;
}

export interface BulkFailure {
  /** The action's index in the input, from 0. */
  index: number;
  action: TransactionAction;
  error: Error;
  /** The action may have been carried out: its response was lost, or the service failed. */
  uncertain: boolean;
}

export interface BulkResult extends Omit<BulkProgress, "failed"> {
  failed: BulkFailure[];
  /**
   * Indexes of the actions that were read but not attempted. Actions after the last one that was
   * read were not attempted either.
   */
  notAttempted: number[];
}

// ---- Paging ----------------------------------------------------------------------------------

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
  /** Ends the iteration and releases its resources. The official iterator has no such method. */
  return(): Promise<IteratorResult<TElement>>;
  [Symbol.asyncIterator](): PagedAsyncIterableIterator<TElement, TPage, TPageSettings>;
  byPage: (settings?: TPageSettings) => AsyncIterableIterator<TPage>;
}

// ---- Explain ---------------------------------------------------------------------------------

export type PlanKind = "empty" | "point" | "range" | "partition" | "table";

export interface ExplainRange {
  /** Inclusive. */
  from: { partitionKey: string; rowKey: string };
  /** Exclusive. Absent: the range extends to the end of the table. */
  to?: { partitionKey: string; rowKey: string };
}

export interface ExplainWarning {
  code: string;
  message: string;
  help: string;
}

export interface Explain {
  /** The kind of the widest range. */
  kind: PlanKind;
  ranges: ExplainRange[];
  rowsRead: number;
  rowsReturned: number;
  bytesRead: number;
  /** The kind of scan that the real service would run. */
  serviceKind: PlanKind;
  /** Requests that reading the whole result from the service would take. */
  serviceRoundTrips: number;
  /** Transactions that the service would bill for these requests. */
  serviceTransactions: number;
  warnings: ExplainWarning[];
}

// ---- Clients ---------------------------------------------------------------------------------

export interface WriteOptions {
  /** The durability of this call. Default: the table handle's, then the store's. */
  durability?: Durability;
}

/** The methods of the official `TableClient` of @azure/data-tables, for one table. */
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

/**
 * The values that may be written for a property of type T: the value, the value with its Edm type,
 * or null (not stored).
 */
export type EntityInput<T extends object> = { [K in keyof T]: T[K] | Edm<EdmTypes> | null };

/** A TableClient whose entities are all of type T, with additional methods. */
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
   * Carries out any number of actions. Each action succeeds or fails independently, and actions on
   * the same partition run in order. They are sent as transactions of at most 100 actions. Rejects
   * with BulkError of `entitable/bulk`.
   */
  bulk(actions: BulkActions, options?: BulkOptions): Promise<BulkResult>;
  /**
   * Returns how listEntities with the same options would run, and what the real service would do.
   */
  explain(options?: ListTableEntitiesOptions): Promise<Explain>;
}

export interface TableServiceClient {
  createTable(name: string, options?: OperationOptions & WriteOptions): Promise<void>;
  deleteTable(name: string, options?: OperationOptions & WriteOptions): Promise<void>;
  listTables(
    options?: ListTableItemsOptions,
  ): PagedAsyncIterableIterator<TableItem, TableItemResultPage>;
}

/** An entity as it was read, before a resolver converts it. */
export type RawEntity = TableEntityResult<Record<string, unknown>>;

/**
 * The part of the Standard Schema interface that this package uses (Zod, Valibot, ArkType and
 * others implement it). Validation must be synchronous.
 */
export interface StandardSchema<T> {
  readonly "~standard": {
    readonly version: 1;
    readonly validate: (value: unknown) => StandardResult<T> | Promise<StandardResult<T>>;
  };
}
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/**
 * Converts each entity that is read to an object of its type, for tables with several entity types.
 */
export interface Resolver<T extends object> {
  /** Selects the entity's type: the name of a property, or a function of the entity. */
  discriminator: string | ((entity: RawEntity) => string | undefined);
  /**
   * The schema of each type. Keys, ETag and timestamp that a schema's result does not contain are
   * added to it.
   */
  schemas: Readonly<Record<string, StandardSchema<T> | ((entity: RawEntity) => T)>>;
  /** For entities of an unknown type: "raw" (default) returns them unchanged, "error" rejects. */
  otherwise?: "raw" | "error";
}

export interface TableOptions<T extends object = Record<string, unknown>> {
  /** Converts entities that are read. Cannot be combined with `disableTypeConversion`. */
  resolver?: Resolver<T>;
  /**
   * Fixes the Edm type of plain numbers, for example { price: "Double" }: 3 is then stored as a
   * Double.
   */
  types?: Partial<Record<keyof T, EdmTypes>>;
  /** The durability of this handle's writes. Default: the store's. */
  durability?: Durability;
}

// ---- Store -----------------------------------------------------------------------------------

export type Persistence = "auto" | "memory" | "indexeddb" | "file";

/**
 * When a write is acknowledged, in IndexedDB's terms. strict: its transaction completed and was
 * flushed to disk (survives power loss). relaxed: its transaction completed (survives the death of
 * the page, tab, browser or process). deferred: it is in memory, and is stored within a bounded
 * delay.
 */
export type Durability = "strict" | "relaxed" | "deferred";

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

/** The source of ids in responses. */
export interface RandomSource {
  /** Fills the whole array with random bytes. */
  fill(bytes: Uint8Array<ArrayBuffer>): void;
}

export type WarningCode =
  /** "auto" found no usable IndexedDB: the store is in memory and is lost with the page. */
  | "PersistenceUnavailable"
  /** The browser may evict this origin's data when space runs out. Reported once per page. */
  | "StorageNotPersisted"
  /** Part of the log failed verification: the store is read-only, see status.damage. */
  | "Damaged"
  /** The log could not be shortened. No data is lost, but opening takes longer. */
  | "CheckpointFailed"
  /** thread: "worker" could not start a worker: the store runs in the page. */
  | "WorkerUnavailable"
  /**
   * A page passed an account's key to a client for an address other than this machine. Every
   * visitor of the page can read the key.
   */
  | "AccountKeyInPage";

export interface StoreWarning {
  code: WarningCode;
  message: string;
}

/** The account that the REST entry point (fetch, httpClient) serves, and how strictly. */
export interface AccountOptions {
  /**
   * Default: the store's name. Requests address it as `https://<name>.table.core.windows.net/` or
   * `http://127.0.0.1:10002/<name>/`.
   */
  name?: string;
  /** Base64, as in a connection string. A signature by any of these keys is valid. */
  keys?: readonly string[];
  /**
   * Reject requests without a valid signature (Shared Key, or SAS by one of `keys`). Default false:
   * all requests are allowed.
   */
  authorize?: boolean;
  /** Reject values of x-ms-version that the service does not know. Default false. */
  strictVersions?: boolean;
  /** Reject signatures that are more than 15 minutes old. Default false. */
  strictDates?: boolean;
  /** Reject a $filter with more than 15 comparisons, as the service documents. Default false. */
  limitComparisons?: boolean;
  /** Without CORS rules, respond as if one rule allowed everything. Default false. */
  permissiveCors?: boolean;
}

export interface OpenOptions {
  /** 1–63 of [A-Za-z0-9._-]; default "default". */
  name?: string;
  /** Default "auto": IndexedDB where available, otherwise memory with a warning. "file": Node. */
  persistence?: Persistence;
  /** For "file": the folder that contains a folder for each store. Created if missing. */
  path?: string;
  /** Default "strict". */
  durability?: Durability;
  /** 0–1000, default 200: how long a deferred write may wait (at most 1000 under load). */
  deferredDelayMs?: number;
  /**
   * Approximate number of bytes of rows to keep in memory. Default 512 MiB; 0: no limit. Rows are
   * read from storage when they are first needed. Beyond the limit, the least recently used rows
   * are unloaded, and pages may be shorter than requested, with a continuation token. Rows written
   * since the last checkpoint always stay in memory, and so do all rows of a store in memory.
   */
  memoryLimit?: number;
  /**
   * The WebAssembly module, or its location. Default: entitable.core.wasm next to this package's
   * code, and entitable.rest.wasm when it is needed.
   */
  wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
  /**
   * For stores in IndexedDB. "shared" (default): one tab runs the store and serves the others.
   * "exclusive": a second tab that opens the store gets StoreLocked. Without Web Locks (plain HTTP)
   * every store is exclusive.
   */
  tabs?: "shared" | "exclusive";
  /**
   * Where the engine runs: in the page (default), or in a worker that is started for this store, so
   * that long lists and transactions do not block the page. Each call is then a message round trip.
   * If no worker can start, the store runs inline, with a warning. "worker" cannot be combined with
   * `clock`.
   */
  thread?: "inline" | "worker";
  /**
   * Whether to ask the browser not to evict the data (navigator.storage.persist()); default
   * "never".
   */
  requestPersistence?: "never" | "on-open" | "on-first-write";
  clock?: Clock;
  /** Default: the platform's. Stored data does not depend on it. */
  random?: RandomSource;
  /** Writes reject; default false. */
  readOnly?: boolean;
  account?: AccountOptions;
  /** Cancels opening, for example while another tab or process holds the store. */
  signal?: AbortSignalLike;
  /** Called with each warning. The package never prints to the console. */
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
  /**
   * The tab that runs the store: this tab (or its worker), or another tab that serves its calls.
   */
  readonly owner: "self" | "other-tab";
  /** Bytes that were acknowledged (deferred) and are not yet stored. */
  readonly pendingBytes: number;
  readonly lastPersistedAt: Date | undefined;
  /** Increases whenever the store gets a new owner. */
  readonly generation: number;
  /** The browser promised not to evict this origin's storage. Always true with "file". */
  readonly persisted: boolean;
  /** What failed verification at opening. If not empty, the store is read-only. */
  readonly damage: readonly StoreDamage[];
}

export interface TableStats {
  name: string;
  rows: number;
  bytes: number;
}

export interface StoreStats {
  tables: TableStats[];
  /** Exact number of rows. After opening, the rows that the log changed are read to count them. */
  rows: number;
  /** Bytes of packed rows. */
  bytes: number;
  /** Bytes of the index that holds the rows. */
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
  /** Everything that is stored can be read back: `damage` is empty. */
  ok: boolean;
  /** The files that were read. A store in memory has none. */
  files: { manifest: FileCount; parts: FileCount; segments: FileCount };
  damage: StoreDamage[];
  /**
   * Parts that do not belong to the store: of a checkpoint that is being written, or that was never
   * completed. They are harmless.
   */
  orphans: number;
}

export type SnapshotSource = ArrayBuffer | ArrayBufferView | Blob | ReadableStream<Uint8Array>;

export type RestoreMode = "replace" | "merge";

export interface RestoreOptions {
  /**
   * "replace" (default): the store then holds exactly the snapshot, including timestamps and ETags.
   * This is one step, which a crash or a full disk leaves undone. "merge": its entities are
   * inserted or replaced with new timestamps, and missing tables are created, in groups. A failure
   * leaves some groups applied, each completely.
   */
  mode?: RestoreMode;
}

/** Counts of what the snapshot contained. */
export interface RestoreReport {
  tables: number;
  entities: number;
}

export type FileFormat = "ndjson" | "json" | "csv";

export interface ExportOptions {
  table: string;
  /** A filter, and the names of the properties to export. Default: everything. */
  query?: TableEntityQueryOptions;
  format: FileFormat;
  /**
   * Default true: writes the types of the properties, so that importing the file produces the same
   * entities. In CSV, types are columns `name@type`, as in Azure Storage Explorer.
   */
  typed?: boolean;
  signal?: AbortSignalLike;
}

/** A string is the file's text. Streams are read as fast as rows are stored. */
export type ImportSource = string | SnapshotSource;

/**
 * What happens to an existing entity. "insert" (default): the row is rejected. "upsert": the row is
 * merged into the entity. "replace": the row replaces the entity.
 */
export type ImportMode = "insert" | "upsert" | "replace";

export interface ImportedRow {
  /** The line on which the row begins, from 1. */
  line: number;
  /** All properties are pairs of type and value. May be changed. */
  entity: TableEntity;
}

export interface ImportOptions {
  /** Created if missing. */
  table: string;
  format: FileFormat;
  mode?: ImportMode;
  /** For CSV: the types of columns without a type column. Default: String. */
  types?: Readonly<Record<string, EdmTypes>>;
  /**
   * Called with each row before it is written. A returned entity is written instead; null skips the
   * row; undefined writes the row as it is now. If the function throws, the row is rejected.
   */
  onRow?: (
    row: ImportedRow,
  ) => TableEntity | null | undefined | Promise<TableEntity | null | undefined>;
  /** Called from time to time with the counts so far. */
  onProgress?: (progress: ImportProgress) => void;
  /** The durability of each batch. Default: the store's. */
  durability?: Durability;
  signal?: AbortSignalLike;
}

export interface ImportProgress {
  /** Rows that were read. */
  rows: number;
  written: number;
  /** Rows that onRow skipped. */
  skipped: number;
  rejected: number;
}

export interface RejectedRow {
  line: number;
  message: string;
  /** The service's error code, if the service's rules rejected the row. */
  code?: string;
  partitionKey?: string;
  rowKey?: string;
}

export interface ImportReport extends ImportProgress {
  /** The first 1000 of the rejected rows, by line. */
  rejections: RejectedRow[];
  /** False: the rest of the source could not be read. The last of `rejections` states why. */
  complete: boolean;
}

export interface StoreEvents {
  status: StoreStatus;
  persisted: { at: Date };
  "persist-error": { error: Error; pendingBytes: number; retryInMs: number | undefined };
  /** The connection to IndexedDB was lost and reopened. */
  reopened: { at: Date };
  /**
   * More than 80 % of the origin's quota is used, in bytes, by the browser's estimate for the whole
   * origin. Usage is checked when a store in IndexedDB opens and after checkpoints, at most once a
   * minute. The event fires once above 80 %, then after each further 5 %, and again whenever usage
   * falls below 80 % and returns.
   */
  quota: { usage: number; quota: number };
  /**
   * The store held data, last known at `lastSeen`, and was found empty: the browser evicted the
   * data, or it was deleted without this package. Fires once, after openStore has resolved. Best
   * effort: the page records the date in localStorage.
   */
  evicted: { lastSeen: Date };
  /** The store has a new owner: another tab, or this one. */
  owner: { owner: "self" | "other-tab" };
  /**
   * Another tab runs an incompatible version of the package. If it is newer, this store is closed.
   */
  "version-conflict": { ours: number; theirs: number };
}

export interface StoreInfo {
  name: string;
  persistence: "indexeddb" | "file";
}

/** Where a store is kept, as given when it was opened. */
export interface StoreLocation {
  /** Default "auto". */
  persistence?: Persistence;
  /** For "file": the folder that contains the stores. */
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
  /**
   * Text, bytes, Blob, FormData, a stream of the platform or of Node, or a function that returns
   * one.
   */
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
  /**
   * Returns a table handle. The table does not have to exist, and nothing happens until a method is
   * called.
   */
  table<T extends object = Record<string, unknown>>(
    name: string,
    options?: TableOptions<T>,
  ): Table<T>;
  tableClient(name: string): TableClient;
  serviceClient(): TableServiceClient;
  /**
   * Serves the Table service's REST protocol from this store, with the interface of the platform's
   * fetch, without a network. Does not depend on `this`. Errors of the service are responses;
   * rejects with StoreError only if the store cannot respond.
   */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;
  /**
   * The same for the official clients: `new TableClient(url, name, { httpClient: store.httpClient
   * })`.
   */
  readonly httpClient: HttpClient;
  /** Resolves when all earlier writes are stored. */
  flush(): Promise<void>;
  stats(): Promise<StoreStats>;
  /**
   * Reads every stored file back and checks it, and the store in memory, while the store stays in
   * use. Needs about the store's memory a second time until it ends. Damage is in the report;
   * rejects with StoreError if there is no report.
   */
  verify(): Promise<VerifyReport>;
  /**
   * Writes a checkpoint. When it resolves, all earlier writes are in the stored parts and no longer
   * in the log. Rejects with StoreError if the checkpoint could not be stored; then nothing has
   * changed.
   */
  compact(): Promise<void>;
  /**
   * Returns all current tables, entities, access policies and service properties as one checksummed
   * file. The bytes are the same for the same content, in browsers and Node.
   */
  snapshot(): Promise<Uint8Array>;
  /**
   * Reads a snapshot and checks all of it before it changes anything. Rejects with StoreError
   * Corrupted or FormatTooNew if a check fails. Concurrent writes are applied before or after the
   * restore.
   */
  restore(source: SnapshotSource, options?: RestoreOptions): Promise<RestoreReport>;
  /**
   * Returns a table, or the result of a query on it, as a file, page by page as the stream is read.
   * Nothing happens before the first read. Each page is consistent; entities written meanwhile may
   * or may not be in the file. The stream fails with RestError (the table does not exist, a bad
   * filter) or StoreError.
   */
  export(options: ExportOptions): ReadableStream<Uint8Array>;
  /**
   * Writes the entities of a file into a table, in batches of up to 100 per partition. Each batch
   * is stored completely or not at all. A row that cannot be read, or that is rejected, is in the
   * report with its line, and the others are written. Rejects with StoreError if the store cannot
   * be written, with AbortError, and with the source's error; some batches may then have been
   * written.
   */
  import(source: ImportSource, options: ImportOptions): Promise<ImportReport>;
  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void;
  /** Stores pending writes, then releases the store. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// ---- Watching requests -----------------------------------------------------------------------

/**
 * The operation of a request. `upsert` has a mode. `unknown`: the operation cannot be determined.
 */
export type Operation =
  | "get"
  | "query"
  | "explain"
  | "insert"
  /** Replaces an entity that must exist. */
  | "update"
  /** Merges into an entity that must exist. */
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

/** The names in a request. Names that are absent or cannot be read are undefined. */
export interface RequestDescription {
  operation: Operation;
  /** The mode of an `upsert`. */
  mode?: UpdateMode;
  /**
   * As spelled in the request. For a batch: the table of its first operation; likewise the
   * partition key.
   */
  table?: string;
  partitionKey?: string;
  rowKey?: string;
  filter?: string;
  select?: string[];
  top?: number;
  /** The operations of a batch; empty if the batch cannot be read. */
  operations?: RequestDescription[];
}
