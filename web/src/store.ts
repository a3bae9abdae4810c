// The handle of an open store: gives out clients, and passes the rest to its host.

import { letGo } from "./client/block.ts";
import { TableHandle } from "./client/table-client.ts";
import { ServiceHandle } from "./client/table-service-client.ts";
import { AbortError, StoreError } from "./errors.ts";
import { nextTurn } from "./event-loop.ts";
import { chunksOf } from "./pieces.ts";
import { platformRandom } from "./random.ts";
import { RestDoor } from "./rest/door.ts";
import { fetchOf } from "./rest/fetch.ts";
import { httpClientOf } from "./rest/http-client.ts";
import type { Host } from "./transport.ts";
import type {
  EdmTypes,
  ExportOptions,
  HttpClient,
  ImportOptions,
  ImportReport,
  ImportSource,
  RestoreOptions,
  SnapshotSource,
  Store,
  StoreEvents,
  StoreStats,
  StoreStatus,
  Table,
  TableClient,
  TableOptions,
  TableServiceClient,
  VerifyReport,
} from "./types.ts";

export class StoreHandle implements Store {
  readonly name: string;
  readonly fetch: Store["fetch"];
  readonly httpClient: HttpClient;
  readonly door: RestDoor; // for adapters of this package
  readonly #host: Host;

  constructor(name: string, host: Host, random = platformRandom) {
    this.name = name;
    this.#host = host;
    this.door = new RestDoor(host, random);
    this.fetch = fetchOf(this.door);
    this.httpClient = httpClientOf(this.door);
  }

  get status(): StoreStatus {
    return this.#host.status;
  }

  table<T extends object = Record<string, unknown>>(
    name: string,
    options: TableOptions<T> = {},
  ): Table<T> {
    const types = options.types as Record<string, EdmTypes> | undefined;
    const { durability, resolver } = options;
    return new TableHandle(this.#host, name, { types, durability, resolver }) as Table<T>;
  }

  tableClient(name: string): TableClient {
    return new TableHandle(this.#host, name);
  }

  serviceClient(): TableServiceClient {
    return new ServiceHandle(this.#host);
  }

  flush(): Promise<void> {
    return this.#host.flush();
  }

  stats(): Promise<StoreStats> {
    return this.#host.stats();
  }

  verify(): Promise<VerifyReport> {
    return this.#host.verify();
  }

  compact(): Promise<void> {
    return this.#host.compact();
  }

  snapshot(): Promise<Uint8Array> {
    return this.#host.snapshot();
  }

  async restore(source: SnapshotSource, { mode = "replace" }: RestoreOptions = {}) {
    if (mode !== "replace" && mode !== "merge") {
      throw new StoreError("ValidationFailed", `mode must be one of replace, merge, not ${mode}.`);
    }
    return await this.#host.restore(source, { mode });
  }

  export(options: ExportOptions): ReadableStream<Uint8Array> {
    const client = this.tableClient(options.table);
    return new ReadableStream<Uint8Array>(exportSource(client, options), { highWaterMark: 0 });
  }

  async import(source: ImportSource, options: ImportOptions): Promise<ImportReport> {
    const { importFile } = await import("./transfer/importing.ts");
    return await importFile(this.tableClient(options.table), source, options, shared);
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#host.on(event, listener);
  }

  async close(): Promise<void> {
    try {
      await this.#host.close();
    } finally {
      letGo();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const shared = { AbortError, StoreError, nextTurn, chunksOf };

// What writes files is loaded when somebody wants one.
function exportSource(
  client: TableClient,
  options: ExportOptions,
): UnderlyingDefaultSource<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  return {
    async pull(controller) {
      chunks ??= (await import("./transfer/exporting.ts")).exportFile(client, options, shared);
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks?.return?.();
    },
  };
}
