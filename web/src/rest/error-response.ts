// Responses for errors that are not the service's: the store is closed, is open elsewhere, or
// failed. Clients retry such a request, and finally show the message.

import type { RestError } from "../errors.ts";
import { withHintHeader } from "../hints/hint-header.ts";
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
