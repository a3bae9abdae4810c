// The script of the page and, for contestants that run in one, of the worker: it hands the driver's steps to a session.

import { watchMemories } from "./memories.ts";
import { type Answer, Asker, answering } from "./messages.ts";
import type { SessionOptions } from "./session.ts";
import { type Call, coldOpen, here, type Step } from "./steps.ts";
import { timed } from "./timing.ts";

function inWorker(options: SessionOptions): Call {
  const worker = new Worker("/page.js", { type: "module" });
  const asker = new Asker((message) => worker.postMessage(message));
  worker.onmessage = ({ data }: MessageEvent<Answer>) => asker.receive(data);
  const started = asker.ask("start", [options]);
  return async (step, args) => {
    await started;
    return await asker.ask(step, args);
  };
}

function answer(): void {
  let call: Call | undefined;
  const does = async (step: string, args: unknown[]) => {
    if (step !== "start") return await call?.(step as Step, args);
    call = here(args[0] as SessionOptions);
    return undefined;
  };
  const receive = answering(does, (message) => globalThis.postMessage(message));
  globalThis.onmessage = ({ data }) => receive(data);
}

// ---- What the driver calls ----------------------------------------------------------------------------------------------

let call: Call;

// A session in this page, or in a worker of it.
function start(options: SessionOptions, worker: boolean): void {
  call = worker ? inWorker(options) : here(options);
}

export const bench = {
  start,
  call: (step: Step, ...args: unknown[]) => call(step, args),
  coldOpen: (name: string, level: string) => coldOpen(call, name, level),
  // Milliseconds of a point read in a worker.
  readFromPage: () => timed((i) => call("one", [i])),
};

watchMemories();
if (typeof document === "undefined") answer();
else Object.assign(globalThis, { bench });
