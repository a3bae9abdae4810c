// The clients that listen to a store in this thread: live queries and readers of the change feed,
// of this tab and of others. Takes what has changed from the engine, and passes it to them. Loaded
// with the first of them (listener-loader.ts).

import type { LogStorage } from "../storage/log-storage.ts";
import type { ChangeListener, ListenerConnection } from "../transport.ts";
import type { Engine, PartsNeeded } from "../wasm/engine.ts";
import { answerFeedReader } from "./feed-reader-requests.ts";
import type { PartLoader } from "./part-loader.ts";
import { type FeedRequestEnvironment, readPastChanges } from "./past-changes.ts";

export interface ChangeListenersOptions {
  engine: Pick<
    Engine,
    | "stats"
    | "listen"
    | "onChange"
    | "runBeforeNextChange"
    | "runBeforeOtherCalls"
    | "hasDeferredModule"
  >;
  parts: Pick<PartLoader, "loadAndRetry">;
  // Undefined: stored segments are not kept. A read does not overlap the storing of a manifest.
  storage: Pick<LogStorage, "readSegments"> | undefined;
  // Resolves to the error to report for a request that failed while it waited for parts or for a
  // deferred module.
  errorOfRead(error: unknown): Promise<Error>;
  // Writes a checkpoint, which stores the durable readers of the change feed.
  storeReaders(): Promise<void>;
  // Why nothing can be stored any more; undefined: that is not so.
  storingError(): Error | undefined;
}

// What a page has loaded anyway (StoreHandle.import() explains why it is passed).
export interface ListenerEnvironment extends FeedRequestEnvironment {
  inMicrotask(call: () => void): void;
  toError(thrown: unknown): Error;
}

interface Client {
  readonly listener: ChangeListener;
  readonly id: readonly number[]; // of the calls of its writes, as words
  number: number; // another one after each reset; requests with an earlier one get no response
  mayReadFeed: boolean; // it has opened a feed
  hasNews: boolean; // onChanges() was called, and onChangesEnd() was not
  feedsToOpen: (() => void)[]; // repeat the requests for feeds that a write delays
}

const noId = [0, 0, 0, 0]; // of a client whose writes are not calls

// Changes are taken after so many writes of one turn of the event loop, because the engine keeps a
// copy of each row that they replace until then.
const writesPerTake = 16;
// Where the text of a response to "take changes" begins if there are neither deltas nor batches:
// after the header, two sequences and five counts.
const textAtIfEmpty = 16 + 2 * 8 + 5 * 4;

// Whether a response to "take changes" has neither deltas nor batches. A DataView would be slower.
function isEmpty(response: Uint8Array): boolean {
  const at = 4; // of the word that says where the text begins
  return (
    response[at] === textAtIfEmpty &&
    response[at + 1] === 0 &&
    response[at + 2] === 0 &&
    response[at + 3] === 0
  );
}

// Returns a request message (core/rpc/LAYOUT.md).
function requestMessage(kind: number, ...words: number[]): Uint8Array {
  const header = [kind | (1 << 8), 16 + 4 * words.length, 0, 0];
  return new Uint8Array(Uint32Array.of(...header, ...words).buffer);
}

export class ChangeListeners {
  readonly #options: ChangeListenersOptions;
  readonly #environment: ListenerEnvironment;
  readonly #closeRequest: Uint8Array;
  readonly #clients = new Map<number, Client>(); // by number
  #lastNumber = 0;
  #changes = 0; // how many calls may have changed something since changes were taken

  constructor(options: ChangeListenersOptions, environment: ListenerEnvironment) {
    this.#options = options;
    this.#environment = environment;
    this.#closeRequest = requestMessage(environment.requestKind.closeListeners);
  }

  // `clientId`: in the calls of that client's writes, which are local to it.
  listen(listener: ChangeListener, clientId?: Uint8Array): ListenerConnection {
    const number = ++this.#lastNumber;
    const id = clientId?.length === 16 ? [...new Uint32Array(clientId.slice().buffer)] : noId;
    const state = { mayReadFeed: false, hasNews: false, feedsToOpen: [] };
    const client: Client = { listener, id, number, ...state };
    this.#clients.set(client.number, client);
    this.#options.engine.onChange = this.#onChange;
    return {
      send: (request, respond, fail) => this.#send(client, request, respond, fail),
      close: () => this.#close(client),
    };
  }

  // Called when the store closes.
  closeAll(error: Error): void {
    this.#options.engine.onChange = undefined;
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    for (const { listener } of clients) listener.onClosed(error);
  }

  // The changes are taken at the end of this turn of the event loop, or earlier: before the engine
  // is called otherwise than by single writes, before the 17th of them, and before the next one if
  // the changes take much memory. Writes that are made in one turn then have one notification, but
  // each has a batch of its own in the change feed.
  readonly #onChange = (mustTake = false) => {
    const { engine } = this.#options;
    this.#changes += 1;
    if (mustTake || this.#changes === writesPerTake) engine.runBeforeNextChange(this.#takeIfDue);
    if (this.#changes > 1) return;
    engine.runBeforeOtherCalls(this.#takeIfDue);
    this.#environment.inMicrotask(() => {
      this.#takeIfDue();
      this.#endChanges();
    });
  };

  #endChanges(): void {
    for (const client of [...this.#clients.values()]) {
      if (!client.hasNews) continue;
      client.hasNews = false;
      client.listener.onChangesEnd();
    }
  }

  // Must be called before a checkpoint removes segments. If another tab takes over, feeds go on
  // after the last commit that they know of, which must be in the log then, or be the last that the
  // checkpoint covers. A tab that has not read its last message gets no other, and may therefore
  // miss this one.
  reportStored(): void {
    if (![...this.#clients.values()].some(({ mayReadFeed }) => mayReadFeed)) return;
    this.#takeAll(true);
    this.#endChanges();
  }

  readonly #takeIfDue = () => {
    if (this.#changes > 0) this.#takeAll(false);
  };

  #takeAll(wakesFeeds: boolean): void {
    this.#changes = 0;
    try {
      try {
        this.#take(wakesFeeds);
      } catch (error) {
        if ((error as { code?: unknown }).code !== "OutOfMemory") throw error;
        this.#resetAll();
      }
      this.openFeeds();
    } catch (cause) {
      this.closeAll(this.#environment.toError(cause)); // the engine broke
    }
  }

  // Throws OutOfMemory if memory ran out. The changes are then lost. As long as the engine has not
  // loaded the module for it, no client has opened a listener. Clients that no change concerns are
  // not woken, except those with feeds if `wakesFeeds`.
  #take(wakesFeeds: boolean): void {
    if (!this.#options.engine.hasDeferredModule("live")) return;
    let left = this.#clients.size;
    for (const client of [...this.#clients.values()]) {
      const changes = this.#takeFor(client, --left === 0);
      if (isEmpty(changes) && !(wakesFeeds && client.mayReadFeed)) continue;
      client.hasNews = true;
      client.listener.onChanges(changes);
    }
  }

  #takeFor(client: Client, isLast: boolean): Uint8Array {
    const { takeChanges } = this.#environment.requestKind;
    const request = requestMessage(takeChanges, isLast ? 1 : 0, ...client.id);
    return this.#listen(client, request);
  }

  // Opens the feeds that a write has delayed, unless another one does now. The engine opens no feed
  // while a group is staged: that group's changes are not recorded for it. A change is reported
  // when the group was published or discarded, and this runs before the next one is staged. So a
  // feed waits for one group at most, and has all changes of later ones. If the outcome of storing
  // the group is unknown, the feed waits until it is known, as writes do. It fails if that will
  // never be.
  openFeeds(): void {
    for (const client of [...this.#clients.values()])
      for (const open of client.feedsToOpen.splice(0)) open();
  }

  // Closes all watches and feeds, so that the core forgets what could not be taken.
  #resetAll(): void {
    const clients = [...this.#clients.values()];
    for (const client of clients) this.#listen(client, this.#closeRequest);
    for (const client of clients.slice(-1)) this.#takeFor(client, true);
    this.#clients.clear();
    for (const client of clients) {
      client.number = ++this.#lastNumber;
      client.hasNews = false;
      client.feedsToOpen = [];
      this.#clients.set(client.number, client);
    }
    for (const { listener } of clients) listener.onReset();
  }

  // REQUIRES: the request needs no parts.
  #listen({ number }: Client, request: Uint8Array): Uint8Array {
    return this.#options.engine.listen(number, request) as Uint8Array;
  }

  #send(
    client: Client,
    request: Uint8Array,
    respond: (response: Uint8Array) => void,
    fail: (error: Error) => void,
  ): void {
    const { number } = client;
    const isCurrent = () => this.#clients.has(number);
    const { engine, parts } = this.#options;
    const { PartsNeeded, requestKind, toError } = this.#environment;
    if (request[0] === requestKind.openFeed) client.mayReadFeed = true;
    if (request[0] === requestKind.readPast || request[0] === requestKind.feedReader) {
      void this.#answerLater(client, request.slice(), isCurrent, respond).catch(async (error) => {
        const reason = await this.#options.errorOfRead(error);
        if (isCurrent()) fail(reason);
      });
      return;
    }
    // Returns what the engine needs. Responds as soon as the engine does: changes that it returns
    // later refer to the response.
    const answer = (message: Uint8Array): PartsNeeded | undefined => {
      if (!isCurrent()) return undefined;
      const response = engine.listen(number, message); // may take changes first, and reset clients
      if (!isCurrent()) return undefined;
      if (response instanceof PartsNeeded) return response;
      if (this.#isFeedDelayed(message, response))
        this.#delayFeed(client, message.slice(), respond, fail);
      else respond(response);
      return undefined;
    };
    try {
      const needed = answer(request);
      if (needed === undefined) return;
      const copy = request.slice();
      parts
        .loadAndRetry<undefined>(needed, () => answer(copy))
        .catch(async (error: unknown) => {
          if (!isCurrent()) return;
          const reason = await this.#options.errorOfRead(error);
          if (isCurrent()) fail(reason);
        });
    } catch (error) {
      fail(toError(error));
    }
  }

  // Answers a request that reads the log, or is about a durable reader.
  async #answerLater(
    client: Client,
    request: Uint8Array,
    isCurrent: () => boolean,
    respond: (response: Uint8Array) => void,
  ): Promise<void> {
    const listen = (message: Uint8Array) => this.#options.engine.listen(client.number, message);
    const environment = this.#environment;
    const host = { ...this.#options, environment, listen, clientId: client.id, isCurrent };
    const isPast = request[0] === environment.requestKind.readPast;
    const answer = isPast ? readPastChanges : answerFeedReader;
    await answer(request, host, respond);
  }

  // Returns whether a request to open a feed must be repeated later, because a group is staged.
  #isFeedDelayed([kind]: Uint8Array, response: Uint8Array): boolean {
    const { requestKind, responseKind } = this.#environment;
    if (kind !== requestKind.openFeed || response[0] !== responseKind.listener) return false;
    return new Uint32Array(response.slice(16, 20).buffer)[0] === 0;
  }

  #delayFeed(client: Client, ...request: Parameters<ListenerConnection["send"]>): void {
    const error = this.#options.storingError();
    if (error === undefined) client.feedsToOpen.push(() => this.#send(client, ...request));
    else request[2](error);
  }

  #close(client: Client): void {
    if (!this.#clients.delete(client.number)) return;
    const { engine } = this.#options;
    if (this.#clients.size === 0) engine.onChange = undefined;
    if (!engine.hasDeferredModule("live")) return;
    try {
      this.#listen(client, this.#closeRequest);
    } catch {
      // the engine broke
    }
  }
}
