// The answer where the store has none: it is closed, or open elsewhere, or this machine failed. A client of the service tries
// such a request again, and in the end shows the message.

import type { RestError } from "../errors.ts";
import { platformRandom, randomGuid } from "../util/random.ts";
import { decodeHttpResponse, type HttpResponse, isHttpResponse } from "./http-message.ts";

export function responseFromError(cause: unknown, random = platformRandom): HttpResponse {
  const message = cause instanceof Error ? cause.message : String(cause);
  const { code } = Object(cause) as { code?: unknown }; // not instanceof: the store may be of another copy of the package
  return code === "StoreClosed" || code === "StoreLocked"
    ? errorResponse(503, "Service Unavailable", "ServerBusy", message, random)
    : errorResponse(500, "Internal Server Error", "InternalError", message, random);
}

// The same, as fetch has it.
export function fetchResponseFromError(cause: unknown, random = platformRandom): Response {
  const { status, reason, headers, body } = responseFromError(cause, random);
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

// That of a network, which a store for tests can play. Then there is no answer: a connection ends instead.
export function isSimulatedNetworkError(error: unknown): error is RestError {
  const { name, statusCode } = Object(error) as { name?: unknown; statusCode?: unknown };
  return name === "RestError" && statusCode === undefined;
}

// What arrives of an answer that is cut off: half of its body, under the headers of the whole. Undefined if it is no such failure, or
// there is no body.
export function truncatedResponseFromError(error: unknown): HttpResponse | undefined {
  const { responseMessage } = Object(error) as { responseMessage?: unknown };
  if (!(responseMessage instanceof Uint8Array) || !isHttpResponse(responseMessage))
    return undefined;
  const { headers, body, ...rest } = decodeHttpResponse(responseMessage);
  if (body.length === 0) return undefined;
  const length = ["Content-Length", String(body.length)] as const;
  return { ...rest, headers: [...headers, length], body: body.slice(0, body.length >> 1) };
}
