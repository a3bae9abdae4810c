// The REST door: an HTTP request in, its response out. What stands in front of it (fetch, the official client's transport, a
// server) is a few lines over `RestEntryPoint.send`.

import { throwResponseError } from "../client/rpc-messages.ts";
import { RestError, TruncatedResponseError } from "../errors.ts";
import type { Transport } from "../transport.ts";
import type { AbortSignalLike, RandomSource } from "../types.ts";
import { truncatedResponseFromError } from "./error-response.ts";
import {
  decodeHttpResponse,
  encodeHttpRequest,
  type HttpRequest,
  type HttpResponse,
  isHttpResponse,
} from "./http-message.ts";

// The rest of a longer body is not looked at: a request of more than 4 MiB is refused whatever is in it.
export const bodyBytesMax = 4 * 1024 * 1024;

export interface RestRequest extends Omit<HttpRequest, "clientIp"> {
  clientIp?: string | undefined;
  signal?: AbortSignalLike | undefined;
}

export class RestEntryPoint {
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
  async send(request: RestRequest): Promise<HttpResponse> {
    const httpRequest: HttpRequest = {
      method: request.method,
      url: withoutFragment(request.url),
      headers: request.headers,
      body: request.body.subarray(0, bodyBytesMax + 1),
      clientIp: request.clientIp ?? "",
      trusted: request.trusted,
    };
    const message = encodeHttpRequest(httpRequest, this.random);
    const response = isReadMethod(request.method)
      ? this.#transport.handle(message, request.signal)
      : this.#transport.write(message, undefined, request.signal);
    // A reply that comes at once dies with the next call.
    const responseMessage =
      response instanceof Uint8Array ? response : await response.catch(throwConnectionReset);
    return isHttpResponse(responseMessage)
      ? decodeHttpResponse(responseMessage)
      : throwResponseError(responseMessage);
  }
}

// Of an answer without a body nothing arrives, if it is cut off.
function throwConnectionReset(error: Error): never {
  if (!(error instanceof TruncatedResponseError) || truncatedResponseFromError(error) !== undefined)
    throw error;
  throw new RestError(error.message, { code: "ECONNRESET" });
}

// Every other method waits in the queue of writes, in the order of the calls.
function isReadMethod(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

function withoutFragment(url: string): string {
  const at = url.indexOf("#");
  return at < 0 ? url : url.slice(0, at);
}
