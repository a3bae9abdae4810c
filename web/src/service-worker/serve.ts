// Responds to fetch events for an account from its store in IndexedDB.

import { StoreError } from "../errors.ts";
import { openStore } from "../open-store.ts";
import { accountFromOptions } from "../rest/account.ts";
import { fetchResponseFromError, isSimulatedNetworkError } from "../rest/error-response.ts";
import { isAccountUrl } from "../rest/service-url.ts";
import type { AccountOptions, OpenOptions, Store } from "../types.ts";
import { isUrl } from "../util/platform-objects.ts";
import { IdleClosingStore } from "./idle-closing-store.ts";
import { ModuleCache } from "./module-cache.ts";
import type { Scope } from "./scope.ts";

const idleMs = 1000;

export interface ServiceWorkerOptions {
  /**
   * The account. A request is for this account if its host is `<name>.table.…`, or if its path is
   * `/<name>/…` and it goes to port 10002 or to this origin.
   */
  account: string | AccountOptions;
  /**
   * The store's name, or an open store, such as a mock store, or a promise of one. Default: the
   * account's name.
   */
  store?: string | Store | Promise<Store>;
  /** Default "strict". */
  durability?: "strict" | "relaxed";
  /** The wasm module or its URL. Default: `entitable.wasm` next to the worker's script. */
  wasm?: string | URL | BufferSource | WebAssembly.Module;
}

type StoreAccess = Pick<IdleClosingStore, "use" | "whenClosed">;

/**
 * Adds the listeners to the worker's scope. Throws StoreError ValidationFailed.
 * @internal (a worker calls entitable.serve)
 */
export function serveIn(scope: Scope, options: ServiceWorkerOptions): void {
  const given = typeof options.account === "string" ? { name: options.account } : options.account;
  const account = { ...given, name: accountFromOptions(given, "default").name };
  const { store = account.name } = options;
  const access =
    typeof store === "string"
      ? accessOnDemand(scope, options, account, store)
      : permanentAccess(store);
  scope.addEventListener("fetch", (event) => {
    const { url, mode } = event.request;
    if (mode === "navigate" || !isAccountUrl(new URL(url), account.name, scope.location.origin))
      return;
    const response = respond(event.request, access);
    event.respondWith(response);
    // Keeps the worker alive until the store has closed. If the browser stopped the worker before,
    // the store would stay locked.
    event.waitUntil(response.then(() => access.whenClosed()));
  });
}

// Gives access to a store that the caller opened and that stays open.
function permanentAccess(store: Store | Promise<Store>): StoreAccess {
  Promise.resolve(store).catch(() => {}); // each request reports the error
  return { use: async (work) => work(await store), whenClosed: async () => {} };
}

function accessOnDemand(
  scope: Scope,
  { durability = "strict", wasm = "entitable.wasm" }: ServiceWorkerOptions,
  account: AccountOptions,
  name: string,
): StoreAccess {
  const kept = { name, account, durability, persistence: "indexeddb" } as const;
  let open: () => Promise<Store>;
  if (typeof wasm === "string" || isUrl(wasm)) {
    const modules = new ModuleCache(new URL(wasm, scope.location.href).href, scope.caches);
    scope.addEventListener("install", (event) => event.waitUntil(modules.install()));
    scope.addEventListener("activate", (event) => event.waitUntil(modules.activate()));
    open = () => openWith(modules, kept);
  } else {
    open = () => openStore({ ...kept, wasm });
  }
  return new IdleClosingStore({ open, idleMs });
}

async function openWith(modules: ModuleCache, options: OpenOptions): Promise<Store> {
  try {
    return await openStore({ ...options, wasm: await modules.get() });
  } catch (error) {
    if (error instanceof StoreError && error.code === "WasmVersionMismatch")
      await modules.invalidate();
    throw error;
  }
}

// Returns the store's response. Rejects only if the page aborts the request.
async function respond(request: Request, access: StoreAccess): Promise<Response> {
  try {
    return await access.use((store) => store.fetch(request));
  } catch (error) {
    request.signal.throwIfAborted();
    if (isSimulatedNetworkError((error as Error).cause)) return Response.error();
    const locked = error instanceof StoreError && error.code === "StoreLocked";
    return fetchResponseFromError(locked ? lockedByPage(error) : error);
  }
}

function lockedByPage(cause: StoreError): StoreError {
  const message = `${cause.message} A Service Worker can't answer for a store that a page has for itself.`;
  return new StoreError("StoreLocked", message, { cause });
}
