// `entitable/msw`: serves requests that Mock Service Worker intercepts from a store, in Node and in
// browsers.

import { http, passthrough, type RequestHandler } from "msw";
import { fetchResponseFromError, isSimulatedNetworkError } from "./rest/error-response.ts";
import { serviceUrlPattern } from "./rest/service-url.ts";
import type { StoreHandle } from "./store.ts";
import type { Store } from "./types.ts";
import { type DeferredModuleName, deferredFile, deferredModuleNames } from "./wasm/module-urls.ts";

export interface HandlersOptions {
  /**
   * A prefix or pattern of the URLs to serve. Default: `*.table.core.windows.net`, and port 10002
   * (the emulator's) of any host.
   */
  baseUrl?: string | RegExp;
}

/**
 * Returns handlers for setupServer() or setupWorker(). Requests to the Table service get their
 * responses from the store.
 */
export function handlers(store: Store, options: HandlersOptions = {}): RequestHandler[] {
  const pattern = serviceUrlPattern(options.baseUrl);
  return [
    ...moduleRequestHandlers(),
    http.all(pattern, ({ request }) => handleRequest(store, request)),
  ];
}

// Passes through the requests for the deferred wasm modules, which the store makes during its first
// response and for the first live query. If the store had to respond to such a request, it would
// wait for itself; without a handler, MSW would warn.
function moduleRequestHandlers(): RequestHandler[] {
  const patterns = deferredModuleNames.flatMap(urlPatterns);
  return patterns.map((pattern) => http.get(pattern, () => passthrough()));
}

function urlPatterns(module: DeferredModuleName): RegExp[] {
  const unbundled = new RegExp(`/entitable/dist/wasm/entitable\\.${module}\\.wasm$`);
  try {
    const { origin, pathname } = deferredFile(module); // MSW compares only these parts
    const literally = (origin + pathname).replace(/[^\w/:]/g, "\\$&");
    return [new RegExp(`^${literally}$`), unbundled];
  } catch {
    return [unbundled];
  }
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

// Adds the Content-Length header. Without it (MSW before version 3), clients with persistent
// connections, such as the official one, would wait for the end of the body. A truncated response
// already has the header.
async function withContentLength(response: Response): Promise<Response> {
  if (response.body === null || response.headers.has("Content-Length")) return response;
  const body = await response.arrayBuffer();
  const { status, statusText, headers } = response;
  headers.set("Content-Length", String(body.byteLength));
  return new Response(body, { status, statusText, headers });
}
