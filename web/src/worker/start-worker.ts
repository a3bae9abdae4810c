// Starts the worker of a store.

import type { Settings } from "../open/options.ts";

export interface WorkerThread {
  readonly port: MessagePort; // connected to connect() of store-server.ts
  readonly failure: Promise<string>; // resolves to why the script could not be loaded or run
  end(): void; // terminates the worker immediately; may be called again
}

// A worker can't be used, so the store must run in the page.
export class WorkerUnavailable extends Error {}

// Starts a worker. Throws WorkerUnavailable if workers can't be used here. If the script fails
// later, `failure` resolves.
export function startWorker({ persistence }: Pick<Settings, "persistence">): WorkerThread {
  if (persistence === "file") {
    throw new WorkerUnavailable("Stores in files can't run in a worker.");
  }
  if (typeof Worker === "undefined") throw new WorkerUnavailable("Workers are not available here.");
  const worker = newWorker();
  const failure = new Promise<string>((resolve) => {
    worker.onerror = (event) => resolve(event.message || "its script could not be loaded");
  });
  const { port1: port, port2 } = new MessageChannel();
  worker.postMessage("entitable", [port2]);
  return { port, failure, end: () => worker.terminate() };
}

function newWorker(): Worker {
  try {
    // Bundlers recognise exactly this expression and build the worker.
    return new Worker(new URL("./entitable-worker.js", import.meta.url), {
      type: "module",
      name: "entitable",
    });
  } catch (error) {
    throw new WorkerUnavailable(`The browser could not start a worker: ${String(error)}`);
  }
}
