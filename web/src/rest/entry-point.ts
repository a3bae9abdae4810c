// The REST entry point: takes an HTTP request of the Table service's protocol and returns the
// response. Adapters (fetch, the official client's transport, a server) call `RestEntryPoint.send`.

import { inDevelopment } from "../client/development.ts";
import { storeCodec } from "../client/store-codec.ts";
import { RestError, TruncatedResponseError } from "../errors.ts";
import { withHttpHint } from "../hints/add-hint.ts";
import { hintHeader, withHintHeader } from "../hints/hint-header.ts";
import { mapResponse, type Transport } from "../transport.ts";
import type { AbortSignalLike, RandomSource, StoreWarning } from "../types.ts";
import { truncatedResponseFromError } from "./error-response.ts";
import {
  decodeHttpResponse,
  encodeHttpRequest,
  type HttpRequest,
  type HttpResponse,
  isHttpResponseMessage,
} from "./http-message.ts";

// Longer bodies are cut to this size and one byte: the store rejects requests of more than 4 MiB by
// their length.
export const bodyBytesMax = 4 * 1024 * 1024;

const statusContinue = 100;
const statusAccepted = 202; // of every batch
const shortBodyBytes = 2048;

export interface RestRequest extends Omit<HttpRequest, "clientIp"> {
  clientIp?: string | undefined;
  signal?: AbortSignalLike | undefined;
  // The accounts that are served at the request's address, by the names in its URLs, for hints.
  // Default: the store's account.
  accounts?: readonly string[];
  quiet?: boolean; // do not report errors to onWarning; also if the request is trusted
}

export interface RestEntryPointOptions {
  // The name of the account that the store serves.
  account: string;
  random: RandomSource;
  onWarning?: ((warning: StoreWarning) => void) | undefined;
}

const header = { hintHeader, withHintHeader };

export class RestEntryPoint {
  readonly #transport: Transport;
  // adapters use it too, for responses that do not come from the store
  readonly random: RandomSource;
  readonly account: string;
  readonly #onWarning: RestEntryPointOptions["onWarning"];

  constructor(transport: Transport, { account, random, onWarning }: RestEntryPointOptions) {
    this.#transport = transport;
    this.account = account;
    this.random = random;
    this.#onWarning = onWarning;
  }

  // The store's clock.
  now(): number {
    return this.#transport.now();
  }

  // Returns the response; errors of the service are responses too. Rejects with StoreError if the
  // store cannot respond. Rejects with AbortError if `signal` aborts while a write waits in the
  // queue; the write then has no effect.
  async send(request: RestRequest): Promise<HttpResponse> {
    const message = this.#encode(request);
    const response =
      request.bodyPending || isReadMethod(request.method)
        ? this.#transport.readHttp(message, request.signal)
        : this.#transport.write(message, undefined, request.signal);
    const decoded = mapResponse(response, this.#decode);
    const settled =
      decoded instanceof Promise ? await decoded.catch(throwConnectionReset) : decoded;
    const { method, url } = request;
    const onWarning = this.#onWarning;
    if (isError(settled)) {
      const parts = { account: this.account, ...request };
      // a caller within the package shows the hint
      const quiet = request.trusted || request.quiet;
      return await withHttpHint(settled, parts, header, quiet ? undefined : onWarning);
    }
    if (method === "GET" && onWarning !== undefined && url.includes("filter=")) {
      inDevelopment((checks, readRows) =>
        checks.checkHttpFilter(this.#transport, url, settled, onWarning, readRows),
      );
    }
    return settled;
  }

  // Authorizes a request whose body was not received yet, and executes nothing. Returns the final
  // response if it does not depend on the body: mostly, that the request is not authorized. Returns
  // undefined if the body is needed; send() then authorizes the complete request. Use the same `id`
  // for both, so that a request takes one id. Rejects for the same reasons as send().
  async sendHead(head: Omit<RestRequest, "body">): Promise<HttpResponse | undefined> {
    const response = await this.send({ ...head, body: new Uint8Array(), bodyPending: true });
    return response.status === statusContinue ? undefined : response;
  }

  #encode(request: RestRequest): Uint8Array {
    const httpRequest: HttpRequest = {
      method: request.method,
      url: withoutFragment(request.url),
      headers: request.headers,
      body: request.body.subarray(0, bodyBytesMax + 1),
      clientIp: request.clientIp ?? "",
      trusted: request.trusted,
      bodyPending: request.bodyPending,
      id: request.id,
    };
    return encodeHttpRequest(httpRequest, this.random);
  }

  readonly #decode = (message: Uint8Array): HttpResponse => {
    if (isHttpResponseMessage(message)) return decodeHttpResponse(message);
    throw storeCodec(this.#transport).decoder.error(message);
  };
}

// Returns whether the response is an error, also of a batch: its response then is short, because it
// has only the error.
function isError({ status, body }: HttpResponse): boolean {
  if (status !== statusAccepted) return status >= 400;
  return body.length < shortBodyBytes && /^HTTP\/1\.1 [45]/m.test(new TextDecoder().decode(body));
}

// Throws the error. A truncated response without a body becomes a lost connection, because there is
// no part of a body to send.
function throwConnectionReset(error: Error): never {
  if (!(error instanceof TruncatedResponseError) || truncatedResponseFromError(error) !== undefined)
    throw error;
  const { hint } = error;
  throw new RestError(error.message, {
    code: "ECONNRESET",
    ...(hint === undefined ? {} : { hint }),
  });
}

// Requests with any other method are writes, which run in the order of the calls.
function isReadMethod(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

function withoutFragment(url: string): string {
  const at = url.indexOf("#");
  return at < 0 ? url : url.slice(0, at);
}
