// One connection to the feed of changes of an account, for all of its tables that are synced: a
// browser opens only few connections to a server.

import type { Feed, FeedAnswer, FeedEvent, OpenFeedAnswer } from "../sync/remote.ts";
import { EventStreamParser } from "./event-stream.ts";
import { eventOf, type FeedMessage, messageOf } from "./feed-events.ts";
import type { Http, HttpStream } from "./http.ts";
import { failureOf, isRefusal, serviceErrorOf } from "./service-error.ts";

const joinMs = 20; // in which other tables join a connection that begins
const silentMs = 25_000; // the server sends something every 15 s
const eventsMax = 1000; // of a table that does not take them
const sizeMax = 2 ** 24; // of these events, in characters

/** One table, from its request on. */
class Subscriber implements Feed {
  readonly kind = "open";
  readonly table: string;
  readonly #onClose: (subscriber: Subscriber) => void;
  readonly opened: Promise<OpenFeedAnswer>;
  #onOpened: (answer: OpenFeedAnswer) => void = () => {};
  #isOpen = false;
  #events: FeedEvent[] = [];
  #size = 0; // of these
  #last: Exclude<FeedAnswer, { kind: "events" }> | undefined;
  #onNews = (): void => {};
  #onTaken = (): void => {};
  position: bigint | undefined;
  head = 0n;
  store = "";
  scope = "";

  constructor(table: string, since: bigint | undefined, onClose: (of: Subscriber) => void) {
    this.table = table;
    this.position = since;
    this.#onClose = onClose;
    this.opened = new Promise((resolve) => {
      this.#onOpened = resolve;
    });
  }

  /** Returns false if the connection continues another history. */
  open(head: bigint, store: string, scope: string): boolean {
    if (this.#isOpen) return store === this.store;
    this.#isOpen = true;
    this.position ??= head;
    Object.assign(this, { head, store, scope });
    this.#onOpened(this);
    return true;
  }

  /** Returns true if the connection shows other keys than these. */
  hasOtherScope(scope: string): boolean {
    return this.#isOpen && scope !== this.scope;
  }

  /** No connection could be opened, or it has ended. */
  fail(answer: Exclude<OpenFeedAnswer, Feed>, last: "ended" | "truncated" = "ended"): void {
    this.#last ??= { kind: last };
    this.#onOpened(answer);
    this.#onNews();
    this.#onTaken();
  }

  /** Resolves when another event may be added. A position can come again: nothing is new. */
  async add(event: FeedEvent, isPosition = false): Promise<void> {
    const position = this.position as bigint;
    const isNews = event.sequence > position || (isPosition && event.sequence === position);
    if (this.#last || !isNews) return;
    this.position = event.sequence;
    this.#events.push(event);
    this.#size += event.size ?? 0;
    this.#onNews();
    while (this.#isFull && this.#last === undefined)
      await new Promise<void>((resolve) => {
        this.#onTaken = resolve;
      });
  }

  get #isFull(): boolean {
    return this.#events.length >= eventsMax || this.#size >= sizeMax;
  }

  async next(): Promise<FeedAnswer> {
    while (this.#events.length === 0 && this.#last === undefined)
      await new Promise<void>((resolve) => {
        this.#onNews = resolve;
      });
    if (this.#events.length === 0) return this.#last as FeedAnswer;
    const events = this.#events;
    this.#forget();
    this.#onTaken();
    return { kind: "events", events };
  }

  close(): void {
    this.#forget();
    this.fail({ kind: "failed" });
    this.#onClose(this);
  }

  #forget(): void {
    this.#events = [];
    this.#size = 0;
  }
}

export class AccountFeed {
  readonly #http: Http;
  readonly #subscribers = new Set<Subscriber>();
  #isConnecting = false; // another connection begins in a moment
  #connection = new AbortController();

  constructor(http: Http) {
    this.#http = http;
    http.onSas = (sas) => this.#compareScope(sas);
  }

  /**
   * Opens the feed of a table. Its connection then begins again, for all tables. `signal` closes
   * the feed, also while it is opened.
   */
  async open(
    table: string,
    since: bigint | undefined,
    signal: AbortSignal | undefined,
  ): Promise<OpenFeedAnswer> {
    if (this.#http.feedPath === undefined) return { kind: "none" };
    const subscriber = new Subscriber(table, since, (closed) => this.#remove(closed));
    this.#subscribers.add(subscriber);
    signal?.addEventListener("abort", () => subscriber.close());
    if (!this.#isConnecting) {
      this.#isConnecting = true;
      setTimeout(() => void this.#connect(), joinMs);
    }
    return await subscriber.opened;
  }

  /**
   * Requests have this signature from now on. A connection keeps its own. If the keys differ, the
   * feeds begin again, because what is read by requests would not complete them.
   */
  #compareScope(sas: string): void {
    const scope = scopeOf(sas);
    for (const one of this.#subscribers)
      if (one.hasOtherScope(scope)) this.#end(one, { kind: "failed" }, "truncated");
  }

  #remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0) this.#connection.abort();
  }

  async #connect(): Promise<void> {
    this.#isConnecting = false; // a table that joins from now on needs another connection
    this.#connection.abort();
    const connection = new AbortController();
    this.#connection = connection;
    const subscribers = [...this.#subscribers];
    if (subscribers.length === 0) return;
    let answer: Exclude<OpenFeedAnswer, Feed> = { kind: "failed" };
    try {
      answer = await this.#follow(subscribers, connection.signal);
    } catch {
      // Something was received that is no feed.
    }
    connection.abort();
    // Another connection continues after the last event of each table.
    if (!this.#isConnecting && connection === this.#connection)
      for (const subscriber of subscribers) this.#end(subscriber, answer);
  }

  /** Resolves when the connection has ended, or could not be opened. */
  async #follow(
    subscribers: readonly Subscriber[],
    signal: AbortSignal,
  ): Promise<Exclude<OpenFeedAnswer, Feed>> {
    const stream = await this.#request(subscribers, signal);
    if (!("read" in stream)) return stream;
    await this.#readAll(stream, subscribers);
    return { kind: "failed" };
  }

  async #request(
    subscribers: readonly Subscriber[],
    signal: AbortSignal,
  ): Promise<HttpStream | Exclude<OpenFeedAnswer, Feed>> {
    const positions = subscribers.flatMap(({ position }) => position ?? []);
    const since = positions.reduce((a: bigint | undefined, b) => (a && a < b ? a : b), undefined);
    const result = await this.#http.open(
      {
        method: "GET",
        path: this.#http.feedPath ?? "",
        query: {
          table: subscribers.map(({ table }) => table),
          since: since === undefined ? undefined : String(since),
          head: "true",
        },
        signal,
      },
      silentMs,
    );
    if (typeof result === "object" && "read" in result) return result;
    const isService = typeof result === "object" && serviceErrorOf(result.text) !== undefined;
    const isNone = isService && (isRefusal(result) || result.status === 404);
    if (isNone) this.#http.feedPath = undefined;
    return isNone ? { kind: "none" } : failureOf(result);
  }

  async #readAll(stream: HttpStream, subscribers: readonly Subscriber[]): Promise<void> {
    const parser = new EventStreamParser();
    for (;;) {
      const text = await stream.read();
      if (text === undefined) return;
      for (const event of parser.push(text)) {
        const message = messageOf(event);
        if (message && !(await this.#handle(message, subscribers, stream))) return;
      }
    }
  }

  /** Returns false if the connection is of no more use. */
  async #handle(
    message: FeedMessage,
    subscribers: readonly Subscriber[],
    { sas }: HttpStream,
  ): Promise<boolean> {
    const present = this.#http.sas;
    if (present !== undefined) this.#compareScope(present);
    const current = subscribers.filter((subscriber) => this.#subscribers.has(subscriber));
    switch (message.kind) {
      case "head":
        for (const one of current)
          if (!one.open(message.sequence, message.store, scopeOf(sas)))
            this.#end(one, { kind: "failed" });
        return true;
      case "position":
        await addTo(current, () => ({ sequence: message.sequence, changes: [] }), true);
        return true;
      case "batch":
        return await addTo(current, ({ table }) => eventOf(message.batch, table));
      case "truncated":
        for (const subscriber of current) {
          const isLost = (subscriber.position ?? 0n) < message.firstSequence - 1n;
          this.#end(subscriber, { kind: "failed" }, isLost ? "truncated" : "ended");
        }
        return false;
    }
  }

  #end(
    subscriber: Subscriber,
    answer: Exclude<OpenFeedAnswer, Feed>,
    last: "ended" | "truncated" = "ended",
  ): void {
    this.#subscribers.delete(subscriber);
    subscriber.fail(answer, last);
  }
}

/**
 * Resolves when each of them may get another event: what one does not take, the remote keeps.
 * Resolves to false if there is no such event.
 */
async function addTo(
  subscribers: readonly Subscriber[],
  eventFor: (subscriber: Subscriber) => FeedEvent | undefined,
  isPosition = false,
): Promise<boolean> {
  const events = subscribers.map(eventFor);
  if (events.includes(undefined)) return false;
  await Promise.all(subscribers.map((one, i) => one.add(events[i] as FeedEvent, isPosition)));
  return true;
}

/** The key range of a shared access signature. */
function scopeOf(sas: string): string {
  const fields = new URLSearchParams(sas);
  return ["spk", "srk", "epk", "erk"].map((name) => fields.get(name) ?? "").join("\0");
}
