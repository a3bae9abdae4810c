// The REST entry point with the interface of the platform's fetch.

import type { RestEntryPoint } from "./entry-point.ts";
import { isSimulatedNetworkError, truncatedResponseFromError } from "./error-response.ts";
import type { HttpResponse } from "./http-message.ts";

// Statuses without a body: the Response constructor rejects a body for them.
const nullBodyStatuses: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

export function createFetch(
  restEntryPoint: Pick<RestEntryPoint, "send">,
): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const request = new Request(input, init);
    const { method, url, signal } = request;
    signal.throwIfAborted();
    const body = new Uint8Array(await request.arrayBuffer());
    try {
      const response = await restEntryPoint.send({
        method,
        url,
        headers: [...request.headers],
        body,
        signal,
      });
      const empty = method === "HEAD" || nullBodyStatuses.has(response.status);
      return toFetchResponse(response, empty ? null : response.body);
    } catch (error) {
      signal.throwIfAborted(); // throws the caller's reason, as fetch does
      const truncated = truncatedResponseFromError(error);
      if (truncated !== undefined)
        return toFetchResponse(truncated, failingBody(truncated.body, error));
      if (isSimulatedNetworkError(error)) throw new TypeError("Failed to fetch", { cause: error });
      throw error;
    }
  };
}

function toFetchResponse(
  { status, reason, headers }: HttpResponse,
  body: BodyInit | null,
): Response {
  const pairs = headers.map(([name, value]): [string, string] => [name, value]);
  return new Response(body, { status, statusText: reason, headers: pairs });
}

// Returns a body stream that delivers these bytes and then fails.
function failingBody(bytes: Uint8Array, cause: unknown): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    async pull(controller) {
      // Lets the reader receive the data before the stream fails.
      if (sent) await new Promise((resolve) => setTimeout(resolve));
      if (sent) controller.error(new TypeError("network error", { cause }));
      else controller.enqueue(bytes);
      sent = true;
    },
  });
}
