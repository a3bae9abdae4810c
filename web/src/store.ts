// The handle of an open store: it creates clients, and forwards all other calls to its host.

import {
  listLiveQueries,
  openChangeFeed,
  openObservedQuery,
  openReader,
} from "./client/live-queries.ts";
import { releaseStoreCodec } from "./client/store-codec.ts";
import { TableHandle } from "./client/table-client.ts";
import { ServiceHandle } from "./client/table-service-client.ts";
import { AbortError, SnapshotInterrupted, StoreError } from "./errors.ts";
import { RestEntryPoint } from "./rest/entry-point.ts";
import { createFetch } from "./rest/fetch.ts";
import { createHttpClient } from "./rest/http-client.ts";
import type { Host, RestoreCallOptions } from "./transport.ts";
import type {
  ChangeFeed,
  ChangesOptions,
  EdmTypes,
  ExportOptions,
  FeedReader,
  FeedReaderOptions,
  HttpClient,
  ImportOptions,
  ImportReport,
  ImportSource,
  LiveQuery,
  OpenLiveQuery,
  RandomSource,
  Reader,
  ResolvedTable,
  SnapshotSource,
  Store,
  StoreEvents,
  StoreStats,
  StoreStatus,
  StoreWarning,
  Table,
  TableClient,
  TableOptions,
  TableServiceClient,
  VerifyReport,
} from "./types.ts";
import { chunkedFile, chunksFrom, concatChunks } from "./util/chunks.ts";
import { yieldToEventLoop } from "./util/event-loop.ts";
import { platformRandom } from "./util/random.ts";

export interface StoreHandleOptions {
  account?: string; // the name of the account that it serves; default: the store's name
  random?: RandomSource | undefined;
  onWarning?: (warning: StoreWarning) => void;
}

export class StoreHandle implements Store {
  readonly name: string;
  readonly fetch: Store["fetch"];
  readonly httpClient: HttpClient;
  readonly restEntryPoint: RestEntryPoint; // for modules of this package that serve HTTP requests
  readonly onWarning: ((warning: StoreWarning) => void) | undefined; // for entitable/data-tables
  readonly #host: Host;
  readonly #tables = new Map<string, TableHandle>(); // those without options, by name

  constructor(
    name: string,
    host: Host,
    { account = name, random = platformRandom, onWarning }: StoreHandleOptions = {},
  ) {
    this.name = name;
    this.#host = host;
    this.onWarning = onWarning;
    this.restEntryPoint = new RestEntryPoint(host, { account, random, onWarning });
    this.fetch = createFetch(this.restEntryPoint);
    this.httpClient = createHttpClient(this.restEntryPoint);
  }

  get status(): StoreStatus {
    return this.#host.status;
  }

  table<T extends object = Record<string, unknown>>(
    name: string,
    options?: TableOptions<T>,
  ): Table<T> & ResolvedTable<T> {
    const known = options === undefined ? this.#tables.get(name) : undefined;
    const handle: unknown = known ?? this.#newTable(name, options);
    return handle as Table<T> & ResolvedTable<T>;
  }

  #newTable(name: string, options: TableOptions<object> | undefined): TableHandle {
    const { durability, resolver } = options ?? {};
    const types = options?.types as Record<string, EdmTypes> | undefined;
    const { onWarning } = this;
    const extensions = { types, durability, resolver, extended: true, onWarning };
    const handle = new TableHandle(this.#host, name, extensions);
    if (options === undefined) this.#tables.set(name, handle);
    return handle;
  }

  tableClient(name: string): TableClient {
    return new TableHandle(this.#host, name, { onWarning: this.onWarning });
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

  async snapshot(): Promise<ReturnType<Uint8Array["slice"]>> {
    for (;;) {
      try {
        const chunks: Uint8Array<ArrayBuffer>[] = [];
        for await (const chunk of this.#host.snapshotChunks()) chunks.push(chunk);
        return await concatChunks(chunks);
      } catch (error) {
        if (!(error instanceof SnapshotInterrupted)) throw error;
      }
    }
  }

  snapshotStream(): ReadableStream<Uint8Array> {
    return streamOf(() => this.#host.snapshotChunks());
  }

  async restore(source: SnapshotSource, { mode = "replace" }: RestoreCallOptions = {}) {
    // entitable/sync has another mode.
    if (mode !== "replace" && mode !== "merge" && typeof mode !== "object") {
      throw new StoreError("ValidationFailed", `mode must be one of replace, merge, not ${mode}.`);
    }
    return await this.#host.restore(chunkedFile(source), { mode });
  }

  export(options: ExportOptions): ReadableStream<Uint8Array> {
    const client = this.tableClient(options.table);
    return streamOf(() => exportChunks(client, options));
  }

  async import(source: ImportSource, options: ImportOptions): Promise<ImportReport> {
    const { importFile } = await import("./transfer/import.ts");
    return await importFile(this.tableClient(options.table), source, options, dependencies);
  }

  observe<R>(query: (read: Reader) => R | Promise<R>): LiveQuery<R, never> {
    return openObservedQuery(this.#host, query);
  }

  liveQueries(): Promise<OpenLiveQuery[]> {
    return listLiveQueries(this.#host);
  }

  changes(options: ChangesOptions = {}): ChangeFeed {
    return openChangeFeed(this.#host, options);
  }

  reader(name: string, options: FeedReaderOptions = {}): Promise<FeedReader> {
    return openReader(this.#host, name, options);
  }

  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#host.on(event, listener);
  }

  // For entitable/sync: see Host.startSync().
  async startSync(): Promise<object | undefined> {
    return await this.#host.startSync?.();
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

// Yields the exported file. The export module is loaded at the first read.
async function* exportChunks(
  client: TableClient,
  options: ExportOptions,
): AsyncGenerator<Uint8Array> {
  const { exportFile } = await import("./transfer/export.ts");
  yield* exportFile(client, options, dependencies);
}

// Returns a stream of the chunks. `begin` is called at the first read. A chunk is requested only
// when it is read.
function streamOf(begin: () => AsyncIterator<Uint8Array>): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      chunks ??= begin();
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks?.return?.();
    },
  };
  return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
}
