// The official TableClient, over the RPC entry point.

import {
  readOptions,
  requireKeys,
  tableOptions,
  writeOptions,
} from "../client/operation-checks.ts";
import { pagedIterator } from "../client/paging.ts";
import type {
  CreateTableEntityResponse,
  DeleteTableEntityOptions,
  DeleteTableEntityResponse,
  GetTableEntityOptions,
  GetTableEntityResponse,
  ListTableEntitiesOptions,
  OperationOptions,
  PagedAsyncIterableIterator,
  PageSettings,
  Store,
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
import { parseConnectionString } from "./connection-string.ts";
import { getAccessPolicy, setAccessPolicy } from "./internal-rest-calls.ts";
import { assertPortableNumbers } from "./portability.ts";
import { toServiceTransactionResponse, truncateToSeconds } from "./service-responses.ts";
import { httpNotSupportedError, StoreCaller } from "./store-caller.ts";
import type {
  ClientOptions,
  Credential,
  GetAccessPolicyResponse,
  SetAccessPolicyResponse,
  SignedIdentifier,
} from "./types.ts";

const knownOptions = {
  createTable: tableOptions,
  deleteTable: tableOptions,
  getEntity: readOptions,
  listEntities: readOptions,
  createEntity: tableOptions,
  updateEntity: writeOptions,
  upsertEntity: tableOptions,
  deleteEntity: writeOptions,
  submitTransaction: tableOptions,
};

/**
 * A client of one table. The constructor has no side effects: the store is looked up at the first
 * call.
 */
export class TableClient {
  url: string;
  readonly tableName: string;
  readonly #connection: StoreCaller;

  constructor(url: string, tableName: string, credential: Credential, options?: ClientOptions);
  constructor(url: string, tableName: string, options?: ClientOptions);
  constructor(
    url: string,
    tableName: string,
    credentialOrOptions?: Credential | ClientOptions,
    options?: ClientOptions,
  ) {
    this.url = url;
    this.tableName = tableName;
    this.#connection = new StoreCaller(url, credentialOrOptions, options);
  }

  static fromConnectionString(
    connectionString: string,
    tableName: string,
    options?: ClientOptions,
  ): TableClient {
    const { url, credential } = parseConnectionString(connectionString);
    return credential === undefined
      ? new TableClient(url, tableName, options)
      : new TableClient(url, tableName, credential, options);
  }

  /** Throws NotSupported: no requests are sent. */
  get pipeline(): never {
    throw httpNotSupportedError("pipeline");
  }

  // ---- The table -------------------------------------------------------------------------------

  createTable(options: OperationOptions & WriteOptions = {}): Promise<void> {
    return this.#connection.write(options, (store) =>
      this.#table(store, "createTable", options).createTable(options),
    );
  }

  deleteTable(options: OperationOptions & WriteOptions = {}): Promise<void> {
    return this.#connection.write(options, (store) =>
      this.#table(store, "deleteTable", options).deleteTable(options),
    );
  }

  getAccessPolicy(options: OperationOptions = {}): Promise<GetAccessPolicyResponse> {
    return this.#connection.read(options, (store) => getAccessPolicy(store, this.tableName));
  }

  setAccessPolicy(
    tableAcl: SignedIdentifier[],
    options: OperationOptions = {},
  ): Promise<SetAccessPolicyResponse> {
    return this.#connection.write(options, async (store) => {
      const set = await setAccessPolicy(store, this.tableName, tableAcl, options.abortSignal);
      return { ...this.#connection.createResponseHeaders(store), ...set };
    });
  }

  // ---- Reading ---------------------------------------------------------------------------------

  // Throws synchronously if a key is missing, as the official client does. updateEntity and
  // deleteEntity do the same.
  getEntity<T extends object = Record<string, unknown>>(
    partitionKey: string,
    rowKey: string,
    options: GetTableEntityOptions = {},
  ): Promise<GetTableEntityResponse<TableEntityResult<T>>> {
    requireKeys(partitionKey, rowKey);
    return this.#connection.read(options, (store) =>
      this.#table(store, "getEntity", options).getEntity<T>(partitionKey, rowKey, options),
    );
  }

  listEntities<T extends object = Record<string, unknown>>(
    options: ListTableEntitiesOptions = {},
  ): PagedAsyncIterableIterator<TableEntityResult<T>, TableEntityResultPage<T>> {
    const readPage = (settings: PageSettings) =>
      this.#connection.read(options, async (store) => {
        const table = this.#table(store, "listEntities", options);
        const pages = table.listEntities<T>(options).byPage(settings);
        const { value } = await pages.next();
        return value as TableEntityResultPage<T>;
      });
    return pagedIterator(readPage);
  }

  // ---- Writing ---------------------------------------------------------------------------------

  async createEntity<T extends object>(
    entity: TableEntity<T>,
    options: OperationOptions & WriteOptions = {},
  ): Promise<CreateTableEntityResponse> {
    return await this.#write("createEntity", entity, options, (table) =>
      table.createEntity(entity, options),
    );
  }

  updateEntity<T extends object>(
    entity: TableEntity<T>,
    mode: UpdateMode = "Merge",
    options: UpdateTableEntityOptions & WriteOptions = {},
  ): Promise<UpdateEntityResponse> {
    requireKeys(entity.partitionKey, entity.rowKey, entity);
    return this.#write("updateEntity", entity, options, (table) =>
      table.updateEntity(entity, mode, options),
    );
  }

  async upsertEntity<T extends object>(
    entity: TableEntity<T>,
    mode: UpdateMode = "Merge",
    options: OperationOptions & WriteOptions = {},
  ): Promise<UpsertEntityResponse> {
    requireKeys(entity.partitionKey, entity.rowKey, entity);
    return await this.#write("upsertEntity", entity, options, (table) =>
      table.upsertEntity(entity, mode, options),
    );
  }

  deleteEntity(
    partitionKey: string,
    rowKey: string,
    options: DeleteTableEntityOptions & WriteOptions = {},
  ): Promise<DeleteTableEntityResponse> {
    requireKeys(partitionKey, rowKey);
    return this.#write("deleteEntity", {}, options, (table) =>
      table.deleteEntity(partitionKey, rowKey, options),
    );
  }

  async submitTransaction(
    actions: TransactionAction[],
    options: OperationOptions & WriteOptions = {},
  ): Promise<TableTransactionResponse> {
    const submit = (store: Store) => {
      for (const [verb, entity, , own = {}] of actions) {
        this.#check(entity);
        this.#connection.checkOptions(store, `The action "${verb}"`, own, writeOptions);
      }
      return this.#table(store, "submitTransaction", options).submitTransaction(actions, options);
    };
    const response = await this.#connection.write(options, submit, true);
    return toServiceTransactionResponse(response, actions);
  }

  async #write<R extends { date?: Date }>(
    method: keyof typeof knownOptions,
    entity: object,
    options: OperationOptions,
    call: (table: ReturnType<Store["tableClient"]>) => Promise<R>,
  ): Promise<R> {
    this.#check(entity);
    return await this.#connection.write(options, async (store) => {
      const written = await call(this.#table(store, method, options));
      const date = truncateToSeconds(written.date as Date); // the RPC client always sets the date
      return { ...this.#connection.createResponseHeaders(store), ...written, date };
    });
  }

  #check(entity: object): void {
    if (this.#connection.portable) assertPortableNumbers(entity);
  }

  #table(
    store: Store,
    method: keyof typeof knownOptions,
    options: object,
  ): ReturnType<Store["tableClient"]> {
    this.#connection.checkOptions(store, method, options, knownOptions[method]);
    return store.tableClient(this.tableName);
  }
}
