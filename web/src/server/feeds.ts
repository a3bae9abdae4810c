// The change feeds that a server sends to its clients: answers requests for them, limits how many
// are open at once, and ends them with the server.

import type { RestEntryPoint } from "../rest/entry-point.ts";
import { errorResponseWith } from "../rest/error-response.ts";
import type { HeaderList, HttpResponse } from "../rest/http-message.ts";
import type { ChangeFeed, ChangesOptions, Store } from "../types.ts";
import type { NodeResponse } from "../util/node.ts";
import { randomGuid } from "../util/random.ts";
import type { BodyBudget } from "./body-budget.ts";
import { canExpire, feedAccess, type RequestHead, signedRange } from "./feed-access.ts";
import type { FeedHead } from "./feed-events.ts";
import { FeedHistory, type StoreWithReaders } from "./feed-history.ts";
import {
  feedName,
  feedOptions,
  InvalidFeedRequest,
  isFeedUrl,
  queryOf,
  wantsHead,
} from "./feed-request.ts";
import { FeedStream, type FeedStreamOptions } from "./feed-stream.ts";

// The header by which every other response announces the feed: its URL, relative to the endpoint of
// the account.
export const feedHeader = ["x-entitable-changes", feedName] as const;

type FeedStore = Pick<Store, "changes"> & StoreWithReaders;

export interface FeedsOptions {
  stores: ReadonlyMap<RestEntryPoint, FeedStore>;
  feedsMax: number;
  responses: BodyBudget; // for what clients have not read
  responseMs: number;
}

export class Feeds {
  readonly #options: FeedsOptions;
  readonly #history: FeedHistory;
  readonly #streams = new Set<FeedStream>();
  // By which clients know that a sequence is still that of the same commit.
  readonly #names = new Map<RestEntryPoint, string>();
  #openCount = 0;
  #isClosed = false;

  constructor(options: FeedsOptions) {
    this.#options = options;
    this.#history = new FeedHistory(options.stores.values());
  }

  // Resolves when clients may connect, and connect again.
  async start(): Promise<void> {
    await this.#history.start();
  }

  // Returns whether the request is one for a feed. A preflight request is not: the store answers
  // it.
  serves(method: string, url: string): boolean {
    return method !== "OPTIONS" && isFeedUrl(url);
  }

  // Sends the feed, and resolves to the length of its body when it has ended. Otherwise resolves to
  // the response to send in its place. Rejects if the store cannot respond. REQUIRES: serves()
  // returned true; head.signal aborts when the client disconnects.
  async respond(
    entryPoint: RestEntryPoint,
    head: RequestHead & { signal: AbortSignal },
    response: NodeResponse,
  ): Promise<HttpResponse | number> {
    let headers: HeaderList = [];
    let isCounted = false;
    try {
      const access = await feedAccess(entryPoint, head);
      headers = access.response.headers;
      if (head.method !== "GET") return methodNotAllowed(headers);
      if (!access.isAllowed) return access.response;
      const options = feedOptions(queryOf(head.url), head.headers);
      const includesKey = signedRange(head.url);
      if (this.#isClosed || this.#openCount >= this.#options.feedsMax) return tooManyFeeds(headers);
      this.#openCount += 1;
      isCounted = true;
      const newest = wantsHead(queryOf(head.url)) ? await this.#head(entryPoint) : undefined;
      const feed = await this.#open(entryPoint, options, head.signal);
      const isStillAllowed = async () =>
        !canExpire(head) || (await feedAccess(entryPoint, { ...head, quiet: true })).isAllowed;
      const { responses, responseMs } = this.#options;
      const streaming = {
        feed,
        headers,
        head: newest,
        includesKey,
        isStillAllowed,
        responses,
        responseMs,
      };
      return await this.#send(streaming, head.signal, response);
    } catch (error) {
      const response = badRequestFrom(error, headers);
      if (response === undefined) throw error;
      return response;
    } finally {
      if (isCounted) this.#openCount -= 1;
    }
  }

  // Ends all feeds.
  close(): void {
    this.#isClosed = true;
    this.#history.stop();
    for (const stream of this.#streams) stream.end();
  }

  // What is committed before the request is in the feed before this, or at it.
  async #head(entryPoint: RestEntryPoint): Promise<FeedHead> {
    const feed = (this.#options.stores.get(entryPoint) as FeedStore).changes();
    await feed.ready;
    const { position = 0n } = feed;
    await feed.return();
    const store = this.#names.get(entryPoint) ?? randomGuid();
    this.#names.set(entryPoint, store);
    return { sequence: position, store };
  }

  // Resolves when the feed is open. A feed whose beginning is not in the log is open: it says so.
  async #open(
    entryPoint: RestEntryPoint,
    options: ChangesOptions,
    disconnected: AbortSignal,
  ): Promise<ChangeFeed> {
    const store = this.#options.stores.get(entryPoint) as FeedStore;
    const feed = store.changes(options);
    const onDisconnect = () => void feed.return();
    disconnected.addEventListener("abort", onDisconnect);
    if (disconnected.aborted) onDisconnect();
    try {
      await feed.ready;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "FeedTruncated") throw error;
    } finally {
      disconnected.removeEventListener("abort", onDisconnect);
    }
    return feed;
  }

  async #send(
    options: FeedStreamOptions,
    disconnected: AbortSignal,
    response: NodeResponse,
  ): Promise<number> {
    const stream = new FeedStream(options, response);
    this.#streams.add(stream);
    if (this.#isClosed) stream.end(); // while the feed was opened
    await stream.send(disconnected);
    this.#streams.delete(stream);
    return stream.sentBytes;
  }
}

// ---- Errors ----------------------------------------------------------------------------------

function methodNotAllowed(headers: HeaderList): HttpResponse {
  return errorResponseWith([...headers, ["Allow", "GET, OPTIONS"]], {
    status: 405,
    reason: "Method Not Allowed",
    code: "MethodNotAllowed",
    message: "The requested method is not allowed on the specified resource.",
    hint: "The change feed is read with GET, as EventSource does.",
  });
}

function tooManyFeeds(headers: HeaderList): HttpResponse {
  return errorResponseWith([...headers, ["Retry-After", "1"]], {
    status: 503,
    reason: "Service Unavailable",
    code: "ServerBusy",
    message: "The server has no room for another change feed.",
    hint: "The option limits.feeds of serve() (--max-feeds) says how many may be open.",
  });
}

const filterHint = "A filter has the syntax of $filter, for example: PartitionKey eq 'desk'.";

// Returns the response for what is wrong with the request. Returns undefined for other errors. (Not
// instanceof: the store may come from another copy of the package.)
function badRequestFrom(error: unknown, headers: HeaderList): HttpResponse | undefined {
  const { name, message, hint } = error as InvalidFeedRequest;
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const isBad = error instanceof InvalidFeedRequest || (name === "RestError" && statusCode === 400);
  const isInvalid = name === "StoreError" && code === "ValidationFailed";
  if (!isBad && !isInvalid) return undefined;
  const serviceCode = isInvalid || code === undefined ? "InvalidInput" : code;
  const what = {
    status: 400,
    reason: "Bad Request",
    code: serviceCode,
    message,
    hint: hint ?? filterHint,
  };
  return errorResponseWith(headers, what);
}
