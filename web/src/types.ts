// The public types. Those up to "Bulk" have the names and shapes of @azure/data-tables 13, and are
// mutually assignable with its types (checked by tests/web/types.test-d.ts). Most of the others are
// this package's additions.
//
// They compile with TypeScript 5.2 and the libraries ES2022 and DOM (declarations.test.ts).

/// <reference lib="esnext.disposable" preserve="true" />

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

/**
 * An entity as read. Keys and timestamp are absent if a `select` omits them. The ETag is always
 * present.
 */
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

/** The part of AbortSignal that the package uses, as in the official client. */
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
   * Cancels the call. If the signal is already aborted, the call has no effect. A write is
   * cancelled only while it waits in the queue; after that, aborting is ignored.
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

export type BulkActions<A extends readonly unknown[] = TransactionAction> =
  | Iterable<Readonly<A>>
  | AsyncIterable<Readonly<A>>;

export interface BulkProgress {
  /** Actions that were read from the input so far. */
  read: number;
  done: number;
  failed: number;
  /** Transactions that were sent so far. */
  requests: number;
}

export interface BulkOptions {
  /** How many transactions run at the same time, each on a different partition. Default 4. */
  concurrency?: number;
  /**
   * What happens after an action failed. "stop" (default): no further transaction starts, and the
   * call rejects with BulkError. "continue": the other actions are carried out, and the result
   * lists the failures. The call still stops if all other actions would fail too, because the table
   * does not exist, or the store is closed or full.
   */
  onError?: "stop" | "continue";
  /**
   * If the signal aborts, no further transaction starts. The call ends when the running ones have
   * ended.
   */
  signal?: AbortSignalLike;
  /** Called after each transaction. */
  onProgress?: (progress: BulkProgress) => void;
}

export interface BulkFailure {
  /** The action's index in the input, from 0. */
  index: number;
  action: TransactionAction;
  error: Error;
  /**
   * Whether the action may have been carried out nevertheless: its response was lost, or the
   * service failed.
   */
  uncertain: boolean;
}

export interface BulkResult extends Omit<BulkProgress, "failed"> {
  failed: BulkFailure[];
  /**
   * Indexes of actions that were read from the input but not attempted. Actions after the last one
   * that was read were not attempted either, but are not listed.
   */
  notAttempted: number[];
}

// ---- Paging ----------------------------------------------------------------------------------

export interface PageSettings {
  continuationToken?: string | undefined;
  maxPageSize?: number | undefined;
}

export interface PagedAsyncIterableIterator<
  TElement,
  TPage = TElement[],
  TPageSettings = PageSettings,
> {
  next(): Promise<IteratorResult<TElement>>;
  /** Ends the iteration and releases its resources. Not in the official type. */
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
  /** The kind of the widest range that the query reads. */
  kind: PlanKind;
  ranges: ExplainRange[];
  rowsRead: number;
  rowsReturned: number;
  bytesRead: number;
  /** The kind of scan by which the real service would run the query. */
  serviceKind: PlanKind;
  /** How many requests it would take to read the whole result from the service. */
  serviceRoundTrips: number;
  /** How many transactions the service would bill for these requests. */
  serviceTransactions: number;
  warnings: ExplainWarning[];
}

// ---- Clients ---------------------------------------------------------------------------------

export interface WriteOptions {
  /** The durability of this call. Default: the table handle's, otherwise the store's. */
  durability?: Durability;
}

/** The methods of the official TableClient of @azure/data-tables, for one table of a store. */
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
    actions: readonly Readonly<TransactionAction>[],
    options?: OperationOptions & WriteOptions,
  ): Promise<TableTransactionResponse>;
}

// ---- Live queries ----------------------------------------------------------------------------

export interface LiveSnapshot<R> {
  /** The result. undefined: it was not read yet, or the table does not exist. */
  readonly data: R | undefined;
  /**
   * "loading": the first result is being read. "error": `error` says why there is no result. If the
   * table does not exist, the query becomes "ready" when it is created. If rows could not be read,
   * the query tries again later.
   */
  readonly status: "loading" | "ready" | "error";
  readonly error?: Error;
  /**
   * The position in the change feed (ChangeBatch.sequence) of a commit at which the store returns
   * exactly `data`. It rises, but not with commits that change nothing in `data`.
   */
  readonly sequence: bigint;
}

/** What changed between two results of a live query, in the order of the keys. */
export interface LiveDelta<E> {
  readonly sequence: bigint;
  /** `index` is the position in the new result. */
  readonly inserted: readonly { readonly index: number; readonly entity: E }[];
  /** `index` is the position in the new result. */
  readonly updated: readonly {
    readonly index: number;
    readonly entity: E;
    readonly previous: E;
  }[];
  /** `index` is the position in the previous result. */
  readonly deleted: readonly { readonly index: number; readonly entity: E }[];
}

export interface LiveExplain {
  /** The number of entities that the query has read, and whose changes it follows. */
  rowsWatched: number;
  /** `EveryWriteTested`: the query tests every write to a table. */
  warnings: ExplainWarning[];
}

/**
 * The result of a query, which follows the changes of the store. It must be closed when it is no
 * longer needed.
 *
 * A write of a matching entity is a change even if no selected property changed, because the ETag
 * changes.
 */
export interface LiveQuery<R, E = unknown> {
  /**
   * Returns the present result: the same object until it changes. Unchanged entities stay the same
   * objects. Do not change what it returns.
   */
  getSnapshot(): LiveSnapshot<R>;
  /**
   * Calls the function after the snapshot has changed, once for all commits of a turn of the event
   * loop. By then, all live queries of the store show these commits. Returns a function that ends
   * the subscription.
   */
  subscribe(listener: () => void): () => void;
  /**
   * Calls the function with each change of the result, before the functions of subscribe(). Counts
   * and queries of observe() have no such changes. Returns a function that ends the subscription.
   */
  onDelta(listener: (delta: LiveDelta<E>) => void): () => void;
  /**
   * Yields the present result, and then the newest one whenever it has changed. Results in between
   * are skipped. Ends when the query or the store is closed. Throws if the status becomes "error".
   */
  [Symbol.asyncIterator](): AsyncIterator<R, undefined>;
  /** Resolves to the first result. Rejects like listEntities if there is none. */
  readonly ready: Promise<R>;
  /**
   * Resolves to how many entities the query follows, and to warnings. Zero and none after close().
   * Waits for the first result. Rejects with the error of the snapshot.
   */
  explain(): Promise<LiveExplain>;
  /**
   * The result changes no more. If there was none yet, the status becomes "error", with AbortError.
   */
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LiveOptions<
  T extends object = Record<string, unknown>,
  K extends string = string,
> {
  queryOptions?:
    | { filter?: string | Filter<T> | undefined; select?: readonly K[] | undefined }
    | undefined;
  /** The most entities to return: those with the smallest keys. Default: all. */
  limit?: number | undefined;
  /** The first key that may be returned. */
  from?: { partitionKey: string; rowKey: string } | undefined;
}

/**
 * What a query of observe() reads. All that one run reads is of one version of the store. The
 * tables are handles of the same store. Do not change what the methods return.
 */
export interface Reader {
  /** Resolves to the entities that Table.live() shows with the same options. */
  entities<T extends object, K extends PropertyName<T> = never>(
    table: Table<T>,
    options?: LiveOptions<T, K>,
  ): Promise<readonly EntityResult<T, K>[]>;
  entities<T extends object, K extends string = never>(
    table: ResolvedTable<T>,
    options?: LiveOptions<Record<string, unknown>, K>,
  ): Promise<readonly ResolvedEntity<T, K>[]>;
  /** Resolves to an entity; to undefined, if there is none. */
  entity<T extends object>(
    table: Table<T>,
    partitionKey: string,
    rowKey: string,
  ): Promise<EntityResult<T> | undefined>;
  entity<T extends object>(
    table: ResolvedTable<T>,
    partitionKey: string,
    rowKey: string,
  ): Promise<ResolvedEntity<T> | undefined>;
  /** Resolves to the number of entities that match the filter. */
  count<T extends object>(table: WritableTable<T>, options?: LiveCountOptions<T>): Promise<number>;
}

export interface LiveCountOptions<T extends object = Record<string, unknown>> {
  queryOptions?: { filter?: string | Filter<T> | undefined } | undefined;
}

/** A live query that is open. */
export interface OpenLiveQuery {
  /** The same number in each list, as long as the query is open. */
  readonly id: number;
  /** The method that opened it. */
  readonly kind: "live" | "liveEntity" | "liveCount" | "observe";
  /** The table; for observe(), the tables that the function has read. */
  readonly tables: readonly string[];
  readonly filter?: string;
  readonly select?: readonly string[];
  readonly limit?: number;
  /** The first key; for liveEntity(), the key. */
  readonly from?: { readonly partitionKey: string; readonly rowKey: string };
  readonly status: LiveSnapshot<unknown>["status"];
  /** As in LiveExplain. */
  readonly rowsWatched: number;
  readonly warnings: readonly ExplainWarning[];
  /** How many changes the query was sent; for observe(), how often the function has run. */
  readonly hits: number;
  /**
   * How many entities the last change concerned, and its position in the change feed. A count shows
   * only the difference. Absent: there was no change since the entities were read, or the query is
   * of observe().
   */
  readonly lastDelta?: {
    readonly sequence: bigint;
    readonly inserted: number;
    readonly updated: number;
    readonly deleted: number;
  };
}

// ---- Change feed -----------------------------------------------------------------------------

/** What a commit did to an entity. */
export interface Change<T = Record<string, unknown>> {
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly op: "insert" | "update" | "delete";
  /** The entity after an insert or update. */
  readonly after?: TableEntityResult<T>;
  /** The entity before an update or delete, with the option `before`. Changes that the feed reads
   * from the log do not have it. */
  readonly before?: TableEntityResult<T>;
}

/** The changes of one commit: a single write, or a transaction. */
export interface ChangeBatch<T = Record<string, unknown>> {
  /**
   * The position of the commit in the change feed. It rises from commit to commit, even if another
   * tab takes the store over, but not always by 1.
   */
  readonly sequence: bigint;
  /** The newest timestamp that the store had issued by then. */
  readonly at: Date;
  /**
   * "local": this tab made the changes, or the store is not shared. "other-tab": another tab did,
   * or an earlier page of this one. "sync": the rows come from a remote table. That includes rows
   * that were pushed from here: once the remote has them, they have its Timestamp and ETag, so a
   * local write appears a second time, with the same properties. "restore": the changes come from
   * a snapshot.
   */
  readonly origin: "local" | "other-tab" | "sync" | "restore";
  readonly changes: readonly Change<T>[];
  readonly tables?: readonly { readonly table: string; readonly op: "create" | "delete" }[];
}

export interface ChangesOptions {
  /**
   * The sequence of a batch (ChangeBatch.sequence): the feed begins after it. 0n: with the first
   * commit. If the changes are not in the log any more, the feed fails with FeedTruncated. It also
   * does if a crash has lost the commit with this sequence; but after a power failure, the sequence
   * of a lost "relaxed" or "deferred" write may be that of another commit.
   */
  since?: bigint | undefined;
  /** Default: all tables. */
  tables?: readonly string[] | undefined;
  partitionKey?: string | undefined;
  /** Row keys from `from`, inclusive, up to `to`, exclusive. Needs `partitionKey`. */
  rowKey?: { from?: string | undefined; to?: string | undefined } | undefined;
  /**
   * An entity's change is included if the filter matches the entity before or after it. The log
   * does not have the entity before: of the changes that are read from there, all deletes and
   * updates are included.
   */
  filter?: string | undefined;
  /**
   * Whether changes have the entity before the change. Default false. An update or a delete without
   * `before` was read from the log.
   */
  before?: boolean | undefined;
  /** Whether each property is its text and its Edm type, as in lists. Default false. */
  disableTypeConversion?: boolean | undefined;
  /** Ends the feed with AbortError. */
  signal?: AbortSignalLike | undefined;
}

export interface FeedReaderOptions extends Omit<ChangesOptions, "before"> {
  /**
   * Where a new reader begins: after this sequence. 0n: with the first commit that is still in the
   * log. Default: with the next commit. A reader that the store knows continues where it was.
   */
  since?: bigint | undefined;
  /** Stops waiting for the reader, and later closes it. */
  signal?: AbortSignalLike | undefined;
}

/**
 * A durable reader of the change feed: the store keeps its position, and the log after it. At most
 * one tab has the reader of a name at a time.
 */
export interface FeedReader extends AsyncDisposable {
  readonly name: string;
  /** Everything up to this sequence was handled: acknowledged, or before the reader began. */
  readonly acknowledged: bigint;
  /**
   * Resolves to the next batch, when there is one. Rejects with FeedTruncated if the store does not
   * have it any more: read the tables again, and then acknowledge `firstSequence - 1n` of the
   * error. After another error, the next call goes on after what was acknowledged.
   */
  next(): Promise<IteratorResult<ChangeBatch, undefined>>;
  /**
   * Records that everything up to the batch of this sequence was handled. Resolves when this is
   * stored: whatever happens later, the reader never gets these batches again. Batches that were
   * not acknowledged come again: in the reader of this name that is opened next, and after next()
   * has rejected. Storing it takes a checkpoint, so acknowledge many batches at once.
   */
  ack(sequence: bigint): Promise<void>;
  /** Closes the reader. The store keeps its position, so that it can be opened again. */
  close(): Promise<void>;
  /**
   * Removes the reader from the store, and closes it. The log is no longer kept for it. A tab that
   * waits in store.reader() for this name adds it again.
   */
  remove(): Promise<void>;
  /** Closes the reader. */
  return(): Promise<IteratorResult<ChangeBatch, undefined>>;
  [Symbol.asyncIterator](): FeedReader;
}

/** The changes of the store, in the order of the commits. Iterate over it once. */
export interface ChangeFeed {
  /**
   * Resolves when the feed is open: all later commits are in it. With `since`, resolves when the
   * first changes were read. If a write is being stored, the feed opens when that write is visible,
   * or has failed. While it is unknown whether the write is stored, the feed waits; it rejects if
   * the store becomes read-only meanwhile.
   */
  readonly ready: Promise<void>;
  /**
   * A feed since this sequence has what this feed has not returned yet. It rises with what next()
   * returns, and may rise with commits that are not in the feed. undefined: the feed is not open
   * yet.
   */
  readonly position: bigint | undefined;
  next(): Promise<IteratorResult<ChangeBatch, undefined>>;
  /** Closes the feed. */
  return(): Promise<IteratorResult<ChangeBatch, undefined>>;
  [Symbol.asyncIterator](): ChangeFeed;
}

// ---- Tables of one entity type ---------------------------------------------------------------

/** What a property can hold. */
export type PropertyValue = string | number | boolean | bigint | Date | Uint8Array | Edm<EdmTypes>;

/** The constraint of an entity type T, as `T extends Storable<T>`: each property can be stored. */
export type Storable<T> = {
  [K in keyof T]: unknown extends T[K] ? unknown : PropertyValue | null | undefined;
};

/**
 * What may be written for a property of type T: the value, the value with its Edm type, or null. A
 * property that is null is not stored.
 */
export type EntityInput<T extends object> = { [K in keyof T]: T[K] | Edm<EdmTypes> | null };

/** One action of a transaction or of bulk() on a Table<T>. */
export type TableAction<T extends object = Record<string, unknown>> =
  | ["create", TableEntity<EntityInput<T>>]
  | ["delete", { partitionKey: string; rowKey: string }]
  | ["update" | "upsert", TableEntity<Partial<EntityInput<T>>>]
  | ["update" | "upsert", TableEntity<Partial<EntityInput<T>>>, UpdateMode]
  | [
      "update" | "upsert",
      TableEntity<Partial<EntityInput<T>>>,
      UpdateMode,
      UpdateTableEntityOptions | undefined,
    ];

/** The properties that every stored entity has. */
export interface SystemProperties {
  etag: string;
  partitionKey: string;
  rowKey: string;
  timestamp: string;
}

/**
 * A name that `select` may contain: of a property of T or of a key, as in entities or as in the
 * service. "*" selects everything.
 */
export type PropertyName<T> =
  | (T extends unknown ? keyof T & string : never)
  | keyof SystemProperties
  | "PartitionKey"
  | "RowKey"
  | "Timestamp"
  | "*";

/** A property as read with `disableTypeConversion`: the text of its value, and its Edm type. */
export interface UnconvertedValue {
  value: string;
  type: EdmTypes;
}

/**
 * An entity as read from a Table<T>.
 *
 * K: the names in `select`; never: there is no `select`. A selected property that an entity lacks
 * is null. The ETag is always present.
 *
 * Raw: whether `disableTypeConversion` is set.
 */
export type EntityResult<
  T extends object,
  K extends string = never,
  Raw extends boolean = false,
> = SelectedProperties<Raw extends true ? UnconvertedProperties<T> : T, K>;

type UnconvertedProperties<T> = {
  [P in keyof T as P extends keyof SystemProperties ? never : P]: UnconvertedValue;
};

type SelectedProperties<T, K extends string> = T extends unknown
  ? [K] extends [never]
    ? T & SystemProperties
    : string extends K
      ? Partial<T> & Partial<SystemProperties> & { etag: string }
      : "*" extends K
        ? T & SystemProperties
        : {
            [P in "etag" | ClientName<K>]: P extends keyof SystemProperties
              ? string
              : SelectedValue<T, P>;
          }
  : never;

type ClientName<K extends string> = K extends "PartitionKey" | "RowKey" | "Timestamp"
  ? Uncapitalize<K>
  : K;

type SelectedValue<T, P extends string> = P extends keyof T
  ? Record<never, never> extends Pick<T, P>
    ? Exclude<T[P], undefined> | null
    : T[P]
  : null;

export type EntityResultPage<E> = E[] & { continuationToken?: string };

declare const filteredType: unique symbol;

/** A `$filter` for entities of type T, as `where` returns it. It is a string. */
export type Filter<T> = string & { readonly [filteredType]?: T };

export interface GetEntityOptions<K extends string = string, Raw extends boolean = boolean>
  extends OperationOptions {
  queryOptions?: { select?: readonly K[] | undefined } | undefined;
  disableTypeConversion?: Raw | undefined;
}

export interface ListEntitiesOptions<
  T extends object = Record<string, unknown>,
  K extends string = string,
  Raw extends boolean = boolean,
> extends OperationOptions {
  queryOptions?:
    | { filter?: string | Filter<T> | undefined; select?: readonly K[] | undefined }
    | undefined;
  disableTypeConversion?: Raw | undefined;
  /** The most entities to return. Default: all. */
  top?: number | undefined;
  /**
   * The order of the keys. Default "asc". The service cannot read in descending order. A
   * continuation token is valid only for lists in the same order.
   */
  order?: "asc" | "desc" | undefined;
}

export interface CountOptions<T extends object = Record<string, unknown>> extends OperationOptions {
  queryOptions?: { filter?: string | Filter<T> | undefined } | undefined;
}

export type PartitionKeysPage = string[] & { continuationToken?: string };

/** A TableClient whose entities are all of type T, with additional methods. */
export interface Table<T extends object = Record<string, unknown>> extends WritableTable<T> {
  getEntity<K extends PropertyName<T> = never, Raw extends boolean = false>(
    partitionKey: string,
    rowKey: string,
    options?: GetEntityOptions<K, Raw>,
  ): Promise<EntityResult<T, K, Raw>>;
  listEntities<K extends PropertyName<T> = never, Raw extends boolean = false>(
    options?: ListEntitiesOptions<T, K, Raw>,
  ): PagedAsyncIterableIterator<EntityResult<T, K, Raw>, EntityResultPage<EntityResult<T, K, Raw>>>;
  /** Opens a live query: what listEntities returns for these options, as long as it is open. */
  live<K extends PropertyName<T> = never>(
    options?: LiveOptions<T, K>,
  ): LiveQuery<readonly EntityResult<T, K>[], EntityResult<T, K>>;
  /** Opens a live query of one entity. Its result is undefined while the entity does not exist. */
  liveEntity(
    partitionKey: string,
    rowKey: string,
  ): LiveQuery<EntityResult<T> | undefined, EntityResult<T>>;
}

/**
 * The handle of a table with a resolver. The entities that are read are what the resolver returns,
 * so `select` and filters name properties that T may lack.
 */
export interface ResolvedTable<T extends object> extends WritableTable<T> {
  getEntity<K extends string = never>(
    partitionKey: string,
    rowKey: string,
    options?: GetEntityOptions<K>,
  ): Promise<ResolvedEntity<T, K>>;
  listEntities<K extends string = never>(
    options?: ListEntitiesOptions<Record<string, unknown>, K>,
  ): PagedAsyncIterableIterator<ResolvedEntity<T, K>, EntityResultPage<ResolvedEntity<T, K>>>;
  /** If the resolver rejects an entity, the live query ends with its error. */
  live<K extends string = never>(
    options?: LiveOptions<Record<string, unknown>, K>,
  ): LiveQuery<readonly ResolvedEntity<T, K>[], ResolvedEntity<T, K>>;
  liveEntity(
    partitionKey: string,
    rowKey: string,
  ): LiveQuery<ResolvedEntity<T> | undefined, ResolvedEntity<T>>;
}

/** An entity that a resolver returned. Keys and timestamp may be absent if there is a `select`. */
export type ResolvedEntity<T extends object, K extends string = never> = T &
  ([K] extends [never] ? SystemProperties : Partial<SystemProperties> & { etag: string });

/** The methods of table handles that do not depend on how entities are read. */
export interface WritableTable<T extends object = Record<string, unknown>> {
  readonly tableName: string;
  createTable(options?: OperationOptions & WriteOptions): Promise<void>;
  deleteTable(options?: OperationOptions & WriteOptions): Promise<void>;
  createEntity(
    entity: TableEntity<EntityInput<T>>,
    options?: OperationOptions & WriteOptions,
  ): Promise<CreateTableEntityResponse>;
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
    actions: TableAction<T>[],
    options?: OperationOptions & WriteOptions,
  ): Promise<TableTransactionResponse>;
  // An overload, so that the table remains one for code that passes mutable arrays of any actions,
  // such as LargeValues and what is written for the official client.
  submitTransaction(
    actions: readonly Readonly<TableAction<T>>[],
    options?: OperationOptions & WriteOptions,
  ): Promise<TableTransactionResponse>;
  /**
   * Carries out any number of actions. They are sent as transactions of at most 100 actions.
   * Actions on the same partition run in order; each action succeeds or fails independently.
   * Rejects with BulkError (entitable/bulk) if it stopped before the end.
   */
  bulk(actions: BulkActions<TableAction<T>>, options?: BulkOptions): Promise<BulkResult>;
  /**
   * Resolves to the number of entities that match the filter; without a filter, of all entities. If
   * the filter compares only keys, no entity is read. Entities that are written meanwhile may or
   * may not be counted.
   */
  count(options?: CountOptions<T>): Promise<number>;
  /** Opens a live query of the number of entities that match the filter. */
  liveCount(options?: LiveCountOptions<T>): LiveQuery<number, never>;
  /**
   * Lists the keys of the partitions that have entities, in ascending order. Reads one entity of
   * each partition.
   */
  partitionKeys(options?: OperationOptions): PagedAsyncIterableIterator<string, PartitionKeysPage>;
  /**
   * Resolves to how listEntities would run with the same options, and what the real service would
   * do. Rows that are not in memory are loaded part by part; writes meanwhile may or may not count.
   */
  explain(options?: ListEntitiesOptions<T>): Promise<Explain>;
}

export interface TableServiceClient {
  createTable(name: string, options?: OperationOptions & WriteOptions): Promise<void>;
  deleteTable(name: string, options?: OperationOptions & WriteOptions): Promise<void>;
  listTables(
    options?: ListTableItemsOptions,
  ): PagedAsyncIterableIterator<TableItem, TableItemResultPage>;
}

/** An entity as read, before a resolver converts it. */
export type RawEntity = TableEntityResult<Record<string, unknown>>;

/**
 * The part of the Standard Schema interface that this package uses. Zod, Valibot, ArkType and
 * others implement the interface. Validation must be synchronous.
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
 * Converts each entity that is read by the schema of its type, for tables with several entity
 * types.
 */
export interface Resolver<T extends object> {
  /**
   * How to find an entity's type: the name of the property that contains it, or a function that
   * returns it.
   */
  discriminator: string | ((entity: RawEntity) => string | undefined);
  /**
   * The schema of each type: a Standard Schema, or a function that converts the entity. If the
   * result lacks keys, ETag or timestamp, they are added.
   */
  schemas: Readonly<Record<string, StandardSchema<T> | ((entity: RawEntity) => T)>>;
  /**
   * What happens to entities of an unknown type. "raw" (default): they are returned unchanged.
   * "error": the call rejects.
   */
  otherwise?: "raw" | "error";
}

export interface TableOptions<T extends object = Record<string, unknown>> {
  /** Converts the entities that are read. Cannot be combined with `disableTypeConversion`. */
  resolver?: Resolver<T> | undefined;
  /**
   * The Edm types of properties whose values are plain numbers. With { price: "Double" }, the price
   * 3 is stored as a Double instead of an Int32.
   */
  types?: Partial<Record<keyof T, EdmTypes>>;
  /** The durability of this handle's writes. Default: the store's. */
  durability?: Durability;
}

// ---- Store -----------------------------------------------------------------------------------

export type Persistence = "auto" | "memory" | "indexeddb" | "file";

/**
 * When a write is acknowledged. "strict": its IndexedDB transaction has completed and was flushed
 * to disk, so it survives a power failure. "relaxed": its transaction has completed, so it survives
 * the end of the page, tab, browser or process. "deferred": the write is in memory, and is stored
 * within a bounded time.
 */
export type Durability = "strict" | "relaxed" | "deferred";

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

/** Bytes in an ArrayBuffer. (Before TypeScript 5.7, Uint8Array has no type parameter.) */
export type ArrayBufferBytes = ReturnType<Uint8Array["slice"]>;

/** The source of the ids in responses. */
export interface RandomSource {
  /** Fills the whole array with random bytes. */
  fill(bytes: ArrayBufferBytes): void;
}

export type WarningCode =
  /** "auto" found no usable IndexedDB. The store is in memory, and is lost when the page closes. */
  | "PersistenceUnavailable"
  /** The browser may evict this origin's data when disk space runs out. Reported once per page. */
  | "StorageNotPersisted"
  /** Part of the stored data is damaged. The store is read-only; see status.damage. */
  | "Damaged"
  /** The log could not be shortened. No data is lost, but opening the store takes longer. */
  | "CheckpointFailed"
  /** With thread: "worker", no worker could be started. The store runs in the page. */
  | "WorkerUnavailable"
  /**
   * In development: a query returned no row and cannot match one, because its filter misspells a
   * property or compares it with a value of another type.
   */
  | "FilterCannotMatch"
  /**
   * In development: an HTTP request of a client (over `httpClient`, `fetch`, a server or an
   * interceptor) got an error that programs rarely expect. The message has the hint.
   */
  | "RequestRejected"
  /**
   * In development: a client of `entitable/data-tables` ignored an option that it does not have, as
   * the official client does.
   */
  | "OptionIgnored"
  /**
   * The `seed` of a synced store cannot be downloaded or restored, so everything is read from the
   * remote. The message says why.
   */
  | "SeedNotUsed"
  /**
   * A page passed an account's key to a client whose URL is not on this machine. Every visitor of
   * the page can read the key.
   */
  | "AccountKeyInPage";

export interface StoreWarning {
  code: WarningCode;
  message: string;
}

/**
 * The account that the REST entry point (fetch, httpClient) serves, and how strictly it checks
 * requests.
 */
export interface AccountOptions {
  /**
   * The account's name; default: the store's name. Requests address the account as
   * `https://<name>.table.core.windows.net/` or `http://127.0.0.1:10002/<name>/`.
   */
  name?: string;
  /**
   * The account's keys in base64, as in a connection string. Signatures by any of them are valid.
   */
  keys?: readonly string[];
  /**
   * Reject requests without a valid signature (Shared Key, or a shared access signature by one of
   * `keys`). Default false: every request is allowed.
   */
  authorize?: boolean;
  /**
   * With `authorize`: also accept bearer tokens (Microsoft Entra ID) over HTTPS, as Azurite's
   * `--oauth basic` does. Issuer, audience and lifetime are checked, the signature is not, so this
   * option is for development. Default false.
   */
  bearerTokens?: boolean;
  /** Reject values of x-ms-version that the service does not know. Default false. */
  strictVersions?: boolean;
  /** Reject signatures that are more than 15 minutes old. Default false. */
  strictDates?: boolean;
  /** Reject a $filter with more than 15 comparisons, as the service documents. Default false. */
  limitComparisons?: boolean;
  /** If no CORS rules are set, respond as if a rule allowed everything. Default false. */
  permissiveCors?: boolean;
}

export interface OpenOptions {
  /** The store's name: 1 to 63 of A-Z a-z 0-9 . _ -. Default "default". */
  name?: string;
  /**
   * Where the store is kept. Default "auto": in IndexedDB, or if there is none in memory, with a
   * warning. "file" needs Node.
   */
  persistence?: Persistence;
  /** For "file": the folder in which each store has its own folder. Created if missing. */
  path?: string;
  /** The default durability of writes. Default "strict". */
  durability?: Durability;
  /**
   * How long a deferred write waits before it is stored, in milliseconds: 0 to 1000, default 200.
   * It also waits for a group of writes that is being stored.
   */
  deferredDelayMs?: number;
  /**
   * About how many bytes of rows are kept in memory. Default 512 MiB; 0: no limit. Rows are read
   * from storage when they are first needed. Above the limit, the least recently used rows are
   * unloaded, and pages may be shorter than requested, with a continuation token. Rows written
   * since the last checkpoint stay in memory; if they fill most of the limit, writes wait for a
   * checkpoint. If a log to be opened has more such rows, opening writes checkpoints; with
   * `readOnly` it rejects with OutOfMemory. The limit does not apply to stores in memory.
   */
  memoryLimit?: number;
  /**
   * How much of the log the store keeps, at most, for durable readers of the change feed that have
   * not acknowledged it: bytes in storage (default 16 MiB), and the age (default 7 days). It keeps
   * the log in these limits for feeds that read it, too, for at most 10 minutes after their last
   * request. Otherwise it keeps nothing. A reader or feed that needs more gets FeedTruncated.
   */
  history?: { bytes?: number; ageMs?: number };
  /**
   * The WebAssembly module or its URL. Default: entitable.core.wasm next to this package's code,
   * and entitable.rest.wasm, entitable.live.wasm, entitable.snapshot.wasm and entitable.sync.wasm
   * once they are needed.
   */
  wasm?: string | URL | Response | BufferSource | WebAssembly.Module;
  /**
   * How tabs use the same store in IndexedDB. "shared" (default): one tab runs the store, and the
   * others send their calls to that tab. "exclusive": a second tab that opens the store gets
   * StoreLocked. Without Web Locks (plain HTTP) every store is exclusive.
   */
  tabs?: "shared" | "exclusive";
  /**
   * Where the engine runs. "inline" (default): in the page. "worker": in a worker that is started
   * for this store, so that long lists and transactions do not block the page. Each call is then a
   * message to the worker and back. If no worker can start, the store runs in the page, with a
   * warning. "worker" cannot be combined with `clock`.
   */
  thread?: "inline" | "worker";
  /**
   * When to ask the browser not to evict the data (navigator.storage.persist()). Default "never".
   */
  requestPersistence?: "never" | "on-open" | "on-first-write";
  clock?: Clock;
  /**
   * The source of the ids in responses. Default: the platform's. Stored data does not depend on it.
   */
  random?: RandomSource;
  /** Whether all writes are rejected. Default false. */
  readOnly?: boolean;
  /**
   * The version of the data that the program needs: a whole number from 1. If the stored data has
   * an older version, `upgrade` changes it; if it has a newer one, opening rejects with
   * VersionConflict. The version is a row of the table `EntitableVersion`. Default: no version.
   */
  version?: number;
  /**
   * Changes the data from an older version; the version of a new store is 0. Runs before openStore
   * resolves, in one tab, while no other tab that passes `version` has the store open: tabs with an
   * older version close the store, and their later calls reject with VersionConflict. If it rejects
   * or the page ends, what it has written stays, the version does not change, and it runs again
   * when the store is next opened. It must therefore be able to run twice.
   */
  upgrade?: (upgrade: Upgrade) => Promise<void> | void;
  account?: AccountOptions;
  /** Cancels opening, for example while another tab or process has the store open. */
  signal?: AbortSignalLike;
  /**
   * Called with each warning. Without it, PersistenceUnavailable, WorkerUnavailable,
   * FilterCannotMatch, RequestRejected and OptionIgnored are printed on the console; the package
   * prints nothing else.
   */
  onWarning?: (warning: StoreWarning) => void;
}

export interface Upgrade {
  readonly store: Store;
  readonly oldVersion: number;
  readonly newVersion: number;
}

export interface StoreDamage {
  /** The damaged file: "manifest", "part-…" or "wal-…". */
  file: string;
  message: string;
}

export interface StoreStatus {
  readonly state: "open" | "read-only" | "closed";
  readonly persistence: "memory" | "indexeddb" | "file";
  /**
   * Which tab runs the store: this tab (or its worker), or another tab, to which this tab sends its
   * calls.
   */
  readonly owner: "self" | "other-tab";
  /** How many bytes of deferred writes were acknowledged but are not stored yet. */
  readonly pendingBytes: number;
  readonly lastPersistedAt: Date | undefined;
  /** A number that increases whenever another tab or process becomes the store's owner. */
  readonly generation: number;
  /** Whether the browser has promised not to evict this origin's data. Always true for "file". */
  readonly persisted: boolean;
  /** What was found damaged on opening or later. If not empty, the store is read-only. */
  readonly damage: readonly StoreDamage[];
}

export interface TableStats {
  name: string;
  rows: number;
  bytes: number;
}

/** How full the storage of a store is. A browser's numbers are estimates. */
export interface StorageStats {
  /**
   * Bytes in use: by all storage of the site or, in Node, on the file system. Absent if unknown.
   */
  usage?: number;
  /** Bytes that may be in use. Absent if unknown. */
  quota?: number;
  /**
   * Bytes that the store holds back. When nothing else is free, deletes and checkpoints use them.
   * Included in `usage`. Stores with less than 1 MB hold nothing back.
   */
  reserve: number;
}

export interface StoreStats {
  tables: TableStats[];
  /**
   * The exact number of rows. After opening, rows that the log changed must be read to count them.
   */
  rows: number;
  /** Bytes of all rows in the store's packed form. */
  bytes: number;
  /** Bytes of memory that the index with the rows uses, and what a checkpoint under way adds. */
  memoryBytes: number;
  pendingBytes: number;
  /** Number of log segments since the last checkpoint. */
  segments: number;
  segmentBytes: number;
  /** Absent for a store in memory. */
  storage?: StorageStats;
}

export interface FileCount {
  count: number;
  bytes: number;
}

export interface VerifyReport {
  /** Whether everything that is stored can be read back, that is, whether `damage` is empty. */
  ok: boolean;
  /** Number and size of the files that were read. A store in memory has none. */
  files: { manifest: FileCount; parts: FileCount; segments: FileCount };
  damage: StoreDamage[];
  /**
   * Number of part files that the store does not use, because their checkpoint is not complete or
   * never was. They do no harm.
   */
  orphans: number;
}

export type SnapshotSource = ArrayBuffer | ArrayBufferView | Blob | ReadableStream<Uint8Array>;

export type RestoreMode = "replace" | "merge";

export interface RestoreOptions {
  /**
   * "replace" (default): the store then contains exactly what the snapshot contains, including
   * timestamps and ETags. After a crash or on a full disk, nothing has changed. "merge": the
   * snapshot's entities are inserted or replaced in groups, with new timestamps, and missing tables
   * are created. If it fails, some groups have been applied, each of them completely.
   */
  mode?: RestoreMode;
}

/** How many tables and entities the snapshot contained. */
export interface RestoreReport {
  tables: number;
  entities: number;
}

export type FileFormat = "ndjson" | "json" | "csv";

export interface ExportOptions {
  table: string;
  /** The filter, and the properties to export. Default: all entities with all properties. */
  query?: TableEntityQueryOptions;
  format: FileFormat;
  /**
   * Whether to write the types of the properties, so that importing the file creates equal
   * entities. Default true. In CSV, types are in columns `name@type`, as in Azure Storage Explorer.
   */
  typed?: boolean;
  /**
   * Only for CSV: whether to write an apostrophe before text that a spreadsheet would run as a
   * formula. Default false: a spreadsheet that opens the file runs a cell such as `=cmd|…`. Set it
   * if others can write to the table and the file is for a spreadsheet.
   *
   * An apostrophe is added to a cell that begins with `=`, `+`, `-` or `@` (also full-width), a tab
   * or a line break, if it holds a key or a value that is no number. Int32, Int64 and Double values
   * are not changed. The file no longer holds the exact values, and an import does not remove the
   * apostrophes.
   */
  safeCells?: boolean;
  signal?: AbortSignalLike;
}

/**
 * Where a file's text comes from; a string is the text itself. A stream is read only as fast as
 * rows are stored.
 */
export type ImportSource = string | SnapshotSource;

/**
 * What happens to a row whose entity exists. "insert" (default): the row is rejected. "upsert": the
 * row is merged into the entity. "replace": the row replaces the entity.
 */
export type ImportMode = "insert" | "upsert" | "replace";

export interface ImportedRow {
  /** The line on which the row begins, from 1. */
  line: number;
  /** Each property is a pair { type, value }. The function may change the entity. */
  entity: TableEntity;
}

export interface ImportOptions {
  /** The table to write to. Created if missing. */
  table: string;
  format: FileFormat;
  mode?: ImportMode;
  /** For CSV: the types of columns that have no type column. Default: String. */
  types?: Readonly<Record<string, EdmTypes>>;
  /**
   * Called with each row before it is written. If it returns an entity, that entity is written
   * instead. If it returns null, the row is skipped. If it returns undefined, the row's entity is
   * written, which the function may have changed. If it throws, the row is rejected.
   */
  onRow?: (
    row: ImportedRow,
  ) => TableEntity | null | undefined | Promise<TableEntity | null | undefined>;
  /** Called repeatedly with the counts so far. */
  onProgress?: (progress: ImportProgress) => void;
  /** The durability of each transaction. Default: the store's. */
  durability?: Durability;
  signal?: AbortSignalLike;
}

export interface ImportProgress {
  /** Rows that were read so far. */
  rows: number;
  written: number;
  /** Rows that onRow skipped. */
  skipped: number;
  rejected: number;
}

export interface RejectedRow {
  line: number;
  message: string;
  /** The service's error code, if the row breaks a rule of the service. */
  code?: string;
  partitionKey?: string;
  rowKey?: string;
}

export interface ImportReport extends ImportProgress {
  /** The first 1000 rejected rows, ordered by line. */
  rejections: RejectedRow[];
  /** Whether the whole source was read. If false, the last of `rejections` says why. */
  complete: boolean;
}

export interface StoreEvents {
  status: StoreStatus;
  persisted: { at: Date };
  "persist-error": { error: Error; pendingBytes: number; retryInMs: number | undefined };
  /** The connection to IndexedDB was lost and reopened. */
  reopened: { at: Date };
  /**
   * More than 80 % of the origin's storage quota is used, according to the browser. Both numbers
   * are bytes. Usage is checked when a store in IndexedDB opens and after checkpoints, at most once
   * a minute. The event fires once above 80 %, then after each further 5 %. It fires again if usage
   * falls below 80 % and returns.
   */
  quota: { usage: number; quota: number };
  /**
   * The store held data at `lastSeen`, and is now empty: the browser has evicted the data, or other
   * code has deleted it. Fires once, after openStore has resolved. Eviction is not always detected,
   * because it is recorded in the page's localStorage that the store held data.
   */
  evicted: { lastSeen: Date };
  /** The store has a new owner: another tab, or this tab. */
  owner: { owner: "self" | "other-tab" };
  /**
   * Another tab uses a version of the package that cannot share the store with this one. If the
   * other version is newer, this store is closed.
   */
  "version-conflict": { ours: number; theirs: number };
}

export interface StoreInfo {
  name: string;
  persistence: "indexeddb" | "file";
}

/** Where a store is kept. Must be the same as when the store was opened. */
export interface StoreLocation {
  /** Default "auto". */
  persistence?: Persistence;
  /** For "file": the folder that contains the stores' folders. */
  path?: string;
}

// The types of the official clients' transport (the option `httpClient`).

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
   * Text, bytes, a Blob, FormData, a stream of the platform or of Node, or a function that returns
   * one of these.
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
   * Returns the handle of a table. The table does not have to exist: nothing happens until one of
   * the handle's methods is called. Without options, it is the same object for the same name.
   */
  table<T extends object>(
    name: string,
    options: TableOptions<T> & { resolver: Resolver<T> },
  ): ResolvedTable<T>;
  table<T extends Storable<T> = Record<string, unknown>>(
    name: string,
    options?: TableOptions<T> & { resolver?: undefined },
  ): Table<T>;
  tableClient(name: string): TableClient;
  serviceClient(): TableServiceClient;
  /**
   * Sends a request of the Table service's REST protocol to this store instead of the network. It
   * is used like the platform's fetch, and does not depend on `this`. Errors of the service are
   * responses. Rejects with StoreError if the store cannot respond.
   */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;
  /**
   * Does what `fetch` does, for the official clients: `new TableClient(url, name, { httpClient:
   * store.httpClient })`.
   */
  readonly httpClient: HttpClient;
  /** Resolves when all earlier writes are stored. */
  flush(): Promise<void>;
  stats(): Promise<StoreStats>;
  /**
   * Reads and checks every stored file, and checks the store in memory. The store stays usable.
   * During the check, it takes up to three times its memory. Damage is listed in the report.
   * Rejects with StoreError if there can be no report.
   */
  verify(): Promise<VerifyReport>;
  /**
   * Writes a checkpoint: after it, all earlier writes are in part files and no longer in the log.
   * Rejects with StoreError if the checkpoint could not be stored; nothing has changed then.
   */
  compact(): Promise<void>;
  /**
   * Resolves to a file with all current tables, entities, access policies and service properties,
   * protected by a checksum. The same content gives the same bytes, in browsers and in Node.
   */
  snapshot(): Promise<ReturnType<Uint8Array["slice"]>>; // of an ArrayBuffer, for new Blob([file])
  /**
   * Returns the file of `snapshot()` as a stream, which holds a small part of it in memory. The
   * file has the store's content at the time of the first read. Until the stream has ended, the
   * store keeps what it still needs of that content: read it to its end, or cancel it. The stream
   * fails with StoreError if the store closes, or with ConnectionLost if another tab takes the
   * store over.
   */
  snapshotStream(): ReadableStream<Uint8Array>;
  /**
   * Restores a snapshot. All of it is read and checked before anything changes, and a small part of
   * it is in memory at a time. Rejects with StoreError Corrupted or FormatTooNew if a check fails.
   * A concurrent write is applied either before or after the restore. If another tab takes the
   * store over, the source is read again; a stream cannot be, so the restore rejects with
   * ConnectionLost.
   */
  restore(source: SnapshotSource, options?: RestoreOptions): Promise<RestoreReport>;
  /**
   * Returns a table, or the result of a query on it, as a file. The stream reads one page after the
   * other, and nothing before its first read. Each page is consistent. Entities that are written
   * during the export may or may not be in the file. The stream fails with RestError (for example
   * if the table does not exist) or with StoreError.
   */
  export(options: ExportOptions): ReadableStream<Uint8Array>;
  /**
   * Writes the entities of a file into a table, in transactions of up to 100 entities of a
   * partition. Each transaction is stored completely or not at all. A row that cannot be read, or
   * that is rejected, is listed in the report; all other rows are written. Rejects with StoreError
   * if the store cannot be written, with AbortError, and with the source's error. Some rows may
   * have been written by then.
   */
  import(source: ImportSource, options: ImportOptions): Promise<ImportReport>;
  /**
   * Opens a live query whose result the function returns, or its promise resolves to. The function
   * may read any tables. It runs again when a commit has changed what one of its reads returned.
   * Runs do not overlap. If what a run has read changes before it has ended, its other reads are
   * rejected with AbortError, its result is ignored, and the function runs again. If a run rejects,
   * the snapshot has the error until what it has read changes; a read whose resolver has thrown is
   * not followed. A result that equals the last one, compared as plain objects, arrays, dates and
   * bytes, is no change. The function must have no other effects, and depend on nothing else that
   * changes. It should await only reads: while what it has read changes faster than it runs, no
   * result is shown.
   */
  observe<R>(query: (read: Reader) => R | Promise<R>): LiveQuery<R, never>;
  /**
   * Returns the live queries that were opened with this Store and not closed: for developer tools,
   * and to find queries that a program forgot to close.
   */
  liveQueries(): Promise<OpenLiveQuery[]>;
  /**
   * Opens the feed of all changes from now on, or after the sequence `since`, whichever tab makes
   * them: an item for each commit, in their order, when it becomes visible. Writes never wait for
   * the reader. If 1,000 batches wait to be read, or the tab that runs the store does not have the
   * changes in memory any more, the feed reads them from the log, which checkpoints then keep for
   * it within the limits of the option `history`. If the log does not have them either, the
   * iteration throws StoreError FeedTruncated: read the tables again. It also does after a
   * rollback, and after a restore that replaces the content. Ends when the store is closed.
   */
  changes(options?: ChangesOptions): ChangeFeed;
  /**
   * Opens the durable reader of this name, which is added if the store does not know it. It gets
   * the batches after those that it has acknowledged, in this page or in an earlier one. If another
   * tab has the reader, waits until that tab closes it, or ends. A store in memory knows its
   * readers until it is closed.
   */
  reader(name: string, options?: FeedReaderOptions): Promise<FeedReader>;
  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void;
  /** Stores pending writes and closes the store. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// ---- Watching requests -----------------------------------------------------------------------

/**
 * The operation of a request. An `upsert` has a mode. `unknown`: the request's operation cannot be
 * determined.
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
  /** A CORS preflight request from a page of another origin. */
  | "options"
  | "unknown";

/**
 * A request's operation and the names in it. A name that is absent or cannot be read is undefined.
 */
export interface RequestDescription {
  operation: Operation;
  /** The mode of an `upsert`. */
  mode?: UpdateMode;
  /**
   * The table, spelled as in the request. Of a batch, `table` and `partitionKey` are those of its
   * first operation.
   */
  table?: string;
  partitionKey?: string;
  rowKey?: string;
  filter?: string;
  select?: string[];
  top?: number;
  /** The operations in a batch. Empty if the batch cannot be read. */
  operations?: RequestDescription[];
}
