// Client of one table, with the methods, types and checks of the official TableClient, over RPC
// messages.

import { StoreError } from "../errors.ts";
import { rejectWithHint, withHint } from "../hints/add-hint.ts";
import { mapResponse, type Transport } from "../transport.ts";
import type {
  BulkActions,
  BulkOptions,
  BulkResult,
  CountOptions,
  CreateTableEntityResponse,
  DeleteTableEntityOptions,
  DeleteTableEntityResponse,
  Durability,
  EdmTypes,
  Explain,
  GetTableEntityOptions,
  ListEntitiesOptions,
  ListTableEntitiesOptions,
  LiveCountOptions,
  LiveOptions,
  LiveQuery,
  OperationOptions,
  PagedAsyncIterableIterator,
  PageSettings,
  PartitionKeysPage,
  RawEntity,
  Resolver,
  StoreWarning,
  Table,
  TableClient,
  TableEntity,
  TableEntityResult,
  TableEntityResultPage,
  TableTransactionResponse,
  TransactionAction,
  UpdateEntityResponse,
  UpdateMode,
  UpdateTableEntityOptions,
  UpsertEntityResponse,
  WriteOptions,
} from "../types.ts";
import { copyOf, requireKnownOptions } from "../util/option-names.ts";
import { inDevelopment } from "./development.ts";
import { convertEntityBySchema } from "./entity-resolver.ts";
import { openLiveQuery } from "./live-queries.ts";
import type { QuerySource } from "./live-state.ts";
import {
  checkOperationOptions,
  countOptions,
  filterAndSelect,
  operationOptions,
  readOptions,
  rejectUnknownOptions,
  requireKeys,
  requireList,
  tableOptions,
  writeKind,
  writeOptions,
} from "./operation-checks.ts";
import {
  checkedPageSize,
  decodeEntityToken,
  decodeTableToken,
  encodeEntityToken,
  encodeTableToken,
  pagedIterator,
} from "./paging.ts";
import { type PointReadBatcher, pointReadBatcher } from "./point-read-batcher.ts";
import type { RowCount } from "./response-decoder.ts";
import type {
  EntityQuery,
  PartitionKeysQuery,
  RequestEncoder,
  ResponseDecoder,
  WriteOperation,
} from "./rpc-codec.ts";
import { storeCodec } from "./store-codec.ts";
import { createTable, deleteTable } from "./table-service-client.ts";
import { operationsFromActions, transactionResponse } from "./transaction.ts";

// Defaults that a handle applies to all its calls.
export interface TableHandleOptions {
  types?: Record<string, EdmTypes> | undefined;
  durability?: Durability | undefined;
  resolver?: Resolver<object> | undefined;
  // Whether the handle has the options that the official client lacks, and rejects unknown options.
  extended?: boolean;
  onWarning?: ((warning: StoreWarning) => void) | undefined;
}

// The names of options.
const listOptions = [...readOptions, "top", "order"];
const bulkOptions = ["concurrency", "onError", "signal", "onProgress"];
const bulkHints = { abortSignal: "Pass it as signal." };
const liveOptions = ["queryOptions", "limit", "from"];

// A method of all sources of live queries: there may be very many, and closures of each would take
// memory.
function rejectWith(this: QuerySource, error: unknown): Promise<never> {
  return rejectWithHint(error, { table: this.table, filter: this.filter });
}

// Implements the public types TableClient (the official types) and Table<T> (typed by T). They
// differ only in their types.
export class TableHandle
  implements TableClient, Pick<Table, "bulk" | "count" | "explain" | "partitionKeys">
{
  readonly tableName: string;
  readonly #transport: Transport;
  readonly #encoder: RequestEncoder;
  readonly #decoder: ResponseDecoder;
  readonly #pointReadBatcher: PointReadBatcher | undefined;
  readonly #types: Record<string, EdmTypes> | undefined;
  readonly #durability: Durability | undefined;
  readonly #resolver: Resolver<object> | undefined;
  readonly #extended: boolean;
  readonly #onWarning: TableHandleOptions["onWarning"];

  constructor(transport: Transport, tableName: string, options: TableHandleOptions = {}) {
    this.tableName = tableName;
    this.#transport = transport;
    const { encoder, decoder } = storeCodec(transport);
    this.#encoder = encoder;
    this.#decoder = decoder;
    this.#pointReadBatcher = pointReadBatcher(transport);
    this.#types = options.types;
    this.#durability = options.durability;
    this.#resolver = options.resolver;
    this.#extended = options.extended ?? false;
    this.#onWarning = options.onWarning;
  }

  async createTable(options: OperationOptions & WriteOptions = {}): Promise<void> {
    if (this.#extended) rejectUnknownOptions("createTable", options, tableOptions);
    await createTable(this.#transport, this.tableName, this.#withDurability(options));
  }

  async deleteTable(options: OperationOptions & WriteOptions = {}): Promise<void> {
    if (this.#extended) rejectUnknownOptions("deleteTable", options, tableOptions);
    await deleteTable(this.#transport, this.tableName, this.#withDurability(options));
  }

  // ---- Reading ----------------------------------------------------------------------------------

  // Throws synchronously if a key is missing, like the official client. Not async, so that a point
  // read costs only one promise.
  getEntity<T extends object = Record<string, unknown>>(
    partitionKey: string,
    rowKey: string,
    options: GetTableEntityOptions = {},
  ): Promise<TableEntityResult<T>> {
    requireKeys(partitionKey, rowKey);
    try {
      checkOperationOptions(options);
      if (this.#extended) rejectUnknownOptions("getEntity", options, readOptions, filterAndSelect);
      const select = options.queryOptions?.select;
      requireList(select);
      if (select === undefined && options.disableTypeConversion !== true) {
        const batched = this.#tryBatchedRead(partitionKey, rowKey);
        if (batched !== undefined) return batched as Promise<TableEntityResult<T>>;
      }
      const response = this.#encoder.get(this.tableName, partitionKey, rowKey, select, (request) =>
        this.#transport.read(request, options.abortSignal),
      );
      const decode = (message: Uint8Array) => {
        try {
          const entity = this.#decoder.entity(message, options);
          return (
            this.#usesResolver(options) ? this.#applyResolver(entity) : entity
          ) as TableEntityResult<T>;
        } catch (error) {
          return rejectWithHint(error, { table: this.tableName, partitionKey, rowKey });
        }
      };
      return Promise.resolve(mapResponse(response, decode));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  // Queues the read in a batch and returns a promise of the entity. Returns undefined if the read
  // was not queued, so the caller must read the entity itself.
  #tryBatchedRead(partitionKey: unknown, rowKey: unknown): Promise<object> | undefined {
    if (typeof partitionKey !== "string" || typeof rowKey !== "string") return undefined;
    const batched = this.#pointReadBatcher?.tryEnqueue(this.tableName, partitionKey, rowKey);
    if (this.#resolver === undefined) return batched;
    return batched?.then((entity) => this.#applyResolver(entity));
  }

  listEntities<T extends object = Record<string, unknown>>(
    options: ListTableEntitiesOptions = {},
  ): PagedAsyncIterableIterator<TableEntityResult<T>, TableEntityResultPage<T>> {
    const { top } = this.#extended ? (options as ListEntitiesOptions) : {};
    const readPage = (settings: PageSettings) => this.#readPage<T>(options, settings);
    return pagedIterator((settings) => this.#withHint(readPage, settings, options), top);
  }

  // Calls `read`, and adds a hint to its error.
  #withHint<R>(
    read: (settings: PageSettings) => R | Promise<R>,
    settings: PageSettings,
    { queryOptions }: ListTableEntitiesOptions,
  ): R | Promise<R> {
    return withHint(
      () => read(settings),
      () => ({ table: this.tableName, ...queryOptions, ...settings }),
    );
  }

  #readPage<T>(
    options: ListTableEntitiesOptions,
    settings: PageSettings,
  ): TableEntityResultPage<T> | Promise<TableEntityResultPage<T>> {
    checkOperationOptions(options);
    const descending = this.#extended && isDescending("listEntities", options);
    const query: EntityQuery = { ...entityQuery(options, settings), descending };
    const response = this.#encoder.query(this.tableName, query, (request) =>
      this.#transport.read(request, options.abortSignal),
    );
    const decode = (message: Uint8Array): TableEntityResultPage<T> => {
      const { rows, next } = this.#decoder.page(message, options);
      const shaped = this.#usesResolver(options)
        ? rows.map((row) => this.#applyResolver(row))
        : rows;
      const page = shaped as TableEntityResultPage<T>;
      if (next !== undefined) page.continuationToken = encodeEntityToken(next);
      else if (rows.length === 0 && query.next === undefined) this.#checkFilter(query.filter);
      return page;
    };
    return mapResponse(response, decode);
  }

  #usesResolver({ disableTypeConversion }: ListTableEntitiesOptions): boolean {
    return this.#resolver !== undefined && disableTypeConversion !== true;
  }

  readonly #applyResolver = (entity: object): object =>
    convertEntityBySchema(entity as RawEntity, this.#resolver as Resolver<object>);

  // Each response counts up to the first rows that are not in memory.
  async count(options: CountOptions = {}): Promise<number> {
    rejectUnknownOptions("count", options, countOptions, ["filter"]);
    const { filter } = options.queryOptions ?? {};
    let total = 0;
    let query: EntityQuery | undefined = filter === undefined ? {} : { filter };
    while (query !== undefined) {
      checkOperationOptions(options);
      const response = this.#encoder.count(this.tableName, query, (request) =>
        this.#transport.read(request, options.abortSignal),
      );
      const read = () => mapResponse(response, (message) => this.#decoder.count(message));
      const counted: RowCount = await this.#withHint(read, {}, options);
      total += counted.rows;
      query = counted.next === undefined ? undefined : { ...query, next: counted.next };
    }
    if (total === 0) this.#checkFilter(options.queryOptions?.filter);
    return total;
  }

  // In development, checks a filter that matched no row.
  #checkFilter(filter: string | undefined): void {
    const onWarning = this.#onWarning;
    if (filter === undefined || onWarning === undefined) return;
    inDevelopment((checks, readRows) =>
      checks.checkFilter(this.#transport, this.tableName, filter, onWarning, readRows),
    );
  }

  partitionKeys(options: OperationOptions = {}): ReturnType<Table["partitionKeys"]> {
    const readPage = (settings: PageSettings) => this.#readPartitionKeys(options, settings);
    return pagedIterator((settings) => this.#withHint(readPage, settings, {}));
  }

  #readPartitionKeys(
    options: OperationOptions,
    settings: PageSettings,
  ): PartitionKeysPage | Promise<PartitionKeysPage> {
    rejectUnknownOptions("partitionKeys", options, operationOptions);
    checkOperationOptions(options);
    const query: PartitionKeysQuery = {};
    if (settings.maxPageSize !== undefined) query.top = checkedPageSize(settings.maxPageSize);
    if (settings.continuationToken) query.next = decodeTableToken(settings.continuationToken);
    const response = this.#encoder.partitionKeys(this.tableName, query, (request) =>
      this.#transport.read(request, options.abortSignal),
    );
    return mapResponse(response, (message) => {
      const { names, next } = this.#decoder.tables(message);
      const page: PartitionKeysPage = names;
      if (next !== undefined) page.continuationToken = encodeTableToken(next);
      return page;
    });
  }

  async explain(options: ListTableEntitiesOptions = {}): Promise<Explain> {
    checkOperationOptions(options);
    if (this.#extended) isDescending("explain", options);
    const query = entityQuery(options, {});
    const response = this.#encoder.explain(this.tableName, query, (request) =>
      this.#transport.read(request, options.abortSignal),
    );
    const read = () => mapResponse(response, (message) => this.#decoder.explain(message));
    return this.#withHint(read, {}, options);
  }

  // ---- Live queries -----------------------------------------------------------------------------

  live(options: LiveOptions = {}): LiveQuery<readonly object[]> {
    return openLiveQuery(this.#transport, () => this.listSource("live", options));
  }

  liveEntity(partitionKey: string, rowKey: string): LiveQuery<object | undefined> {
    requireKeys(partitionKey, rowKey);
    return openLiveQuery(this.#transport, () => this.entitySource(partitionKey, rowKey));
  }

  liveCount(options: LiveCountOptions = {}): LiveQuery<number> {
    return openLiveQuery(this.#transport, () => this.countSource("liveCount", options));
  }

  // The following functions are for observed queries, too.

  belongsTo(transport: Transport): boolean {
    return this.#transport === transport;
  }

  // The next three return what a live query reads, or throw the error of the options of `method`.

  listSource(method: string, options: LiveOptions): QuerySource {
    rejectUnknownOptions(method, options, liveOptions, filterAndSelect);
    const { queryOptions: { filter, select } = {}, limit, from } = options;
    requireList(select);
    const copies = { select: copyOf(select), from: copyOf(from) }; // the caller may change them
    return this.#source({ result: "list", filter, limit, ...copies });
  }

  entitySource(partitionKey: string, rowKey: string): QuerySource {
    requireKeys(partitionKey, rowKey);
    return this.#source({ result: "entity", from: { partitionKey, rowKey } });
  }

  countSource(method: string, options: LiveCountOptions): QuerySource {
    rejectUnknownOptions(method, options, ["queryOptions"], ["filter"]);
    const { filter } = options.queryOptions ?? {};
    // Only what a count needs: there may be very many.
    return { result: "count", table: this.tableName, filter, rejectWith };
  }

  #source(
    query: Pick<QuerySource, "result" | "filter" | "select" | "limit" | "from">,
  ): QuerySource {
    const table = this.tableName;
    const convert = this.#resolver === undefined ? undefined : this.#applyResolver;
    const { result, filter, select, limit, from } = query;
    const resolver = this.#resolver;
    return { result, table, filter, select, limit, from, convert, resolver, rejectWith };
  }

  // ---- Writing ----------------------------------------------------------------------------------

  // Each write method awaits at most once, since every further async layer delays the result by a
  // microtask.
  async createEntity<T extends object>(
    entity: TableEntity<T>,
    options: OperationOptions & WriteOptions = {},
  ): Promise<CreateTableEntityResponse> {
    const { partitionKey, rowKey } = entity;
    const operation = { kind: "insert", partitionKey, rowKey, entity } as const;
    const response = this.#sendWrite([operation], false, options);
    const message = response instanceof Promise ? await response : response;
    return this.#writeResponse(message, operation, "return-no-content");
  }

  // Throws synchronously if a key is missing, like the official client.
  updateEntity<T extends object>(
    entity: TableEntity<T>,
    mode: UpdateMode = "Merge",
    options: UpdateTableEntityOptions & WriteOptions = {},
  ): Promise<UpdateEntityResponse> {
    const { partitionKey, rowKey } = entity;
    requireKeys(partitionKey, rowKey, entity);
    return this.#update(entity, mode, options);
  }

  async #update(
    entity: TableEntity<object>,
    mode: UpdateMode,
    options: UpdateTableEntityOptions & WriteOptions,
  ): Promise<UpdateEntityResponse> {
    const { partitionKey, rowKey } = entity;
    const kind = writeKind(mode, "merge", "replace");
    const etag = options.etag ?? "*";
    const operation = { kind, partitionKey, rowKey, entity, etag } as const;
    const response = this.#sendWrite([operation], false, options);
    return this.#writeResponse(response instanceof Promise ? await response : response, operation);
  }

  async upsertEntity<T extends object>(
    entity: TableEntity<T>,
    mode: UpdateMode = "Merge",
    options: OperationOptions & WriteOptions = {},
  ): Promise<UpsertEntityResponse> {
    const { partitionKey, rowKey } = entity;
    requireKeys(partitionKey, rowKey, entity);
    const kind = writeKind(mode, "insertOrMerge", "insertOrReplace");
    const operation = { kind, partitionKey, rowKey, entity } as const;
    const response = this.#sendWrite([operation], false, options);
    return this.#writeResponse(response instanceof Promise ? await response : response, operation);
  }

  // Throws synchronously if a key is missing, like the official client.
  deleteEntity(
    partitionKey: string,
    rowKey: string,
    options: DeleteTableEntityOptions & WriteOptions = {},
  ): Promise<DeleteTableEntityResponse> {
    requireKeys(partitionKey, rowKey);
    return this.#delete(partitionKey, rowKey, options);
  }

  async #delete(
    partitionKey: string,
    rowKey: string,
    options: DeleteTableEntityOptions & WriteOptions,
  ): Promise<DeleteTableEntityResponse> {
    const operation = { kind: "delete", partitionKey, rowKey, etag: options.etag ?? "*" } as const;
    const response = this.#sendWrite([operation], false, options);
    return this.#writeResponse(response instanceof Promise ? await response : response, operation);
  }

  async submitTransaction(
    actions: readonly Readonly<TransactionAction>[],
    options: OperationOptions & WriteOptions = {},
  ): Promise<TableTransactionResponse> {
    const operations = operationsFromActions(actions);
    const response = this.#sendWrite(operations, true, options);
    const message = response instanceof Promise ? await response : response;
    return withHint(
      () => transactionResponse(operations, this.#decoder.etagsOfWrite(message)),
      () => ({ table: this.tableName, operations }),
    );
  }

  // The bulk module is loaded on first use, since most pages never use it.
  async bulk(actions: BulkActions, options: BulkOptions = {}): Promise<BulkResult> {
    if (this.#extended) requireKnownOptions("bulk", options, bulkOptions, bulkHints);
    const { bulk } = await import("../bulk/index.ts");
    return await bulk(this, actions, options);
  }

  // Sends the write and returns its response, with the lifetime of Transport.read(). Callers do not
  // use mapResponse(), because of its additional promise.
  #sendWrite(
    operations: readonly WriteOperation[],
    transaction: boolean,
    options: OperationOptions & WriteOptions,
  ): Uint8Array | Promise<Uint8Array> {
    checkOperationOptions(options);
    if (this.#extended) rejectUnknownOptions("A write", options, writeOptions);
    const { durability, abortSignal } = this.#withDurability(options);
    return this.#encoder.write(this.tableName, operations, transaction, this.#types, (message) =>
      this.#transport.write(message, durability, abortSignal),
    );
  }

  // Decodes the response to a single write.
  #writeResponse(
    response: Uint8Array,
    operation: WriteOperation,
    preferenceApplied?: string,
  ): CreateTableEntityResponse | Promise<never> {
    try {
      const etag = this.#decoder.etagOfWrite(response);
      const date = new Date(this.#transport.now());
      const written: CreateTableEntityResponse = etag === undefined ? { date } : { date, etag };
      if (preferenceApplied !== undefined) written.preferenceApplied = preferenceApplied;
      return written;
    } catch (error) {
      return rejectWithHint(error, { table: this.tableName, operations: [operation] });
    }
  }

  #withDurability<O extends WriteOptions>(options: O): O {
    if (this.#durability === undefined || options.durability !== undefined) return options;
    return { ...options, durability: this.#durability };
  }
}

// Checks the options of a list, and returns its order.
function isDescending(method: string, options: ListEntitiesOptions): boolean {
  rejectUnknownOptions(method, options, listOptions, filterAndSelect);
  const { top, order } = options;
  if (top !== undefined && !(Number.isSafeInteger(top) && top >= 0)) {
    throw new StoreError("ValidationFailed", `top must be a whole number from 0, not ${top}.`);
  }
  if (order !== undefined && order !== "asc" && order !== "desc") {
    throw new StoreError(
      "ValidationFailed",
      `order must be one of asc, desc, not ${String(order)}.`,
    );
  }
  return order === "desc";
}

function entityQuery(options: ListTableEntitiesOptions, settings: PageSettings): EntityQuery {
  const query: EntityQuery = {};
  const { filter, select } = options.queryOptions ?? {};
  if (filter !== undefined) query.filter = filter;
  requireList(select);
  if (select !== undefined) query.select = select;
  const top = settings.maxPageSize;
  if (top !== undefined) query.top = checkedPageSize(top);
  if (settings.continuationToken) query.next = decodeEntityToken(settings.continuationToken);
  return query;
}
