// Starts the worker of a store.

import type { Settings } from "../open/options.ts";

export interface WorkerThread {
  readonly port: MessagePort; // at its other end is connect() of serve.ts
  readonly failure: Promise<string>; // why its script could not be loaded or run
  end(): void; // at once; may be called again
}

// The store must run where it is opened.
export class WorkerUnavailable extends Error {}

// Throws WorkerUnavailable if that shows at once; otherwise `failure` tells.
export function startWorker({ persistence }: Pick<Settings, "persistence">): WorkerThread {
  if (persistence === "file") {
    throw new WorkerUnavailable("Workers are for pages, not for stores of files.");
  }
  if (typeof Worker === "undefined") throw new WorkerUnavailable("There are no workers here.");
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
    // Literally so, for bundlers: they see it and build the worker.
    return new Worker(new URL("./entitable-worker.js", import.meta.url), {
      type: "module",
      name: "entitable",
    });
  } catch (error) {
    throw new WorkerUnavailable(`The browser refused to start a worker: ${String(error)}`);
  }
}
