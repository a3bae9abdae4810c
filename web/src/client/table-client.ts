// One table, with the methods, shapes and checks of the official TableClient, over the direct door.

import type { Transport } from "../transport.ts";
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
import {
  decodeEntity,
  decodeExplain,
  decodePage,
  decodeWrite,
  decodeWritten,
  type EntityQuery,
  encodeExplain,
  encodeGet,
  encodeQuery,
  encodeWrite,
  type WriteOperation,
} from "./block.ts";
import { decodeEntityToken, encodeEntityToken, paged, pageSize } from "./paging.ts";
import { type PointReads, pointReads } from "./point-reads.ts";
import { resolved } from "./resolver.ts";
import { createTable, deleteTable } from "./table-service-client.ts";
import { operationsOf, transactionResponse } from "./transaction.ts";
import { checkOptions, requireKeys, writeKind } from "./write-rules.ts";

// What a handle may fix for all its calls.
export interface TableHandleOptions {
  types?: Record<string, EdmTypes> | undefined;
  durability?: Durability | undefined;
  resolver?: Resolver<object> | undefined;
}

// Serves both TableClient (the official types) and Table<T> (typed by T): they differ in types only.
export class TableHandle implements TableClient, Pick<Table, "bulk" | "explain"> {
  readonly tableName: string;
  readonly #transport: Transport;
  readonly #pointReads: PointReads | undefined;
  readonly #types: Record<string, EdmTypes> | undefined;
  readonly #durability: Durability | undefined;
  readonly #resolver: Resolver<object> | undefined;

  constructor(transport: Transport, tableName: string, options: TableHandleOptions = {}) {
    this.tableName = tableName;
    this.#transport = transport;
    this.#pointReads = pointReads(transport);
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

  // ---- Reading ------------------------------------------------------------------------------------------------------

  // Throws at the call if a key is missing, like the official client. Not async, so that a point read costs one promise.
  getEntity<T extends object = Record<string, unknown>>(
    partitionKey: string,
    rowKey: string,
    options: GetTableEntityOptions = {},
  ): Promise<TableEntityResult<T>> {
    requireKeys(partitionKey, rowKey);
    try {
      checkOptions(options);
      const select = options.queryOptions?.select;
      if (select === undefined && options.disableTypeConversion !== true) {
        const joined = this.#joined(partitionKey, rowKey);
        if (joined !== undefined) return joined as Promise<TableEntityResult<T>>;
      }
      const asked = encodeGet(this.tableName, partitionKey, rowKey, select);
      const reply = this.#transport.read(asked, options.abortSignal);
      const decode = (block: Uint8Array) => {
        const entity = decodeEntity(block, options);
        return (this.#resolves(options) ? this.#resolved(entity) : entity) as TableEntityResult<T>;
      };
      return reply instanceof Promise ? reply.then(decode) : Promise.resolve(decode(reply));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  // Undefined: it is to be made alone.
  #joined(partitionKey: unknown, rowKey: unknown): Promise<object> | undefined {
    if (typeof partitionKey !== "string" || typeof rowKey !== "string") return undefined;
    const joined = this.#pointReads?.join(this.tableName, partitionKey, rowKey);
    if (this.#resolver === undefined) return joined;
    return joined?.then((entity) => this.#resolved(entity));
  }

  listEntities<T extends object = Record<string, unknown>>(
    options: ListTableEntitiesOptions = {},
  ): PagedAsyncIterableIterator<TableEntityResult<T>, TableEntityResultPage<T>> {
    return paged((settings) => this.#readPage<T>(options, settings));
  }

  #readPage<T>(
    options: ListTableEntitiesOptions,
    settings: PageSettings,
  ): TableEntityResultPage<T> | Promise<TableEntityResultPage<T>> {
    checkOptions(options);
    const asked = encodeQuery(this.tableName, entityQuery(options, settings));
    const reply = this.#transport.read(asked, options.abortSignal);
    const decode = (block: Uint8Array): TableEntityResultPage<T> => {
      const { rows, next } = decodePage(block, options);
      const shaped = this.#resolves(options) ? rows.map((row) => this.#resolved(row)) : rows;
      const page = shaped as TableEntityResultPage<T>;
      if (next !== undefined) page.continuationToken = encodeEntityToken(next);
      return page;
    };
    return reply instanceof Promise ? reply.then(decode) : decode(reply);
  }

  #resolves({ disableTypeConversion }: ListTableEntitiesOptions): boolean {
    return this.#resolver !== undefined && disableTypeConversion !== true;
  }

  #resolved(entity: object): object {
    return resolved(entity as RawEntity, this.#resolver as Resolver<object>);
  }

  async explain(options: ListTableEntitiesOptions = {}): Promise<Explain> {
    checkOptions(options);
    const block = encodeExplain(this.tableName, entityQuery(options, {}));
    const reply = this.#transport.read(block, options.abortSignal);
    // Not awaited if it is here: it is a view that dies with the next call.
    return decodeExplain(reply instanceof Promise ? await reply : reply);
  }

  // ---- Writing ------------------------------------------------------------------------------------------------------

  // Each is one async function, since a write is awaited more often than not and each layer costs a turn of the queue.
  async createEntity<T extends object>(
    entity: TableEntity<T>,
    options: OperationOptions & WriteOptions = {},
  ): Promise<CreateTableEntityResponse> {
    const { partitionKey, rowKey } = entity;
    const operation = { kind: "insert", partitionKey, rowKey, entity } as const;
    const reply = this.#send([operation], false, options);
    const written = this.#written(reply instanceof Promise ? await reply : reply);
    written.preferenceApplied = "return-no-content";
    return written;
  }

  // Throws at the call if a key is missing, like the official client; so does deleteEntity.
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
    const reply = this.#send([operation], false, options);
    return this.#written(reply instanceof Promise ? await reply : reply);
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
    const reply = this.#send([operation], false, options);
    return this.#written(reply instanceof Promise ? await reply : reply);
  }

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
    const reply = this.#send([operation], false, options);
    return this.#written(reply instanceof Promise ? await reply : reply);
  }

  async submitTransaction(
    actions: TransactionAction[],
    options: OperationOptions & WriteOptions = {},
  ): Promise<TableTransactionResponse> {
    const operations = operationsOf(actions);
    const reply = this.#send(operations, true, options);
    const { etags } = decodeWrite(reply instanceof Promise ? await reply : reply);
    return transactionResponse(operations, etags);
  }

  // Loaded when it is needed: most pages never do.
  async bulk(actions: BulkActions, options: BulkOptions = {}): Promise<BulkResult> {
    const { bulk } = await import("../bulk/index.ts");
    return await bulk(this, actions, options);
  }

  // The reply, not awaited if it is here: it dies with the next call.
  #send(
    operations: readonly WriteOperation[],
    transaction: boolean,
    options: OperationOptions & WriteOptions,
  ): Uint8Array | Promise<Uint8Array> {
    checkOptions(options);
    const block = encodeWrite(this.tableName, operations, transaction, this.#types);
    const { durability, abortSignal } = this.#withDurability(options);
    return this.#transport.write(block, durability, abortSignal);
  }

  // What the reply to a single write says.
  #written(reply: Uint8Array): CreateTableEntityResponse {
    const etag = decodeWritten(reply);
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
  if (top !== undefined) query.top = pageSize(top);
  if (settings.continuationToken) query.next = decodeEntityToken(settings.continuationToken);
  return query;
}
