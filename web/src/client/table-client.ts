// Client of one table, with the methods, types and checks of the official TableClient, over RPC
// messages.

import { mapResponse, type Transport } from "../transport.ts";
import type {
  BulkActions,
  BulkOptions,
  BulkResult,
  CreateTableEntityResponse,
  DeleteTableEntityOptions,
  DeleteTableEntityResponse,
  Durability,
  EdmTypes,
  Explain,
  GetTableEntityOptions,
  ListTableEntitiesOptions,
  OperationOptions,
  PagedAsyncIterableIterator,
  PageSettings,
  RawEntity,
  Resolver,
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
import { convertEntityBySchema } from "./entity-resolver.ts";
import { checkOperationOptions, requireKeys, writeKind } from "./operation-checks.ts";
import { checkedPageSize, decodeEntityToken, encodeEntityToken, pagedIterator } from "./paging.ts";
import { type PointReadBatcher, pointReadBatcher } from "./point-read-batcher.ts";
import type { EntityQuery, RequestEncoder, ResponseDecoder, WriteOperation } from "./rpc-codec.ts";
import { storeCodec } from "./store-codec.ts";
import { createTable, deleteTable } from "./table-service-client.ts";
import { operationsFromActions, transactionResponse } from "./transaction.ts";

// Defaults that a handle applies to all its calls.
export interface TableHandleOptions {
  types?: Record<string, EdmTypes> | undefined;
  durability?: Durability | undefined;
  resolver?: Resolver<object> | undefined;
}

// Implements the public types TableClient (the official types) and Table<T> (typed by T). They
// differ only in their types.
export class TableHandle implements TableClient, Pick<Table, "bulk" | "explain"> {
  readonly tableName: string;
  readonly #transport: Transport;
  readonly #encoder: RequestEncoder;
  readonly #decoder: ResponseDecoder;
  readonly #pointReadBatcher: PointReadBatcher | undefined;
  readonly #types: Record<string, EdmTypes> | undefined;
  readonly #durability: Durability | undefined;
  readonly #resolver: Resolver<object> | undefined;

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
  }

  createTable(options: OperationOptions & WriteOptions = {}): Promise<void> {
    return createTable(this.#transport, this.tableName, this.#withDurability(options));
  }

  deleteTable(options: OperationOptions & WriteOptions = {}): Promise<void> {
    return deleteTable(this.#transport, this.tableName, this.#withDurability(options));
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
      const select = options.queryOptions?.select;
      if (select === undefined && options.disableTypeConversion !== true) {
        const batched = this.#tryBatchedRead(partitionKey, rowKey);
        if (batched !== undefined) return batched as Promise<TableEntityResult<T>>;
      }
      const response = this.#encoder.get(this.tableName, partitionKey, rowKey, select, (request) =>
        this.#transport.read(request, options.abortSignal),
      );
      const decode = (message: Uint8Array) => {
        const entity = this.#decoder.entity(message, options);
        return (
          this.#usesResolver(options) ? this.#applyResolver(entity) : entity
        ) as TableEntityResult<T>;
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
    return pagedIterator((settings) => this.#readPage<T>(options, settings));
  }

  #readPage<T>(
    options: ListTableEntitiesOptions,
    settings: PageSettings,
  ): TableEntityResultPage<T> | Promise<TableEntityResultPage<T>> {
    checkOperationOptions(options);
    const query = entityQuery(options, settings);
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
      return page;
    };
    return mapResponse(response, decode);
  }

  #usesResolver({ disableTypeConversion }: ListTableEntitiesOptions): boolean {
    return this.#resolver !== undefined && disableTypeConversion !== true;
  }

  #applyResolver(entity: object): object {
    return convertEntityBySchema(entity as RawEntity, this.#resolver as Resolver<object>);
  }

  async explain(options: ListTableEntitiesOptions = {}): Promise<Explain> {
    checkOperationOptions(options);
    const query = entityQuery(options, {});
    const response = this.#encoder.explain(this.tableName, query, (request) =>
      this.#transport.read(request, options.abortSignal),
    );
    return mapResponse(response, (message) => this.#decoder.explain(message));
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
    const written = this.#writeResponse(response instanceof Promise ? await response : response);
    written.preferenceApplied = "return-no-content";
    return written;
  }

  // Throws synchronously if a key is missing, like the official client.
  updateEntity<T extends object>(
    entity: TableEntity<T>,
    mode: UpdateMode = "Merge",
    options: UpdateTableEntityOptions & WriteOptions = {},
  ): Promise<UpdateEntityResponse> {
    const { partitionKey, rowKey } = entity;
    requireKeys(partitionKey, rowKey);
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
    return this.#writeResponse(response instanceof Promise ? await response : response);
  }

  async upsertEntity<T extends object>(
    entity: TableEntity<T>,
    mode: UpdateMode = "Merge",
    options: OperationOptions & WriteOptions = {},
  ): Promise<UpsertEntityResponse> {
    const { partitionKey, rowKey } = entity;
    requireKeys(partitionKey, rowKey);
    const kind = writeKind(mode, "insertOrMerge", "insertOrReplace");
    const operation = { kind, partitionKey, rowKey, entity } as const;
    const response = this.#sendWrite([operation], false, options);
    return this.#writeResponse(response instanceof Promise ? await response : response);
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
    return this.#writeResponse(response instanceof Promise ? await response : response);
  }

  async submitTransaction(
    actions: TransactionAction[],
    options: OperationOptions & WriteOptions = {},
  ): Promise<TableTransactionResponse> {
    const operations = operationsFromActions(actions);
    const response = this.#sendWrite(operations, true, options);
    const message = response instanceof Promise ? await response : response;
    return transactionResponse(operations, this.#decoder.etagsOfWrite(message));
  }

  // The bulk module is loaded on first use, since most pages never use it.
  async bulk(actions: BulkActions, options: BulkOptions = {}): Promise<BulkResult> {
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
    const { durability, abortSignal } = this.#withDurability(options);
    return this.#encoder.write(this.tableName, operations, transaction, this.#types, (message) =>
      this.#transport.write(message, durability, abortSignal),
    );
  }

  // Decodes the response to a single write.
  #writeResponse(response: Uint8Array): CreateTableEntityResponse {
    const etag = this.#decoder.etagOfWrite(response);
    const date = new Date(this.#transport.now());
    return etag === undefined ? { date } : { date, etag };
  }

  #withDurability<O extends WriteOptions>(options: O): O {
    if (this.#durability === undefined || options.durability !== undefined) return options;
    return { ...options, durability: this.#durability };
  }
}

function entityQuery(options: ListTableEntitiesOptions, settings: PageSettings): EntityQuery {
  const query: EntityQuery = {};
  const { filter, select } = options.queryOptions ?? {};
  if (filter !== undefined) query.filter = filter;
  if (select !== undefined) query.select = select;
  const top = settings.maxPageSize;
  if (top !== undefined) query.top = checkedPageSize(top);
  if (settings.continuationToken) query.next = decodeEntityToken(settings.continuationToken);
  return query;
}
