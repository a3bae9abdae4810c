// The REST door in the shape of the platform's fetch.

import type { RestDoor } from "./door.ts";
import { isNetworkFailure } from "./failure.ts";

// Statuses whose response has no body; the Response constructor insists.
const nullBodyStatuses: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

export function fetchOf(
  door: RestDoor,
): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const request = new Request(input, init);
    const { method, url, signal } = request;
    signal.throwIfAborted();
    const body = new Uint8Array(await request.arrayBuffer());
    try {
      const answer = await door.send({ method, url, headers: [...request.headers], body, signal });
      const empty = method === "HEAD" || nullBodyStatuses.has(answer.status);
      return new Response(empty ? null : answer.body, {
        status: answer.status,
        statusText: answer.reason,
        headers: answer.headers.map(([name, value]): [string, string] => [name, value]),
      });
    } catch (error) {
      signal.throwIfAborted(); // with the reason that was given, as fetch does
      if (isNetworkFailure(error)) throw new TypeError("Failed to fetch", { cause: error });
      throw error;
    }
  };
}
