// The owner's side of the connection to one client (another tab, or a worker's page). Runs the
// client's calls on the owner's host, in the order in which they arrive, and sends responses and
// events back.

import { StoreError } from "../errors.ts";
import type { Host } from "../transport.ts";
import type { StoreEvents } from "../types.ts";
import { callIdOf, unwrapCall } from "./call-client.ts";
import { type Channel, ownBuffer } from "./channel.ts";
import {
  allEvents,
  type CallResponse,
  errorToWire,
  forwardedEvents,
  type RemoteCall,
  type ToClient,
  type ToOwner,
} from "./messages.ts";

// What differs between an owner in a tab and an owner in a worker. When a tab stops being the
// owner, its clients send their calls to the next owner. The page of a worker has no other owner.
export interface ServerPolicy {
  events: readonly (keyof StoreEvents)[]; // the events that are forwarded to the client
  // Whether a call that failed with this error gets no response. The client then sends the call to
  // the next owner.
  leavesToNextOwner(error: unknown): boolean;
}

export const tabServerPolicy: ServerPolicy = {
  events: forwardedEvents,
  leavesToNextOwner: isOwnershipError,
};
export const workerServerPolicy: ServerPolicy = {
  events: allEvents,
  leavesToNextOwner: () => false,
};

export class CallServer {
  readonly #host: Host;
  readonly #owner: string;
  readonly #channel: Channel;
  readonly #policy: ServerPolicy;
  readonly #session: number;
  readonly #unlisten: (() => void)[];
  readonly #writeAborts = new Map<number, AbortController>();
  #responses: CallResponse[] = [];
  #closed = false;

  // `owner`: this owner's name in messages. `session`: calls of other sessions are ignored
  // (messages.ts).
  constructor(host: Host, owner: string, channel: Channel, policy = tabServerPolicy, session = 0) {
    this.#host = host;
    this.#owner = owner;
    this.#channel = channel;
    this.#policy = policy;
    this.#session = session;
    this.#unlisten = policy.events.map((name) =>
      host.on(name, (event) => {
        const plain = "error" in event ? { ...event, error: errorToWire(event.error) } : event;
        this.#post({ from: owner, type: "event", name, event: plain, status: host.status });
      }),
    );
    this.#post({ from: owner, type: "ready", session, status: host.status });
  }

  receive(message: ToOwner): void {
    if (!("session" in message) || message.session !== this.#session) return;
    if (message.type === "calls") for (const call of message.calls) this.#handleCall(call);
    else this.#writeAborts.get(message.number)?.abort();
  }

  // Stops responding, and cancels writes that were not staged yet. The client sends these calls
  // again to the next owner; if one took effect here later, it could overtake others.
  close(): void {
    this.#closed = true;
    for (const abort of this.#writeAborts.values()) abort.abort();
    for (const unlisten of this.#unlisten) unlisten();
  }

  #handleCall(call: RemoteCall): void {
    const { number } = call;
    const respond = (value: unknown) =>
      this.#queueResponse({ number, value: isBytes(value) ? ownBuffer(value) : value });
    const reject = (error: unknown) => {
      if (!this.#policy.leavesToNextOwner(error))
        this.#queueResponse({ number, error: errorToWire(error) });
    };
    try {
      const value = this.#dispatch(call);
      if (value instanceof Promise) value.then(respond, reject);
      else respond(value.slice()); // a view (Transport.read)
    } catch (error) {
      reject(error);
    }
  }

  #dispatch({
    number,
    kind,
    request,
    durability,
    mode,
  }: RemoteCall): Uint8Array | Promise<unknown> {
    switch (kind) {
      case "read":
        return this.#host.read(request as Uint8Array);
      case "readHttp":
        return this.#host.readHttp(request as Uint8Array);
      case "write": {
        const abort = new AbortController();
        const response = this.#host.write(request as Uint8Array, durability, abort.signal);
        if (!(response instanceof Promise)) return response;
        this.#writeAborts.set(number, abort);
        return response.finally(() => this.#writeAborts.delete(number));
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
        const called = request as Uint8Array<ArrayBuffer>;
        return this.#host.restore(unwrapCall(called), { mode, call: callIdOf(called) });
      }
    }
  }

  // Collects the responses of a turn of the event loop, which are sent as one message.
  #queueResponse(response: CallResponse): void {
    this.#responses.push(response);
    if (this.#responses.length > 1) return;
    queueMicrotask(() => {
      const responses = this.#responses.splice(0);
      const bytes = responses.flatMap((r) => ("value" in r && isBytes(r.value) ? [r.value] : []));
      const { pendingBytes, lastPersistedAt } = this.#host.status;
      const progress = { pendingBytes, lastPersistedAt };
      this.#post({ from: this.#owner, type: "responses", responses, progress }, bytes);
    });
  }

  #post(message: ToClient, bytes?: readonly Uint8Array[]): void {
    if (!this.#closed) this.#channel.post(message, bytes);
  }
}

// Returns whether a call failed because this host is no longer the owner. The next owner can then
// run the call.
export function isOwnershipError(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  const { code, failure } = error as StoreError & { failure?: string };
  return code === "StoreClosed" || failure === "fenced";
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}
