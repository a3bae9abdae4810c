// `entitable/service-worker`: the script of a Service Worker that answers requests to an account
// from a store. web/build.mjs bundles it into one classic script. Only the wasm module is a
// separate file, which must be in the same folder. There are two ways to use the script:
//
//   navigator.serviceWorker.register("/service-worker.js?account=shop")          as it is
//   importScripts("/service-worker.js"); entitable.serve({ account: "shop" })    in your own worker

import type { Scope } from "./scope.ts";
import { type ServiceWorkerOptions, serveIn } from "./serve.ts";

export type { ServiceWorkerOptions } from "./serve.ts";

export interface ServiceWorkerApi {
  /**
   * Serves requests to an account. Must be called while the worker's script runs for the first
   * time. Throws StoreError ValidationFailed.
   */
  serve(options: ServiceWorkerOptions): void;
}

declare global {
  var entitable: ServiceWorkerApi;
}

const scope = globalThis as unknown as Scope;
let serving = false;

function serve(options: ServiceWorkerOptions): void {
  serveIn(scope, options);
  serving = true;
}

globalThis.entitable = { serve };

const parameters = new URL(scope.location.href).searchParams;
const account = parameters.get("account");
if (account !== null) {
  serve({ account, store: parameters.get("store") ?? account });
  scope.addEventListener("install", () => void scope.skipWaiting());
  scope.addEventListener("activate", (event) => event.waitUntil(scope.clients.claim()));
}

// Without an account the worker would serve nothing. Its installation fails, so that the mistake is
// noticed.
scope.addEventListener("install", (event) => {
  if (serving) return;
  const message = "entitable: register with ?account=<name>, or call entitable.serve({ account }).";
  event.waitUntil(Promise.reject(new Error(message)));
});
