// Opens live queries and change feeds. What they do is loaded with the first of them, because most
// pages have none.

import { AbortError, StoreError } from "../errors.ts";
import type { Transport } from "../transport.ts";
import type {
  ChangeFeed,
  ChangesOptions,
  FeedReader,
  FeedReaderOptions,
  LiveQuery,
  OpenLiveQuery,
} from "../types.ts";
import { nextRetryMs } from "../util/back-off.ts";
import { requestKind, responseKind } from "../util/engine-message-kinds.ts";
import { inMicrotask, yieldToEventLoop } from "../util/event-loop.ts";
import { copyOf, requireKnownOptions } from "../util/option-names.ts";
import { isDate, toError } from "../util/platform-objects.ts";
import type { LiveConnection } from "./live-connection.ts";
import type { OpenFeed } from "./live-feed.ts";
import { LiveQueryHandle } from "./live-query.ts";
import type { QuerySource } from "./live-state.ts";
import type { ObservedFunction } from "./observed-query.ts";
import { storeCodec } from "./store-codec.ts";

const connections = new WeakMap<Transport, Promise<LiveConnection>>();

function liveConnection(transport: Transport): Promise<LiveConnection> {
  let connection = connections.get(transport);
  if (connection === undefined) {
    connection = connect(transport);
    connections.set(transport, connection);
    connection.catch(() => connections.delete(transport));
  }
  return connection;
}

// Passes what every page has loaded, so that bundlers leave it in the page's own file.
async function connect(transport: Transport): Promise<LiveConnection> {
  const { LiveConnection } = await import("./live-connection.ts");
  const { encoder, decoder } = storeCodec(transport);
  const environment = { transport, encoder, decoder, requestKind, responseKind, StoreError };
  const functions = { AbortError, inMicrotask, yieldToEventLoop, nextRetryMs, isDate, toError };
  return new LiveConnection({ ...environment, ...functions });
}

// `source`: returns what the query is, or throws the error of its options. The connection checks
// the limit and the first key.
export function openLiveQuery<R>(
  transport: Transport,
  source: () => QuerySource,
): LiveQueryHandle<R> {
  return new LiveQueryHandle<R>(async (handle) => {
    const checked = source();
    const connection = await liveConnection(transport);
    connection.openQuery(checked, handle, (query) => handle.attach(query));
  });
}

export function openObservedQuery<R>(
  transport: Transport,
  query: ObservedFunction,
): LiveQuery<R, never> {
  return new LiveQueryHandle<R, never>(async (handle) => {
    const loading = [liveConnection(transport), import("./observed-query.ts")] as const;
    const [connection, { openObserved }] = await Promise.all(loading);
    openObserved(query, handle, connection);
  });
}

export async function listLiveQueries(transport: Transport): Promise<OpenLiveQuery[]> {
  const connection = connections.get(transport);
  if (connection === undefined) return [];
  const { describeLiveQueries } = await import("./open-live-queries.ts");
  return describeLiveQueries(await connection);
}

export async function openReader(
  transport: Transport,
  name: string,
  options: FeedReaderOptions,
): Promise<FeedReader> {
  const copy = copyOfOptions("reader", options, readerOptions);
  const loading = [liveConnection(transport), import("./feed-reader.ts")] as const;
  const [connection, { openFeedReader }] = await Promise.all(loading);
  return await openFeedReader(transport, connection, name, copy);
}

const readerOptions = [
  "since",
  "tables",
  "partitionKey",
  "rowKey",
  "filter",
  "disableTypeConversion",
  "signal",
];
const changesOptions = [...readerOptions, "before"];

export function openChangeFeed(transport: Transport, options: ChangesOptions): ChangeFeed {
  let opened: OpenFeed | undefined;
  const opening = openFeed(transport, options).then((feed) => {
    opened = feed;
    return feed;
  });
  const ready = opening.then((feed) => feed.ready);
  ready.catch(() => {}); // next() rejects, too
  return {
    ready,
    get position() {
      return opened?.position;
    },
    next: async () => await (await opening).next(),
    return: async () => await (await opening).return(),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function openFeed(transport: Transport, options: ChangesOptions): Promise<OpenFeed> {
  const copy = copyOfOptions("changes", options, changesOptions);
  const connection = await liveConnection(transport);
  return connection.openFeed(copy);
}

// The caller may change the objects.
function copyOfOptions<T extends ChangesOptions>(
  method: string,
  options: T,
  known: readonly string[],
): T {
  requireKnownOptions(method, options, known);
  const { tables, rowKey } = options;
  return { ...options, tables: copyOf(tables), rowKey: copyOf(rowKey) };
}
