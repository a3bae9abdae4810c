// The REST door: an HTTP request in, its response out. What stands in front of it (fetch, the official client's transport, a
// server) is a few lines over `RestDoor.send`.

import { throwReply } from "../client/block.ts";
import { RestError, TruncatedReply } from "../errors.ts";
import type { Transport } from "../transport.ts";
import type { AbortSignalLike, RandomSource } from "../types.ts";
import {
  decodeResponse,
  encodeRequest,
  isResponse,
  type RequestParts,
  type ResponseParts,
} from "./block.ts";
import { arrivedHalf } from "./failure.ts";

// The rest of a longer body is not looked at: a request of more than 4 MiB is refused whatever is in it.
export const bodyBytesMax = 4 * 1024 * 1024;

export interface RestRequest extends Omit<RequestParts, "clientIp"> {
  clientIp?: string | undefined;
  signal?: AbortSignalLike | undefined;
}

export class RestDoor {
  readonly #transport: Transport;
  readonly random: RandomSource; // also for responses that the store has no part in

  constructor(transport: Transport, random: RandomSource) {
    this.#transport = transport;
    this.random = random;
  }

  // The store's clock.
  now(): number {
    return this.#transport.now();
  }

  // Every refusal by the service's rules is a response. Rejects with StoreError if the store can't answer, and with
  // AbortError if `signal` aborts while a write still waits for its turn: then it has no effect.
  async send(request: RestRequest): Promise<ResponseParts> {
    const parts: RequestParts = {
      method: request.method,
      url: withoutFragment(request.url),
      headers: request.headers,
      body: request.body.subarray(0, bodyBytesMax + 1),
      clientIp: request.clientIp ?? "",
      trusted: request.trusted,
    };
    const block = encodeRequest(parts, this.random);
    const reply = reads(request.method)
      ? this.#transport.handle(block, request.signal)
      : this.#transport.write(block, undefined, request.signal);
    // A reply that comes at once dies with the next call.
    const bytes = reply instanceof Uint8Array ? reply : await reply.catch(throwLost);
    return isResponse(bytes) ? decodeResponse(bytes) : throwReply(bytes);
  }
}

// Of an answer without a body nothing arrives, if it is cut off.
function throwLost(error: Error): never {
  if (!(error instanceof TruncatedReply) || arrivedHalf(error) !== undefined) throw error;
  throw new RestError(error.message, { code: "ECONNRESET" });
}

// Every other method waits in the queue of writes, in the order of the calls.
function reads(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

function withoutFragment(url: string): string {
  const at = url.indexOf("#");
  return at < 0 ? url : url.slice(0, at);
}
