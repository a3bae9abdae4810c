// `entitable/worker`: the script of the worker in which openStore({ thread: "worker" }) runs a
// store. The page sends a port when it starts the worker. web/build.mjs bundles this script as
// entitable-worker.js, without the wasm module, which the page sends too.

import { connect } from "./store-server.ts";

export { connect };

if (typeof document === "undefined" && typeof globalThis.addEventListener === "function") {
  globalThis.addEventListener("message", ({ data, ports }) => {
    if (data === "entitable" && ports[0] !== undefined) connect(ports[0]);
  });
}
