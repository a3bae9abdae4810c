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

/** One table, from its request on. */
class Subscriber implements Feed {
  readonly kind = "open";
  readonly table: string;
  readonly #onClose: (subscriber: Subscriber) => void;
  readonly opened: Promise<OpenFeedAnswer>;
  #onOpened: (answer: OpenFeedAnswer) => void = () => {};
  #isOpen = false;
  #events: FeedEvent[] = [];
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

  /** Returns false if the connection continues another history, or shows other keys. */
  open(head: bigint, store: string, scope: string): boolean {
    if (this.#isOpen) return store === this.store && scope === this.scope;
    this.#isOpen = true;
    this.position ??= head;
    Object.assign(this, { head, store, scope });
    this.#onOpened(this);
    return true;
  }

  /** No connection could be opened, or it has ended. */
  fail(answer: Exclude<OpenFeedAnswer, Feed>, last: "ended" | "truncated" = "ended"): void {
    this.#last ??= { kind: last };
    this.#onOpened(answer);
    this.#onNews();
    this.#onTaken();
  }

  /** Resolves when there is room for another event. */
  async add(event: FeedEvent): Promise<void> {
    if (this.#last || event.sequence <= (this.position as bigint)) return;
    this.position = event.sequence;
    this.#events.push(event);
    this.#onNews();
    while (this.#events.length >= eventsMax && this.#last === undefined)
      await new Promise<void>((resolve) => {
        this.#onTaken = resolve;
      });
  }

  async next(): Promise<FeedAnswer> {
    while (this.#events.length === 0 && this.#last === undefined)
      await new Promise<void>((resolve) => {
        this.#onNews = resolve;
      });
    if (this.#events.length === 0) return this.#last as FeedAnswer;
    const events = this.#events;
    this.#events = [];
    this.#onTaken();
    return { kind: "events", events };
  }

  close(): void {
    this.#events = [];
    this.fail({ kind: "failed" });
    this.#onClose(this);
  }
}

export class AccountFeed {
  readonly #http: Http;
  readonly #subscribers = new Set<Subscriber>();
  #isConnecting = false; // another connection begins in a moment
  #stream: HttpStream | undefined;
  #connections = 0;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Opens the feed of a table. Its connection then begins again, for all tables. */
  async open(table: string, since: bigint | undefined): Promise<OpenFeedAnswer> {
    if (this.#http.feedPath === undefined) return { kind: "none" };
    const subscriber = new Subscriber(table, since, (closed) => this.#remove(closed));
    this.#subscribers.add(subscriber);
    if (!this.#isConnecting) {
      this.#isConnecting = true;
      setTimeout(() => void this.#connect(), joinMs);
    }
    return await subscriber.opened;
  }

  #remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0) this.#stream?.close();
  }

  async #connect(): Promise<void> {
    this.#isConnecting = false; // a table that joins from now on needs another connection
    this.#connections += 1;
    const number = this.#connections;
    this.#stream?.close();
    const subscribers = [...this.#subscribers];
    if (subscribers.length === 0) return;
    const stream = await this.#request(subscribers);
    const isCurrent = () => !this.#isConnecting && number === this.#connections;
    if (!("read" in stream)) {
      if (isCurrent()) for (const subscriber of subscribers) this.#end(subscriber, stream);
      return;
    }
    if (number === this.#connections) {
      this.#stream = stream;
      await this.#readAll(stream, subscribers);
    }
    stream.close();
    // Another connection continues after the last event of each table.
    if (isCurrent())
      for (const subscriber of subscribers) this.#end(subscriber, { kind: "failed" });
  }

  async #request(
    subscribers: readonly Subscriber[],
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
    const current = subscribers.filter((subscriber) => this.#subscribers.has(subscriber));
    switch (message.kind) {
      case "head":
        for (const one of current)
          if (!one.open(message.sequence, message.store, scopeOf(sas)))
            this.#end(one, { kind: "failed" });
        return true;
      case "position":
        for (const one of current) await one.add({ sequence: message.sequence, changes: [] });
        return true;
      case "batch":
        for (const subscriber of current) {
          const event = eventOf(message.batch, subscriber.table);
          if (event === undefined) return false;
          await subscriber.add(event);
        }
        return true;
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

/** The key range of a shared access signature. */
function scopeOf(sas: string): string {
  const fields = new URLSearchParams(sas);
  return ["spk", "srk", "epk", "erk"].map((name) => fields.get(name) ?? "").join("\0");
}
