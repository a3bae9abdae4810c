// `entitable/service-worker`: the script of a Service Worker that answers requests to an account
// from a store. Everything is in it but the module, which it looks for beside itself. web/build.mjs
// makes a classic script of it: there import() throws.
//
//   navigator.serviceWorker.register("/service-worker.js?account=shop")      registered as it is
//   importScripts("/service-worker.js"); entitable.serve({ account: "shop" })      in a worker of
//   the site's own

import type { Scope } from "./scope.ts";
import { type ServiceWorkerOptions, serveIn } from "./serve.ts";

export type { ServiceWorkerOptions } from "./serve.ts";

export interface ServiceWorkerApi {
  /** Call this while the worker's script first runs. Throws StoreError ValidationFailed. */
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

// Fails the installation of a worker without an account, which would otherwise go unnoticed.
scope.addEventListener("install", (event) => {
  if (serving) return;
  const message = "entitable: register with ?account=<name>, or call entitable.serve({ account }).";
  event.waitUntil(Promise.reject(new Error(message)));
});
