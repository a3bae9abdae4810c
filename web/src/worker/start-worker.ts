// Starts the worker of a store.

import type { Settings } from "../open/options.ts";

export interface WorkerThread {
  readonly port: MessagePort; // the other end is passed to connect() of store-server.ts
  // resolves to the reason if the script could not be loaded or run
  readonly failure: Promise<string>;
  end(): void; // terminates the worker immediately; may be called again
}

// Thrown if a worker can't be used. The store must then run in the page.
export class WorkerUnavailable extends Error {}

// Starts a worker. `moved`: the package's folder, if its files are not next to the code. Throws
// WorkerUnavailable if that is not possible. If the script fails later, `failure` resolves.
export function startWorker(
  { persistence }: Pick<Settings, "persistence">,
  moved?: URL,
): WorkerThread {
  if (persistence === "file") {
    throw new WorkerUnavailable("Stores in files can't run in a worker.");
  }
  if (typeof Worker === "undefined") throw new WorkerUnavailable("Workers are not available here.");
  const worker = newWorker(moved);
  const failure = new Promise<string>((resolve) => {
    worker.onerror = (event) => resolve(event.message || "its script could not be loaded");
  });
  const { port1: port, port2 } = new MessageChannel();
  worker.postMessage("entitable", [port2]);
  return { port, failure, end: () => worker.terminate() };
}

function newWorker(moved: URL | undefined): Worker {
  try {
    if (moved !== undefined) {
      const script = new URL("dist/worker/entitable-worker.js", moved);
      return new Worker(script, { type: "module", name: "entitable" });
    }
    // Bundlers recognize exactly this expression, and then bundle the worker's script.
    return new Worker(new URL("./entitable-worker.js", import.meta.url), {
      type: "module",
      name: "entitable",
    });
  } catch (error) {
    throw new WorkerUnavailable(`The browser could not start a worker: ${String(error)}`);
  }
}
