// The request that restores the initial data of a test server: POST /_reset. No account of the
// command has such a name, so it is not a request of the Table service.

import { httpResponseFromError } from "../rest/error-response.ts";
import type { HttpResponse } from "../rest/http-message.ts";

export function isResetRequest(method: string | undefined, target: string | undefined): boolean {
  return method === "POST" && /^(?:https?:\/\/[^/?#]*)?\/_reset\/?(?:\?|$)/i.test(target ?? "");
}

// Returns 204 when the reset has ended, or the error. Pages of every origin may read the response.
export async function resetResponse(reset: () => Promise<void>): Promise<HttpResponse> {
  try {
    await reset();
    const headers: [string, string][] = [["Access-Control-Allow-Origin", "*"]];
    return { status: 204, reason: "No Content", headers, body: new Uint8Array() };
  } catch (error) {
    return httpResponseFromError(error);
  }
}
