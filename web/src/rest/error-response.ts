// Responses for errors that are not the service's: the store is closed, is open elsewhere, or
// failed. Clients retry such a request, and finally show the message.

import type { RestError } from "../errors.ts";
import { hintHeader, withHintHeader } from "../hints/hint-header.ts";
import { errorMessage, isBytes } from "../util/platform-objects.ts";
import { platformRandom, randomGuid } from "../util/random.ts";
import { decodeHttpResponse, type HttpResponse, isHttpResponseMessage } from "./http-message.ts";

export function httpResponseFromError(cause: unknown, random = platformRandom): HttpResponse {
  const message = errorMessage(cause);
  // not instanceof: the store may come from another copy of the package
  const { code, hint } = Object(cause) as { code?: unknown; hint?: unknown };
  const response =
    code === "StoreClosed" || code === "StoreLocked"
      ? errorResponse(503, "Service Unavailable", "ServerBusy", message, random)
      : errorResponse(500, "Internal Server Error", "InternalError", message, random);
  return withHintHeader(response, typeof hint === "string" ? hint : undefined);
}

// Like httpResponseFromError(), but returns a Response of fetch.
export function fetchResponseFromError(cause: unknown, random = platformRandom): Response {
  const { status, reason, headers, body } = httpResponseFromError(cause, random);
  const pairs = headers.map(([name, value]): [string, string] => [name, value]);
  return new Response(body, { status, statusText: reason, headers: pairs });
}

export function errorResponse(
  status: number,
  reason: string,
  code: string,
  value: string,
  random = platformRandom,
): HttpResponse {
  const text = JSON.stringify({ "odata.error": { code, message: { lang: "en-US", value } } });
  const headers = [
    ["Content-Type", "application/json"],
    ["x-ms-error-code", code],
    ["x-ms-request-id", randomGuid(random)],
  ] as const;
  return { status, reason, headers, body: new TextEncoder().encode(text) };
}

export interface RequestError {
  status: number;
  reason: string;
  code: string;
  message: string;
  hint: string | undefined;
}

// Returns the response for an error that an adapter finds in a request that the store has
// authorized. `headers`: those of the authorization's response, which every response has.
export function errorResponseWith(
  headers: HttpResponse["headers"],
  { status, reason, code, message, hint }: RequestError,
): HttpResponse {
  const { headers: own, ...response } = errorResponse(status, reason, code, message);
  const names = new Set([hintHeader, ...own.map(([name]) => name.toLowerCase())]);
  const others = headers.filter(([name]) => !names.has(name.toLowerCase()));
  return withHintHeader({ ...response, headers: [...others, ...own] }, hint);
}

// Returns the headers with one more, which pages of other origins may read too if they may read
// others. (A CORS rule that exposes all headers has listed those that the store knows.)
export function withExposedHeader(
  headers: HttpResponse["headers"],
  header: readonly [name: string, value: string],
): HttpResponse["headers"] {
  const isExpose = (name: string) => /^access-control-expose-headers$/i.test(name);
  const others = headers.map(([name, value]): readonly [string, string] =>
    isExpose(name) ? [name, `${value},${header[0]}`] : [name, value],
  );
  return [...others, header];
}

// Returns whether the error is a simulated network failure. The client then gets no response; its
// connection ends.
export function isSimulatedNetworkError(error: unknown): error is RestError {
  const { name, statusCode } = Object(error) as { name?: unknown; statusCode?: unknown };
  return name === "RestError" && statusCode === undefined;
}

// For a simulated truncated response, returns what the client receives: half of the body, with the
// headers of the complete response. Returns undefined for other errors, and if there is no body.
export function truncatedResponseFromError(error: unknown): HttpResponse | undefined {
  const { responseMessage } = Object(error) as { responseMessage?: unknown };
  if (!isBytes(responseMessage) || !isHttpResponseMessage(responseMessage)) return undefined;
  const { headers, body, ...rest } = decodeHttpResponse(responseMessage);
  if (body.length === 0) return undefined;
  const length = ["Content-Length", String(body.length)] as const;
  return { ...rest, headers: [...headers, length], body: body.slice(0, body.length >> 1) };
}
