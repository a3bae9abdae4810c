// `entitable/msw`: a store behind Mock Service Worker, for tests in Node and in browsers.

import { http, passthrough, type RequestHandler } from "msw";
import { fetchResponseFromError, isSimulatedNetworkError } from "./rest/error-response.ts";
import { serviceUrlPattern } from "./rest/service-url.ts";
import type { StoreHandle } from "./store.ts";
import type { Store } from "./types.ts";
import { deferredModuleUrl } from "./wasm/deferred-module.ts";

export interface HandlersOptions {
  /**
   * A prefix or pattern of URLs. Default: `*.table.core.windows.net`, and port 10002 of any host,
   * the emulator's.
   */
  baseUrl?: string | RegExp;
}

/**
 * Returns handlers for setupServer() or setupWorker(): the store responds to requests to the Table
 * service.
 */
export function handlers(store: Store, options: HandlersOptions = {}): RequestHandler[] {
  const pattern = serviceUrlPattern(options.baseUrl);
  return [
    ...moduleRequestHandlers(),
    http.all(pattern, ({ request }) => handleRequest(store, request)),
  ];
}

// Passes through the request for the deferred module, which the store itself makes during its first
// response. Otherwise the store would wait for itself, and MSW would warn about an unhandled
// request.
function moduleRequestHandlers(): RequestHandler[] {
  const url = deferredModuleUrl();
  if (url === undefined) return [];
  const { origin, pathname } = new URL(url); // MSW compares only these parts
  const literally = (origin + pathname).replace(/[^\w/:]/g, "\\$&");
  return [http.get(new RegExp(`^${literally}$`), () => passthrough())];
}

async function handleRequest(store: Store, request: Request): Promise<Response> {
  try {
    return await withContentLength(await store.fetch(request));
  } catch (error) {
    request.signal.throwIfAborted();
    if (isSimulatedNetworkError((error as Error).cause)) return Response.error();
    return fetchResponseFromError(error, (store as StoreHandle).restEntryPoint.random);
  }
}

// Adds the Content-Length header. Without it, clients that keep connections open, such as the
// official one, would wait for the body's end (MSW before 3). A truncated response already has the
// header.
async function withContentLength(response: Response): Promise<Response> {
  if (response.body === null || response.headers.has("Content-Length")) return response;
  const body = await response.arrayBuffer();
  const { status, statusText, headers } = response;
  headers.set("Content-Length", String(body.byteLength));
  return new Response(body, { status, statusText, headers });
}
