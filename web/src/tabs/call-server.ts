// The owner's side of one client: its calls, in the order in which they arrive, against the owner's host.

import { StoreError } from "../errors.ts";
import type { Host } from "../transport.ts";
import type { StoreEvents } from "../types.ts";
import { callOf, outOfCall } from "./call-client.ts";
import { type Channel, whole } from "./channel.ts";
import {
  allEvents,
  forwardedEvents,
  type RemoteCall,
  type Reply,
  type ToClient,
  type ToOwner,
  toWire,
} from "./messages.ts";

// What differs between a tab, whose clients find another owner when it is none any more, and a worker, whose page has no other.
export interface ServerTerms {
  events: readonly (keyof StoreEvents)[]; // that the client is told of
  unanswered(error: unknown): boolean; // failures of calls that are left to the next owner
}

export const betweenTabs: ServerTerms = { events: forwardedEvents, unanswered: isOfOwner };
export const forThePage: ServerTerms = { events: allEvents, unanswered: () => false };

export class CallServer {
  readonly #host: Host;
  readonly #owner: string;
  readonly #channel: Channel;
  readonly #terms: ServerTerms;
  readonly #session: number;
  readonly #unlisten: (() => void)[];
  readonly #writing = new Map<number, AbortController>();
  #replies: Reply[] = [];
  #closed = false;

  // `owner`: its name in messages.
  constructor(host: Host, owner: string, channel: Channel, terms = betweenTabs, session = 0) {
    this.#host = host;
    this.#owner = owner;
    this.#channel = channel;
    this.#terms = terms;
    this.#session = session;
    this.#unlisten = terms.events.map((name) =>
      host.on(name, (event) => {
        const plain = "error" in event ? { ...event, error: toWire(event.error) } : event;
        this.#post({ from: owner, type: "event", name, event: plain, status: host.status });
      }),
    );
    this.#post({ from: owner, type: "ready", session, status: host.status });
  }

  receive(message: ToOwner): void {
    if (!("session" in message) || message.session !== this.#session) return;
    if (message.type === "calls") for (const call of message.calls) this.#answer(call);
    else this.#writing.get(message.number)?.abort();
  }

  // What is under way is not answered any more. What only waits has no effect: it would come in between what the client sends again.
  close(): void {
    this.#closed = true;
    for (const abort of this.#writing.values()) abort.abort();
    for (const unlisten of this.#unlisten) unlisten();
  }

  #answer(call: RemoteCall): void {
    const { number } = call;
    const reply = (value: unknown) =>
      this.#reply({ number, value: isBytes(value) ? whole(value) : value });
    const refuse = (error: unknown) => {
      if (!this.#terms.unanswered(error)) this.#reply({ number, error: toWire(error) });
    };
    try {
      const value = this.#ask(call);
      if (value instanceof Promise) value.then(reply, refuse);
      else reply(value.slice()); // it dies with the next call
    } catch (error) {
      refuse(error);
    }
  }

  #ask({ number, kind, block, durability, mode }: RemoteCall): Uint8Array | Promise<unknown> {
    switch (kind) {
      case "read":
        return this.#host.read(block as Uint8Array);
      case "handle":
        return this.#host.handle(block as Uint8Array);
      case "write": {
        const abort = new AbortController();
        const reply = this.#host.write(block as Uint8Array, durability, abort.signal);
        if (!(reply instanceof Promise)) return reply;
        this.#writing.set(number, abort);
        return reply.finally(() => this.#writing.delete(number));
      }
      case "flush":
        return this.#host.flush();
      case "stats":
        return this.#host.stats();
      case "verify":
        return this.#host.verify();
      case "compact":
        return this.#host.compact();
      case "snapshot":
        return this.#host.snapshot();
      case "restore": {
        const called = block as Uint8Array<ArrayBuffer>;
        return this.#host.restore(outOfCall(called), { mode, call: callOf(called) });
      }
    }
  }

  // Answers given in one turn travel in one message.
  #reply(reply: Reply): void {
    this.#replies.push(reply);
    if (this.#replies.length > 1) return;
    queueMicrotask(() => {
      const replies = this.#replies.splice(0);
      const blocks = replies.flatMap((r) => ("value" in r && isBytes(r.value) ? [r.value] : []));
      const { pendingBytes, lastPersistedAt } = this.#host.status;
      const progress = { pendingBytes, lastPersistedAt };
      this.#post({ from: this.#owner, type: "replies", replies, progress }, blocks);
    });
  }

  #post(message: ToClient, bytes?: readonly Uint8Array[]): void {
    if (!this.#closed) this.#channel.post(message, bytes);
  }
}

// Failures that say that this is not the owner any more. The next one will answer.
export function isOfOwner(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  const { code, failure } = error as StoreError & { failure?: string };
  return code === "StoreClosed" || failure === "fenced";
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}
