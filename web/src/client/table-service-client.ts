// Client of a store's tables, with the methods and types of the official TableServiceClient, over
// RPC messages.

import { RestError } from "../errors.ts";
import { rejectWithHint, withHint } from "../hints/add-hint.ts";
import { mapResponse, type Transport } from "../transport.ts";
import type {
  ListTableItemsOptions,
  OperationOptions,
  PagedAsyncIterableIterator,
  PageSettings,
  TableItem,
  TableItemResultPage,
  TableServiceClient,
  WriteOptions,
} from "../types.ts";
import { checkOperationOptions } from "./operation-checks.ts";
import { checkedPageSize, decodeTableToken, pagedIterator } from "./paging.ts";
import type { TableQuery } from "./rpc-codec.ts";
import { storeCodec } from "./store-codec.ts";

export class ServiceHandle implements TableServiceClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  createTable(name: string, options: OperationOptions & WriteOptions = {}): Promise<void> {
    return createTable(this.#transport, name, options);
  }

  deleteTable(name: string, options: OperationOptions & WriteOptions = {}): Promise<void> {
    return deleteTable(this.#transport, name, options);
  }

  listTables(
    options: ListTableItemsOptions = {},
  ): PagedAsyncIterableIterator<TableItem, TableItemResultPage> {
    return pagedIterator((settings) =>
      withHint(
        () => this.#readPage(options, settings),
        () => ({ ...options.queryOptions, ...settings }),
      ),
    );
  }

  #readPage(
    options: ListTableItemsOptions,
    settings: PageSettings,
  ): TableItemResultPage | Promise<TableItemResultPage> {
    checkOperationOptions(options);
    const query: TableQuery = {};
    const filter = options.queryOptions?.filter;
    if (filter !== undefined) query.filter = filter;
    if (settings.maxPageSize !== undefined) query.top = checkedPageSize(settings.maxPageSize);
    if (settings.continuationToken) query.next = decodeTableToken(settings.continuationToken);
    const { encoder, decoder } = storeCodec(this.#transport);
    const response = encoder.listTables(query, (request) =>
      this.#transport.read(request, options.abortSignal),
    );
    const decode = (message: Uint8Array): TableItemResultPage => {
      const { names, next } = decoder.tables(message);
      const page: TableItemResultPage = names.map((name) => ({ name }));
      if (next !== undefined) page.continuationToken = next;
      return page;
    };
    return mapResponse(response, decode);
  }
}

// Creates a table. Resolves also if the table exists, like the official client.
export async function createTable(
  transport: Transport,
  name: string,
  options: OperationOptions & WriteOptions,
): Promise<void> {
  checkOperationOptions(options);
  try {
    const { encoder, decoder } = storeCodec(transport);
    const response = encoder.createTable(name, (message) =>
      transport.write(message, options.durability, options.abortSignal),
    );
    await mapResponse(response, (message) => decoder.etagsOfWrite(message));
  } catch (error) {
    if (error instanceof RestError && error.code === "TableAlreadyExists") return;
    await rejectWithHint(error, { table: name });
  }
}

// Deletes a table. Resolves also if the table does not exist, like the official client.
export async function deleteTable(
  transport: Transport,
  name: string,
  options: OperationOptions & WriteOptions,
): Promise<void> {
  checkOperationOptions(options);
  try {
    const { encoder, decoder } = storeCodec(transport);
    const response = encoder.dropTable(name, (message) =>
      transport.write(message, options.durability, options.abortSignal),
    );
    await mapResponse(response, (message) => decoder.etagsOfWrite(message));
  } catch (error) {
    if (error instanceof RestError && error.statusCode === 404) return;
    await rejectWithHint(error, { table: name });
  }
}
