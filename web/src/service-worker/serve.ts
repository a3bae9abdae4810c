// Responds to fetch events for an account from its store in IndexedDB.

import { StoreError } from "../errors.ts";
import { openStore } from "../open-store.ts";
import { accountFromOptions } from "../rest/account.ts";
import { fetchResponseFromError, isSimulatedNetworkError } from "../rest/error-response.ts";
import { isAccountUrl } from "../rest/service-url.ts";
import type { AccountOptions, OpenOptions, Store } from "../types.ts";
import { IdleClosingStore } from "./idle-closing-store.ts";
import { ModuleCache } from "./module-cache.ts";
import type { Scope } from "./scope.ts";

const idleMs = 1000;

export interface ServiceWorkerOptions {
  /**
   * The account. Its requests are recognized by host (`<name>.table.…`), or by path (`/<name>/…`)
   * at port 10002 or at this origin.
   */
  account: string | AccountOptions;
  /**
   * The store's name, or an open store or the promise of one, such as `mockStore`'s. Default: the
   * account's name.
   */
  store?: string | Store | Promise<Store>;
  /** Default "strict". */
  durability?: "strict" | "relaxed";
  /** The module, or its location. Default: `entitable.wasm` next to the worker's script. */
  wasm?: string | URL | BufferSource | WebAssembly.Module;
}

type StoreAccess = Pick<IdleClosingStore, "use" | "whenClosed">;

/**
 * Throws StoreError ValidationFailed.
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
    // otherwise a worker that is stopped in between would keep the store locked
    event.waitUntil(response.then(() => access.whenClosed()));
  });
}

// Access to a store that stays open.
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
  if (typeof wasm === "string" || wasm instanceof URL) {
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

// Never rejects, unless the page aborts the request.
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
