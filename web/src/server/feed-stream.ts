// Sends an open change feed as the body of a response. The next batch is read when the socket has
// taken the one before, so that a client that reads slowly holds one batch here; what follows waits
// in the store, which bounds it (store.changes()).

import type { HeaderList } from "../rest/http-message.ts";
import type { ChangeBatch, ChangeFeed } from "../types.ts";
import type { NodeResponse } from "../util/node.ts";
import type { BodyBudget } from "./body-budget.ts";
import type { IncludesKey } from "./feed-access.ts";
import {
  batchEvent,
  type FeedHead,
  firstLines,
  headEvent,
  heartbeat,
  truncatedEvent,
} from "./feed-events.ts";

export const heartbeatMs = 15_000;
const headMs = 50; // how often a position is compared that moves without a batch

export interface FeedStreamOptions {
  feed: ChangeFeed;
  headers: HeaderList; // of every response
  // The client wants to know when it has got everything up to here. undefined: it does not.
  head: FeedHead | undefined;
  includesKey: IncludesKey | undefined; // undefined: the client may read every key
  // Whether the client may go on reading. Asked with each heartbeat.
  isStillAllowed: () => Promise<boolean>;
  responses: BodyBudget; // for what the client has not read
  responseMs: number; // in which the client must read an event
}

export class FeedStream {
  readonly #options: FeedStreamOptions;
  readonly #response: NodeResponse;
  readonly #encoder = new TextEncoder();
  #isClosed = false;
  #stalled: Promise<void> | undefined; // resolves when the socket takes more, or has closed
  #resume = () => {};
  #sentBytes = 0;
  #awaited: bigint | undefined; // a message tells the client when it has got everything up to here

  constructor(options: FeedStreamOptions, response: NodeResponse) {
    this.#options = options;
    this.#awaited = options.head?.sequence;
    this.#response = response;
  }

  // The length of the body so far.
  get sentBytes(): number {
    return this.#sentBytes;
  }

  // Resolves when the feed has ended, and the client has read it or disconnected. Never rejects.
  // `disconnected`: aborts when the client disconnects.
  async send(disconnected: AbortSignal): Promise<void> {
    const { feed, head, headers } = this.#options;
    const response = this.#response;
    const onClose = () => {
      this.#isClosed = true;
      this.#resume();
      void feed.return();
    };
    if (disconnected.aborted) onClose();
    disconnected.addEventListener("abort", onClose);
    response.on("drain", () => this.#resume());
    response.on("error", () => {}); // of a write after the connection was closed
    const beats = setInterval(() => void this.#beat(), heartbeatMs);
    const headTimer = setInterval(() => {
      if (this.#awaited === undefined) clearInterval(headTimer);
      else if (this.#stalled === undefined) void this.#tellHead();
    }, headMs);
    try {
      if (this.#isClosed) return;
      response.writeHead(200, "OK", [...streamHeaders(headers)].flat());
      await this.#write(firstLines(feed.position) + (head === undefined ? "" : headEvent(head)));
      for (;;) {
        await this.#tellHead();
        const { done, value } = await feed.next();
        if (done) break;
        await this.#write(this.#eventOf(value));
      }
    } catch (error) {
      // After another error, the client connects again, and gets it as a response.
      if (isTruncated(error)) await this.#write(truncatedEvent(error));
      else response.destroy();
    } finally {
      clearInterval(beats);
      clearInterval(headTimer);
      await feed.return();
      if (!this.#isClosed) response.end();
    }
  }

  // Ends the feed. A client that has not read the last event is disconnected.
  end(): void {
    void this.#options.feed.return();
    if (this.#stalled !== undefined) this.#response.destroy();
  }

  #eventOf(batch: ChangeBatch): string {
    const { includesKey } = this.#options;
    if (includesKey === undefined) return batchEvent(batch);
    const changes = batch.changes.filter((change) =>
      includesKey(change.partitionKey, change.rowKey),
    );
    if (changes.length === 0 && batch.tables === undefined) return heartbeat(batch.sequence);
    return batchEvent({ ...batch, changes });
  }

  // REQUIRES: all batches that the feed has returned are written.
  async #tellHead(): Promise<void> {
    const { position } = this.#options.feed;
    if (this.#awaited === undefined || position === undefined || position < this.#awaited) return;
    this.#awaited = undefined;
    await this.#write(heartbeat(position));
  }

  // What was sent meanwhile takes the place of a heartbeat: its position would be an earlier one.
  async #beat(): Promise<void> {
    const { feed, isStillAllowed } = this.#options;
    const [position, sentBytes] = [feed.position, this.#sentBytes];
    const isIdle = this.#stalled === undefined;
    const isAllowed = await isStillAllowed().catch(() => false);
    if (!isAllowed) this.end();
    else if (isIdle && sentBytes === this.#sentBytes) await this.#write(heartbeat(position));
  }

  // Resolves when the socket takes more, or has closed.
  async #write(text: string): Promise<void> {
    while (this.#stalled !== undefined) await this.#stalled; // a heartbeat may be before
    if (this.#isClosed) return;
    const bytes = this.#encoder.encode(text);
    this.#sentBytes += bytes.length;
    if (!this.#response.write(bytes)) await this.#drained(bytes.length);
  }

  // The socket has not taken all of the bytes. If it does not within the time for reading a
  // response, closes the connection.
  async #drained(bytes: number): Promise<void> {
    const { responses, responseMs } = this.#options;
    responses.reserveBeyondLimit(bytes);
    const late = setTimeout(() => this.#response.destroy(), responseMs);
    this.#stalled = new Promise((resolve) => {
      this.#resume = resolve;
    });
    await this.#stalled;
    this.#stalled = undefined;
    clearTimeout(late);
    responses.release(bytes);
  }
}

// The headers of a response without a body, and those of the stream. The connection is closed after
// the feed, so that the server can end.
function* streamHeaders(headers: HeaderList): Generator<readonly [string, string]> {
  for (const header of headers) if (!/^content-/i.test(header[0])) yield header;
  yield ["Content-Type", "text/event-stream"];
  yield ["X-Accel-Buffering", "no"]; // proxies such as nginx would hold back events
  yield ["Connection", "close"];
}

// Not instanceof: the store may come from another copy of the package.
function isTruncated(error: unknown): error is Parameters<typeof truncatedEvent>[0] {
  return (error as { code?: unknown }).code === "FeedTruncated";
}
