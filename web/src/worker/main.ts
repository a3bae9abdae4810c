// `entitable/worker`: the script of the worker in which openStore({ thread: "worker" }) runs a
// store. A page that starts it sends it a port. web/build.mjs makes one file of it,
// entitable-worker.js, with everything in it but the module, which the page sends too.

import { connect } from "./store-server.ts";

export { connect };

if (typeof document === "undefined" && typeof globalThis.addEventListener === "function") {
  globalThis.addEventListener("message", ({ data, ports }) => {
    if (data === "entitable" && ports[0] !== undefined) connect(ports[0]);
  });
}
