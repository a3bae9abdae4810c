// The tables of a store, with the methods and shapes of the official TableServiceClient, over the direct door.

import { RestError } from "../errors.ts";
import type { Transport } from "../transport.ts";
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
import {
  decodeTables,
  decodeWrite,
  encodeCreateTable,
  encodeDropTable,
  encodeListTables,
  type TableQuery,
} from "./block.ts";
import { decodeTableToken, paged, pageSize } from "./paging.ts";
import { checkOptions } from "./write-rules.ts";

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
    return paged((settings) => this.#readPage(options, settings));
  }

  #readPage(
    options: ListTableItemsOptions,
    settings: PageSettings,
  ): TableItemResultPage | Promise<TableItemResultPage> {
    checkOptions(options);
    const query: TableQuery = {};
    const filter = options.queryOptions?.filter;
    if (filter !== undefined) query.filter = filter;
    if (settings.maxPageSize !== undefined) query.top = pageSize(settings.maxPageSize);
    if (settings.continuationToken) query.next = decodeTableToken(settings.continuationToken);
    const reply = this.#transport.read(encodeListTables(query), options.abortSignal);
    const decode = (block: Uint8Array): TableItemResultPage => {
      const { names, next } = decodeTables(block);
      const page: TableItemResultPage = names.map((name) => ({ name }));
      if (next !== undefined) page.continuationToken = next;
      return page;
    };
    return reply instanceof Promise ? reply.then(decode) : decode(reply);
  }
}

// Resolves also when the table exists, like the official client.
export async function createTable(
  transport: Transport,
  name: string,
  options: OperationOptions & WriteOptions,
): Promise<void> {
  checkOptions(options);
  try {
    const block = encodeCreateTable(name);
    const reply = transport.write(block, options.durability, options.abortSignal);
    decodeWrite(reply instanceof Promise ? await reply : reply);
  } catch (error) {
    if (!(error instanceof RestError && error.code === "TableAlreadyExists")) throw error;
  }
}

// Resolves also when there is no such table, like the official client.
export async function deleteTable(
  transport: Transport,
  name: string,
  options: OperationOptions & WriteOptions,
): Promise<void> {
  checkOptions(options);
  try {
    const block = encodeDropTable(name);
    const reply = transport.write(block, options.durability, options.abortSignal);
    decodeWrite(reply instanceof Promise ? await reply : reply);
  } catch (error) {
    if (!(error instanceof RestError && error.statusCode === 404)) throw error;
  }
}
