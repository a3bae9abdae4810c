// The official TableServiceClient, over the RPC entry point: an account's tables and the service's
// properties.

import { countOptions } from "../client/operation-checks.ts";
import { encodeTableToken, pagedIterator } from "../client/paging.ts";
import type {
  ListTableItemsOptions,
  OperationOptions,
  PagedAsyncIterableIterator,
  PageSettings,
  TableItem,
  TableItemResultPage,
  WriteOptions,
} from "../types.ts";
import { parseConnectionString } from "./connection-string.ts";
import { getProperties, getStatistics, setProperties } from "./internal-rest-calls.ts";
import { httpNotSupportedError, StoreCaller } from "./store-caller.ts";
import type {
  ClientOptions,
  Credential,
  GetPropertiesResponse,
  GetStatisticsResponse,
  ServiceProperties,
  SetPropertiesOptions,
  SetPropertiesResponse,
} from "./types.ts";

/**
 * A client of an account. The constructor has no side effects: the store is looked up at the first
 * call.
 */
export class TableServiceClient {
  url: string;
  readonly #connection: StoreCaller;

  constructor(url: string, credential: Credential, options?: ClientOptions);
  constructor(url: string, options?: ClientOptions);
  constructor(
    url: string,
    credentialOrOptions?: Credential | ClientOptions,
    options?: ClientOptions,
  ) {
    this.url = url;
    this.#connection = new StoreCaller(url, credentialOrOptions, options);
  }

  static fromConnectionString(
    connectionString: string,
    options?: ClientOptions,
  ): TableServiceClient {
    const { url, credential } = parseConnectionString(connectionString);
    return credential === undefined
      ? new TableServiceClient(url, options)
      : new TableServiceClient(url, credential, options);
  }

  /** Throws NotSupported: no requests are sent. */
  get pipeline(): never {
    throw httpNotSupportedError("pipeline");
  }

  createTable(name: string, options: OperationOptions & WriteOptions = {}): Promise<void> {
    return this.#connection.write(options, (store) =>
      store.serviceClient().createTable(name, options),
    );
  }

  deleteTable(name: string, options: OperationOptions & WriteOptions = {}): Promise<void> {
    return this.#connection.write(options, (store) =>
      store.serviceClient().deleteTable(name, options),
    );
  }

  listTables(
    options: ListTableItemsOptions = {},
  ): PagedAsyncIterableIterator<TableItem, TableItemResultPage> {
    const readPage = (settings: PageSettings) =>
      this.#connection.read(options, async (store) => {
        this.#connection.checkOptions(store, "listTables", options, countOptions);
        const pages = store.serviceClient().listTables(options).byPage(settings);
        const page = (await pages.next()).value as TableItemResultPage;
        const { continuationToken: next } = page;
        if (next !== undefined) page.continuationToken = encodeTableToken(next);
        return page;
      });
    return pagedIterator(readPage);
  }

  getProperties(options: OperationOptions = {}): Promise<GetPropertiesResponse> {
    return this.#connection.read(options, async (store) => ({
      ...(await getProperties(store)),
      ...this.#connection.createResponseHeaders(store),
    }));
  }

  /** Sets the service's properties. Omitted sections stay unchanged. */
  setProperties(
    properties: ServiceProperties,
    options: SetPropertiesOptions = {},
  ): Promise<SetPropertiesResponse> {
    return this.#connection.write(options, async (store) => {
      await setProperties(store, properties, options.abortSignal);
      return this.#connection.createResponseHeaders(store);
    });
  }

  /**
   * Returns the replication status of the account's secondary, a read-only replica. Works on the
   * primary's URL too.
   */
  getStatistics(options: OperationOptions = {}): Promise<GetStatisticsResponse> {
    return this.#connection.read(options, async (store) => ({
      ...(await getStatistics(store)),
      ...this.#connection.createResponseHeaders(store),
    }));
  }
}
