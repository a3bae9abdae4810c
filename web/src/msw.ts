// `entitable/msw`: a store behind Mock Service Worker, for tests in Node and in browsers.

import { http, passthrough, type RequestHandler } from "msw";
import { fetchResponseFromError, isSimulatedNetworkError } from "./rest/error-response.ts";
import { serviceUrlPattern } from "./rest/service-url.ts";
import type { StoreHandle } from "./store.ts";
import type { Store } from "./types.ts";
import { deferredModuleUrl } from "./wasm/deferred-module.ts";

export interface HandlersOptions {
  /** What URLs begin with, or match. Default: `*.table.core.windows.net` and port 10002 of any host, the emulator's. */
  baseUrl?: string | RegExp;
}

/** Handlers for setupServer() or setupWorker(): requests to the Table service are answered by the store. */
export function handlers(store: Store, options: HandlersOptions = {}): RequestHandler[] {
  const pattern = serviceUrlPattern(options.baseUrl);
  return [
    ...moduleRequestHandlers(),
    http.all(pattern, ({ request }) => handleRequest(store, request)),
  ];
}

// What the store loads when it answers first. It would wait for itself if it were asked for that too; and MSW would warn of it as of any
// request that nobody answers.
function moduleRequestHandlers(): RequestHandler[] {
  const url = deferredModuleUrl();
  if (url === undefined) return [];
  const { origin, pathname } = new URL(url); // of which MSW looks at so much
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

// With the length of its body. Clients that keep their connection, as the official one, would wait for its end otherwise (MSW
// before 3). One that will be cut off has it already.
async function withContentLength(response: Response): Promise<Response> {
  if (response.body === null || response.headers.has("Content-Length")) return response;
  const body = await response.arrayBuffer();
  const { status, statusText, headers } = response;
  headers.set("Content-Length", String(body.byteLength));
  return new Response(body, { status, statusText, headers });
}
