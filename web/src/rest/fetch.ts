// The REST door in the shape of the platform's fetch.

import type { ResponseParts } from "./block.ts";
import type { RestDoor } from "./door.ts";
import { arrivedHalf, isNetworkFailure } from "./failure.ts";

// Statuses whose response has no body; the Response constructor insists.
const nullBodyStatuses: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

export function fetchOf(
  door: Pick<RestDoor, "send">,
): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const request = new Request(input, init);
    const { method, url, signal } = request;
    signal.throwIfAborted();
    const body = new Uint8Array(await request.arrayBuffer());
    try {
      const answer = await door.send({ method, url, headers: [...request.headers], body, signal });
      const empty = method === "HEAD" || nullBodyStatuses.has(answer.status);
      return responseOf(answer, empty ? null : answer.body);
    } catch (error) {
      signal.throwIfAborted(); // with the reason that was given, as fetch does
      const half = arrivedHalf(error);
      if (half !== undefined) return responseOf(half, cutOff(half.body, error));
      if (isNetworkFailure(error)) throw new TypeError("Failed to fetch", { cause: error });
      throw error;
    }
  };
}

function responseOf({ status, reason, headers }: ResponseParts, body: BodyInit | null): Response {
  const pairs = headers.map(([name, value]): [string, string] => [name, value]);
  return new Response(body, { status, statusText: reason, headers: pairs });
}

// A body that fails when so much of it was read.
function cutOff(bytes: Uint8Array, cause: unknown): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    async pull(controller) {
      if (sent) await new Promise((resolve) => setTimeout(resolve)); // whoever passes it on has done so before it fails
      if (sent) controller.error(new TypeError("network error", { cause }));
      else controller.enqueue(bytes);
      sent = true;
    },
  });
}
