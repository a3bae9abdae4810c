// The live queries and the feeds of a store's clients in this thread, and their connection to the
// store. Loaded with the first of them.
//
// What has changed is applied to all live queries before their users hear of it.

import type { AbortError, StoreError } from "../errors.ts";
import type { ChangeListener, ListenerConnection, Transport } from "../transport.ts";
import type { requestKind, responseKind } from "../util/engine-message-kinds.ts";
import { decodeChanges } from "./changes-decoder.ts";
import { type FeedSource, OpenFeed } from "./live-feed.ts";
import { type LiveSource, OpenQuery } from "./live-state.ts";
import type { MessageWriter } from "./message-writer.ts";
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
}

const pageRows = 1000;
const absent = -1;
const countsFlag = 1;

export class LiveConnection implements ChangeListener {
  readonly #environment: LiveEnvironment;
  readonly #queries = new Set<OpenQuery>();
  readonly #watches = new Map<number, OpenQuery>(); // by id
  readonly #incomplete = new Set<OpenQuery>(); // must be opened or read on
  readonly #changed = new Set<OpenQuery>(); // whose users must hear of it
  readonly #feeds = new Set<OpenFeed>();
  #connection: ListenerConnection | undefined;
  #isSettleDue = false;

  constructor(environment: LiveEnvironment) {
    this.#environment = environment;
  }

  // Throws StoreError if the store is closed. `attach` gets the query before anything is read, and
  // returns whether it is still needed.
  openQuery(source: LiveSource, attach: (query: OpenQuery) => boolean): OpenQuery {
    const query = new OpenQuery(source, () => this.#closeQuery(query));
    if (!attach(query)) return query;
    this.#connect();
    this.#queries.add(query);
    this.#incomplete.add(query);
    this.#settle();
    return query;
  }

  // Throws StoreError if the store is closed.
  openFeed(source: FeedSource): OpenFeed {
    const feed = new OpenFeed(source, this.#environment, () => this.#closeFeed(feed));
    this.#connect();
    this.#feeds.add(feed);
    const { openFeed, closeFeed } = this.#environment.requestKind;
    const onResponse = (response: Uint8Array) => {
      const id = this.#listenerIn(response);
      if (this.#feeds.has(feed)) feed.onOpen(id);
      else this.#closeListener(closeFeed, id);
    };
    const onError = (error: unknown) => {
      this.#closeFeed(feed);
      feed.end(error as Error);
    };
    this.#send(openFeed, (writer) => feed.put(writer), onResponse, onError);
    return feed;
  }

  // ---- ChangeListener ---------------------------------------------------------------------------

  onChanges(message: Uint8Array): void {
    const { sequence, deltas, batches } = decodeChanges(this.#environment.decoder, message);
    for (const delta of deltas) {
      const query = this.#watches.get(delta.watch);
      if (query === undefined) continue;
      this.#update(query, () => query.apply(delta, sequence));
    }
    for (const batch of batches)
      for (const feed of this.#feeds) if (feed.id === batch.feed) feed.add(batch);
  }

  onChangesEnd(): void {
    this.#settle();
  }

  onReset(): void {
    this.#watches.clear();
    for (const query of this.#queries) {
      query.watch = 0;
      query.isWaiting = false;
      query.restart();
      this.#incomplete.add(query);
    }
    for (const feed of this.#feeds) feed.truncate("the store has another owner");
    this.#scheduleSettle();
  }

  onClosed(error: Error): void {
    this.#connection = undefined;
    for (const query of this.#queries) {
      query.end(error);
      this.#changed.add(query);
    }
    this.#queries.clear();
    this.#watches.clear();
    this.#incomplete.clear();
    for (const feed of this.#feeds) feed.end(undefined);
    this.#feeds.clear();
    this.#scheduleSettle();
  }

  // ---- Reading ----------------------------------------------------------------------------------

  #scheduleSettle(): void {
    if (this.#isSettleDue) return;
    this.#isSettleDue = true;
    this.#environment.inMicrotask(() => {
      this.#isSettleDue = false;
      this.#settle();
    });
  }

  // Opens and reads queries as far as that needs no waiting. Then tells users what has changed.
  #settle(): void {
    for (const query of [...this.#incomplete]) {
      if (query.watch === 0) this.#openWatch(query);
      this.#readOn(query);
    }
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const query of changed) query.source.onChange(query.takeDeltas());
  }

  // Runs `update`, which returns whether the query's snapshot has changed.
  #update(query: OpenQuery, update: () => boolean): void {
    try {
      if (update()) this.#changed.add(query);
      if (query.isComplete) this.#incomplete.delete(query);
      else this.#incomplete.add(query);
    } catch (error) {
      this.#abandon(query, error as Error); // of the resolver
    }
  }

  #openWatch(query: OpenQuery): void {
    if (query.isWaiting) return;
    query.isWaiting = true;
    const { openWatch, closeWatch } = this.#environment.requestKind;
    const { source } = query;
    const onResponse = (response: Uint8Array) => {
      const id = this.#listenerIn(response);
      if (!this.#queries.has(query)) {
        this.#closeListener(closeWatch, id);
        return;
      }
      query.isWaiting = false;
      query.watch = id;
      this.#watches.set(id, query);
      this.#scheduleSettle();
    };
    const onError = (error: unknown) => {
      void this.#withHint(query, error, (reason) => this.#abandon(query, reason));
    };
    this.#send(openWatch, (writer) => putOpenWatch(writer, source), onResponse, onError);
  }

  #readOn(query: OpenQuery): void {
    const { readWatch } = this.#environment.requestKind;
    while (query.watch !== 0 && !query.isWaiting && this.#incomplete.has(query)) {
      query.isWaiting = true;
      const { watch } = query;
      const put = (writer: MessageWriter) => {
        writer.putWord(watch);
        writer.putWord(pageRows);
      };
      const onResponse = (response: Uint8Array) => {
        const page = this.#environment.decoder.watchPage(response);
        if (!this.#queries.has(query)) return;
        query.isWaiting = false;
        this.#update(query, () => query.add(page));
        this.#scheduleSettle();
      };
      // The query stays open: it is reset when its table is created, or when damage was found.
      const onError = (error: unknown) => {
        query.isWaiting = false;
        this.#incomplete.delete(query);
        void this.#withHint(query, error, (reason) => {
          query.fail(reason);
          this.#changed.add(query);
          this.#scheduleSettle();
        });
      };
      this.#send(readWatch, put, onResponse, onError);
    }
  }

  // Calls `fail` with the error of a request about the query, once it has a hint, unless the query
  // was closed or restarted meanwhile.
  async #withHint(query: OpenQuery, error: unknown, fail: (reason: Error) => void): Promise<void> {
    const { restarts } = query;
    try {
      await query.source.rejectWith(error);
    } catch (reason) {
      if (this.#queries.has(query) && query.restarts === restarts) fail(reason as Error);
    }
  }

  // ---- Requests ---------------------------------------------------------------------------------

  #connect(): void {
    this.#connection ??= this.#environment.transport.listen(this);
  }

  // `onError` gets the error that the response holds, or why there is no response.
  #send(
    kind: number,
    put: (writer: MessageWriter) => void,
    onResponse: (response: Uint8Array) => void,
    onError: (error: unknown) => void,
  ): void {
    const respond = (response: Uint8Array) => {
      try {
        onResponse(response);
      } catch (error) {
        onError(error);
      }
    };
    this.#environment.encoder.message(kind, put, (message) =>
      this.#connection?.send(message, respond, onError),
    );
  }

  #listenerIn(response: Uint8Array): number {
    const { decoder, responseKind } = this.#environment;
    return decoder.message(response, responseKind.listener, (reader) => reader.readWord());
  }

  // ---- Closing ----------------------------------------------------------------------------------

  // The query cannot go on: closes it, and shows the error.
  #abandon(query: OpenQuery, error: Error): void {
    this.#closeQuery(query);
    query.fail(error);
    this.#changed.add(query);
    this.#scheduleSettle();
  }

  #closeQuery(query: OpenQuery): void {
    this.#changed.delete(query);
    if (!this.#queries.delete(query)) return;
    this.#incomplete.delete(query);
    this.#watches.delete(query.watch);
    this.#closeListener(this.#environment.requestKind.closeWatch, query.watch);
  }

  #closeFeed(feed: OpenFeed): void {
    if (this.#feeds.delete(feed))
      this.#closeListener(this.#environment.requestKind.closeFeed, feed.id);
  }

  #closeListener(kind: number, id: number): void {
    if (this.#queries.size + this.#feeds.size === 0) {
      this.#connection?.close();
      this.#connection = undefined;
    } else if (id !== 0) {
      const ignore = () => {};
      this.#send(kind, (writer) => writer.putWord(id), ignore, ignore);
    }
  }
}

function putOpenWatch(writer: MessageWriter, source: LiveSource): void {
  const { table, filter, limit, from, result } = source;
  writer.putWord(result === "count" ? countsFlag : 0);
  writer.putText(table);
  writer.putOptionalText(filter);
  writer.putWord(limit ?? absent);
  writer.putOptionalText(from?.partitionKey);
  writer.putOptionalText(from?.rowKey);
}
