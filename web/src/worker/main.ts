// `entitable/worker`: the script of the worker that openStore({ thread: "worker" }) starts.
// web/build.mjs bundles it as entitable-worker.js. The page sends it a port and the wasm module,
// which is therefore not in the bundle.

import { connect } from "./store-server.ts";

export { connect };

if (typeof document === "undefined" && typeof globalThis.addEventListener === "function") {
  globalThis.addEventListener("message", ({ data, ports }) => {
    if (data === "entitable" && ports[0] !== undefined) connect(ports[0]);
  });
}
