// The live queries and the feeds of a store's clients in this thread, and their connection to the
// store. Loaded with the first of them.
//
// All live queries show what has changed before the user of any of them hears of it. If one of them
// must read rows first, the others wait for it.

import type { AbortError, StoreError } from "../errors.ts";
import type { ChangeListener, ListenerConnection, Transport } from "../transport.ts";
import type { ChangesOptions, LiveDelta } from "../types.ts";
import type { requestKind, responseKind } from "../util/engine-message-kinds.ts";
import { decodeChanges, decodePastChanges, type RowKey } from "./changes-decoder.ts";
import { OpenFeed } from "./live-feed.ts";
import { OpenQuery, type QueryCloser, type QueryListener, type QuerySource } from "./live-state.ts";
import type { MessageWriter } from "./message-writer.ts";
import type { ObservedQuery } from "./observed-query.ts";
import type { RequestEncoder } from "./request-encoder.ts";
import type { ResponseDecoder } from "./response-decoder.ts";

// What a page has loaded anyway (StoreHandle.import() explains why it is passed).
export interface LiveEnvironment {
  readonly transport: Transport;
  readonly encoder: RequestEncoder;
  readonly decoder: ResponseDecoder;
  readonly requestKind: typeof requestKind;
  readonly responseKind: typeof responseKind;
  readonly StoreError: typeof StoreError;
  readonly AbortError: typeof AbortError;
  inMicrotask(call: () => void): void;
  yieldToEventLoop(): Promise<void>;
  nextRetryMs(previousMs: number): number;
  isDate(value: unknown): value is Date;
  toError(thrown: unknown): Error;
}

// Something else than queries and feeds that needs the connection.
export interface ConnectionUser {
  onReset?(): void; // ChangeListener
  onClosed(error: Error): void; // the same
}

const pageRows = 1000;
const turnMs = 8; // how long a task reads
const absent = -1;
const countsFlag = 1;
const maxLimit = 0xffff_fffe;

export class LiveConnection implements ChangeListener, QueryCloser {
  readonly environment: LiveEnvironment;
  readonly #queries = new Set<OpenQuery>();
  readonly #watches = new Map<number, OpenQuery>(); // by id
  readonly #toRead = new Set<OpenQuery>(); // must be opened or read, and wait for nothing
  readonly #delaying = new Set<OpenQuery>(); // OpenQuery.delaysOthers
  readonly #changed = new Set<OpenQuery>(); // may have something else to show
  readonly #observed = new Set<ObservedQuery>();
  readonly #feeds = new Set<OpenFeed>();
  readonly #feedsToServe = new Set<OpenFeed>(); // may need something from the store
  readonly #users = new Set<ConnectionUser>();
  #connection: ListenerConnection | undefined;
  #sequence = 0n; // of the last version that is known
  #shownSequence = 0n;
  #resets = 0; // responses to requests from before the last reset are ignored
  #isSettleDue = false;
  #readUntil: number | undefined; // in this task; undefined: it has read nothing
  #isYielding = false; // other tasks run before anything else is read

  constructor(environment: LiveEnvironment) {
    this.environment = environment;
  }

  // Throws StoreError if an option is invalid, or the store is closed. `attach` gets the query
  // before anything is read, and returns whether it is still needed.
  openQuery(
    source: QuerySource,
    listener: QueryListener,
    attach: (query: OpenQuery) => boolean,
  ): OpenQuery {
    this.check(source);
    const query = new OpenQuery(source, listener, this);
    if (!attach(query)) return query;
    this.#connect();
    this.#queries.add(query);
    this.#toRead.add(query);
    this.#settle();
    return query;
  }

  // Throws StoreError if an option is invalid.
  check(source: QuerySource): void {
    const mistake = mistakeIn(source);
    if (mistake !== undefined)
      throw new this.environment.StoreError("ValidationFailed", ...mistake);
  }

  // Opens the reads of the query with openQuery(). Throws StoreError if the store is closed.
  openObserved(query: ObservedQuery): void {
    this.#connect();
    this.#observed.add(query);
    void query.run();
  }

  closeObserved(query: ObservedQuery): void {
    this.#observed.delete(query);
    this.#disconnectIfUnused();
  }

  // Returns whether the query is open: it was not closed, and could be opened.
  has(query: OpenQuery): boolean {
    return this.#queries.has(query);
  }

  // For developer tools. The reads of observed queries are among the first.
  get openQueries(): readonly [Iterable<OpenQuery>, Iterable<ObservedQuery>] {
    return [this.#queries, this.#observed];
  }

  // The sequence of the version that all queries show.
  get shownSequence(): bigint {
    return this.#shownSequence;
  }

  // Throws StoreError if an option is invalid, or the store is closed.
  openFeed(options: ChangesOptions): OpenFeed {
    const feed = new OpenFeed(
      options,
      this.environment,
      () => this.#closeFeed(feed),
      () => {
        this.#feedsToServe.add(feed);
        this.#scheduleSettle();
      },
    );
    if (options.signal?.aborted) {
      feed.abort();
      return feed;
    }
    this.#connect();
    this.#feeds.add(feed);
    this.#feedsToServe.add(feed);
    this.#settle();
    return feed;
  }

  // Keeps the connection open until the returned function is called, or the store is closed. Throws
  // StoreError if it is.
  use(user: ConnectionUser): () => void {
    this.#connect();
    this.#users.add(user);
    return () => {
      if (this.#users.delete(user)) this.#disconnectIfUnused();
    };
  }

  // Resolves to what `decode` returns for the response. The request is sent again after a reset.
  request<R>(
    kind: number,
    put: (writer: MessageWriter) => void,
    decode: (response: Uint8Array) => R,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      const onResponse = (response: Uint8Array) => {
        resolve(decode(response));
        end();
      };
      const onError = (error: unknown) => {
        reject(error);
        end();
      };
      const send = () => this.#send(kind, put, onResponse, onError);
      const end = this.use({ onReset: send, onClosed: reject });
      send();
    });
  }

  // ---- ChangeListener ---------------------------------------------------------------------------

  onChanges(message: Uint8Array): void {
    const { decoder } = this.environment;
    const { sequence, stored, deltas, batches } = decodeChanges(decoder, message, (id) =>
      this.#isTypedFeed(id),
    );
    this.#sequence = sequence;
    for (const delta of deltas) {
      const query = this.#watches.get(delta.watch);
      if (query !== undefined) this.#update(query, () => query.apply(delta, sequence));
    }
    for (const batch of batches)
      for (const feed of this.#feeds) if (feed.id === batch.feed) feed.add(batch);
    for (const feed of this.#feeds) feed.onStored(stored);
  }

  onChangesEnd(): void {
    this.#settle();
  }

  onReset(): void {
    this.#resets += 1;
    this.#watches.clear();
    for (const query of this.#queries) {
      query.watch = 0;
      query.isWaiting = false;
      this.#update(query, () => query.restart());
    }
    for (const feed of this.#feeds) {
      feed.onReset();
      this.#feedsToServe.add(feed);
    }
    for (const user of [...this.#users]) user.onReset?.();
    this.#scheduleSettle();
  }

  onClosed(error: Error): void {
    this.#connection = undefined;
    for (const user of this.#users) user.onClosed(error);
    this.#users.clear();
    const queries = [...this.#queries, ...this.#observed];
    for (const query of queries) query.end(error);
    for (const all of [this.#queries, this.#toRead, this.#delaying, this.#changed]) all.clear();
    this.#observed.clear();
    this.#watches.clear();
    for (const feed of this.#feeds) feed.end(undefined);
    this.#feeds.clear();
    this.#feedsToServe.clear();
    this.environment.inMicrotask(() => {
      for (const { listener } of queries) listener.onChange([]);
    });
  }

  // ---- Reading ----------------------------------------------------------------------------------

  #scheduleSettle(): void {
    if (this.#isSettleDue) return;
    this.#isSettleDue = true;
    this.environment.inMicrotask(() => {
      this.#isSettleDue = false;
      this.#settle();
    });
  }

  // Opens and reads queries as far as that needs no waiting. Then shows users what has changed.
  #settle(): void {
    // A feed that is reset meanwhile is in #feedsToServe again, for the next time.
    for (const feed of [...this.#feedsToServe])
      if (this.#feedsToServe.delete(feed)) this.#serveFeed(feed);
    this.#readQueries();
    if (this.#delaying.size > 0) return;
    const changed = [...this.#changed];
    this.#changed.clear();
    const shown = changed.map((query) => ({ query, deltas: this.#show(query) }));
    this.#shownSequence = this.#sequence;
    for (const { query, deltas } of shown)
      if (deltas !== undefined) query.listener.onChange(deltas);
    for (const query of this.#observed) query.onSettled();
  }

  // Reads a page of each query in turn. Now and then, lets other tasks of the thread run first.
  #readQueries(): void {
    if (this.#isYielding) return;
    for (const query of this.#toRead) {
      if (this.#readUntil === undefined) {
        this.#limitReading();
      } else if (performance.now() >= this.#readUntil) {
        this.#isYielding = true;
        return;
      }
      this.#toRead.delete(query);
      if (query.watch === 0) this.#openWatch(query);
      else this.#readPage(query);
    }
  }

  // Limits how long this task reads, however many queries are opened in it.
  #limitReading(): void {
    this.#readUntil = performance.now() + turnMs;
    void this.environment.yieldToEventLoop().then(() => {
      this.#readUntil = undefined;
      if (!this.#isYielding) return;
      this.#isYielding = false;
      this.#settle();
    });
  }

  #serveFeed(feed: OpenFeed): void {
    const { requestKind } = this.environment;
    const { staleId } = feed;
    const request = feed.nextRequest;
    if (staleId !== 0 || (feed.wantsLog && request === undefined))
      this.#closeInStore(feed, staleId);
    feed.staleId = 0;
    feed.wantsLog = false;
    if (request === undefined) return;
    feed.isWaiting = true;
    const onResponse = (response: Uint8Array) => {
      feed.isWaiting = false;
      if (request === "open") this.#onFeedOpened(feed, response);
      else if (this.#feeds.has(feed)) this.#onPastChanges(feed, response);
      else this.#closeInStore(feed, 0);
      if (!this.#feeds.has(feed) || feed.nextRequest === undefined) return;
      this.#feedsToServe.add(feed);
      this.#scheduleSettle();
    };
    const onError = (error: unknown) => {
      feed.end(error as Error); // first, so that the store keeps no log for it
      this.#closeFeed(feed);
    };
    const kind = request === "open" ? requestKind.openFeed : requestKind.readPast;
    this.#send(kind, (writer) => feed.put(request, writer), onResponse, onError);
  }

  #onFeedOpened(feed: OpenFeed, response: Uint8Array): void {
    const { decoder, responseKind } = this.environment;
    const [id, openedAt] = decoder.message(response, responseKind.listener, (reader) => {
      const feed = reader.readWord();
      reader.readWord();
      return [feed, reader.readLong()] as const;
    });
    if (this.#feeds.has(feed)) feed.onOpen(id, openedAt);
    else this.#closeInStore(feed, id);
  }

  #onPastChanges(feed: OpenFeed, response: Uint8Array): void {
    const { decoder } = this.environment;
    const past = decodePastChanges(decoder, response);
    const { changes } = past;
    const isTyped = () => feed.isTyped;
    feed.onPast(past, past.isTruncated ? undefined : decodeChanges(decoder, changes, isTyped));
  }

  #isTypedFeed(id: number): boolean {
    for (const feed of this.#feeds) if (feed.id === id) return feed.isTyped;
    return false;
  }

  #show(query: OpenQuery): readonly LiveDelta<unknown>[] | undefined {
    try {
      return query.show();
    } catch (error) {
      this.closeQuery(query);
      query.fail(error as Error); // of the resolver
      return query.show();
    }
  }

  #update(query: OpenQuery, update: () => void): void {
    try {
      update();
      this.#changed.add(query);
      if (query.mustRead && !query.isWaiting) this.#toRead.add(query);
      this.#noteDelay(query);
    } catch (error) {
      this.#abandon(query, error as Error); // of the resolver
    }
  }

  #noteDelay(query: OpenQuery): void {
    if (query.delaysOthers) this.#delaying.add(query);
    else this.#delaying.delete(query);
  }

  #openWatch(query: OpenQuery): void {
    if (query.isWaiting) return;
    query.isWaiting = true;
    const { openWatch, closeWatch } = this.environment.requestKind;
    const { source } = query;
    const onResponse = (response: Uint8Array) => {
      const { id, coversAllKeys } = this.#watchIn(response);
      if (!this.#queries.has(query)) {
        this.#closeListener(closeWatch, id);
        return;
      }
      query.isWaiting = false;
      query.watch = id;
      query.coversAllKeys = coversAllKeys;
      query.wasOpen = true;
      this.#watches.set(id, query);
      this.#toRead.add(query);
      this.#scheduleSettle();
    };
    const onError = (error: unknown) => {
      if (query.wasOpen) this.#reopenLater(query, error);
      else void this.#withHint(query, error, (reason) => this.#abandon(query, reason));
    };
    this.#send(openWatch, (writer) => putOpenWatch(writer, source), onResponse, onError);
  }

  #readPage(query: OpenQuery): void {
    if (query.isWaiting || !query.mustRead) return;
    query.isWaiting = true;
    const { readWatch } = this.environment.requestKind;
    const put = (writer: MessageWriter) => {
      writer.putWord(query.watch);
      writer.putWord(pageRows);
    };
    const onResponse = (response: Uint8Array) => {
      const page = this.environment.decoder.watchPage(response);
      if (!this.#queries.has(query)) return;
      // Equal sequences are one object: there may be very many queries.
      if (page.sequence === this.#sequence) page.sequence = this.#sequence;
      else this.#sequence = page.sequence;
      query.isWaiting = false;
      this.#update(query, () => query.add(page));
      this.#scheduleSettle();
    };
    const onError = (error: unknown) => {
      query.isWaiting = false;
      if ((error as { code?: unknown }).code !== "TableNotFound") this.#reopenLater(query, error);
      // The watch stays open: it is reset when its table is created.
      else void this.#withHint(query, error, (reason) => this.#fail(query, reason));
    };
    this.#send(readWatch, put, onResponse, onError);
  }

  // The rows that a query has may be only a part now. Shows the error, and begins again later.
  #reopenLater(query: OpenQuery, error: unknown): void {
    if (!this.#queries.has(query)) return;
    const { watch } = query;
    query.watch = 0;
    query.isWaiting = true;
    this.#watches.delete(watch);
    this.#closeListener(this.environment.requestKind.closeWatch, watch);
    this.#update(query, () => query.restart());
    void this.#withHint(query, error, (reason) => this.#fail(query, reason));
    const { restarts } = query;
    query.retryMs = this.environment.nextRetryMs(query.retryMs);
    const timer = setTimeout(() => {
      if (!this.#queries.has(query) || query.restarts !== restarts) return;
      query.isWaiting = false;
      this.#toRead.add(query);
      this.#settle();
    }, query.retryMs);
    (timer as { unref?(): void }).unref?.(); // it must not keep a Node process alive
  }

  // Calls `fail` with the error of a request about the query, once it has a hint, unless the query
  // was closed or restarted meanwhile. Hints may have to be loaded, for which others do not wait.
  async #withHint(query: OpenQuery, error: unknown, fail: (reason: Error) => void): Promise<void> {
    const { restarts } = query;
    if (this.#delaying.delete(query)) this.#scheduleSettle();
    try {
      await query.source.rejectWith(error);
    } catch (reason) {
      if (this.#queries.has(query) && query.restarts === restarts) fail(reason as Error);
    }
  }

  // ---- Requests ---------------------------------------------------------------------------------

  #connect(): void {
    this.#connection ??= this.environment.transport.listen(this);
  }

  // `onError` gets the error of encoding the request, the error that the response holds, or why
  // there is no response. Neither function is called after a reset.
  #send(
    kind: number,
    put: (writer: MessageWriter) => void,
    onResponse: (response: Uint8Array) => void,
    onError: (error: unknown) => void,
  ): void {
    const resets = this.#resets;
    const fail = (error: unknown) => {
      if (this.#resets === resets) onError(error);
    };
    const respond = (response: Uint8Array) => {
      try {
        if (this.#resets === resets) onResponse(response);
      } catch (error) {
        fail(error);
      }
    };
    try {
      this.environment.encoder.message(kind, put, (message) =>
        this.#connection?.send(message, respond, fail),
      );
    } catch (error) {
      fail(error);
    }
  }

  #watchIn(response: Uint8Array): { id: number; coversAllKeys: boolean } {
    const { decoder, responseKind } = this.environment;
    return decoder.message(response, responseKind.listener, (reader) => ({
      id: reader.readWord(),
      coversAllKeys: reader.readWord() === 1,
    }));
  }

  // ---- Closing ----------------------------------------------------------------------------------

  // The query cannot go on: closes it, and shows the error.
  #abandon(query: OpenQuery, error: Error): void {
    this.closeQuery(query);
    this.#fail(query, error);
  }

  #fail(query: OpenQuery, error: Error): void {
    query.fail(error);
    this.#changed.add(query);
    this.#noteDelay(query);
    this.#scheduleSettle();
  }

  closeQuery(query: OpenQuery): void {
    this.#changed.delete(query);
    if (!this.#queries.delete(query)) return;
    this.#toRead.delete(query);
    if (this.#delaying.delete(query)) this.#scheduleSettle();
    this.#watches.delete(query.watch);
    this.#closeListener(this.environment.requestKind.closeWatch, query.watch);
  }

  #closeFeed(feed: OpenFeed): void {
    this.#feedsToServe.delete(feed);
    if (!this.#feeds.delete(feed)) return;
    this.#closeInStore(feed, feed.staleId || feed.id);
  }

  // The store keeps the log for the feed, unless it has ended. `id`: 0 if it is not open there.
  #closeInStore(feed: OpenFeed, id: number): void {
    const { closeFeed } = this.environment.requestKind;
    if (this.#disconnectIfUnused()) return;
    this.#sendOnly(closeFeed, (writer) => feed.putClose(id, writer));
  }

  #closeListener(kind: number, id: number): void {
    if (this.#disconnectIfUnused() || id === 0) return;
    this.#sendOnly(kind, (writer) => writer.putWord(id));
  }

  // Sends a request whose response is not needed.
  #sendOnly(kind: number, put: (writer: MessageWriter) => void): void {
    const ignore = () => {};
    this.#send(kind, put, ignore, ignore);
  }

  #disconnectIfUnused(): boolean {
    const { size } = this.#users;
    if (this.#queries.size + this.#feeds.size + this.#observed.size + size > 0) return false;
    this.#connection?.close();
    this.#connection = undefined;
    return true;
  }
}

// Returns the message and the hint of the error for a wrong option.
function mistakeIn({ filter, limit, from }: QuerySource): [string, { hint?: string }] | undefined {
  if (filter !== undefined && typeof filter !== "string")
    return ["filter must be a text.", { hint: 'For example: filter: "stock gt 5".' }];
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= maxLimit))
    return [`limit must be a whole number from 1, not ${limit}.`, {}];
  const isKey = typeof from?.partitionKey === "string" && typeof from.rowKey === "string";
  return from === undefined || isKey
    ? undefined
    : ["from must have a partitionKey and a rowKey.", {}];
}

function filterOfKey({ partitionKey, rowKey }: RowKey): string {
  const [partition, row] = [partitionKey, rowKey].map((key) => `'${key.replaceAll("'", "''")}'`);
  return `PartitionKey eq ${partition} and RowKey eq ${row}`;
}

function putOpenWatch(writer: MessageWriter, source: QuerySource): void {
  const { table, filter, limit, from, result } = source;
  writer.putWord(result === "count" ? countsFlag : 0);
  writer.putText(table);
  writer.putOptionalText(result === "entity" ? filterOfKey(from as RowKey) : filter);
  writer.putWord(limit ?? absent);
  writer.putOptionalText(from?.partitionKey);
  writer.putOptionalText(from?.rowKey);
}
