// The handle of an open store: it creates clients, and forwards all other calls to its host.

import { releaseStoreCodec } from "./client/store-codec.ts";
import { TableHandle } from "./client/table-client.ts";
import { ServiceHandle } from "./client/table-service-client.ts";
import { AbortError, StoreError } from "./errors.ts";
import { RestEntryPoint } from "./rest/entry-point.ts";
import { createFetch } from "./rest/fetch.ts";
import { createHttpClient } from "./rest/http-client.ts";
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
import { chunksFrom } from "./util/chunks.ts";
import { yieldToEventLoop } from "./util/event-loop.ts";
import { platformRandom } from "./util/random.ts";

export class StoreHandle implements Store {
  readonly name: string;
  readonly fetch: Store["fetch"];
  readonly httpClient: HttpClient;
  readonly restEntryPoint: RestEntryPoint; // for modules of this package that serve HTTP requests
  readonly #host: Host;

  constructor(name: string, host: Host, random = platformRandom) {
    this.name = name;
    this.#host = host;
    this.restEntryPoint = new RestEntryPoint(host, random);
    this.fetch = createFetch(this.restEntryPoint);
    this.httpClient = createHttpClient(this.restEntryPoint);
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
    const { importFile } = await import("./transfer/import.ts");
    return await importFile(this.tableClient(options.table), source, options, dependencies);
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#host.on(event, listener);
  }

  async close(): Promise<void> {
    try {
      await this.#host.close();
    } finally {
      releaseStoreCodec(this.#host);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const dependencies = { AbortError, StoreError, yieldToEventLoop, chunksFrom };

// Returns a stream source of the exported file. The export module is loaded at the first read.
function exportSource(
  client: TableClient,
  options: ExportOptions,
): UnderlyingDefaultSource<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  return {
    async pull(controller) {
      chunks ??= (await import("./transfer/export.ts")).exportFile(client, options, dependencies);
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks?.return?.();
    },
  };
}
