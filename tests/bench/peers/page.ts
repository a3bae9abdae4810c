// The script of the page, and of the worker if the database runs in one. It passes the driver's
// steps to a session.

import type { SessionOptions } from "./session.ts";
import { StepClient, type StepResponse, stepHandler } from "./step-messages.ts";
import { type Call, coldOpen, localCall, type Step } from "./steps.ts";
import { timed } from "./timing.ts";
import { trackWasmMemories } from "./wasm-memory.ts";

function workerCall(options: SessionOptions): Call {
  const worker = new Worker("/page.js", { type: "module" });
  const stepClient = new StepClient((message) => worker.postMessage(message));
  worker.onmessage = ({ data }: MessageEvent<StepResponse>) => stepClient.receive(data);
  const started = stepClient.call("start", [options]);
  return async (step, args) => {
    await started;
    return await stepClient.call(step, args);
  };
}

function serveSteps(): void {
  let call: Call | undefined;
  const runStep = async (step: string, args: unknown[]) => {
    if (step !== "start") return await call?.(step as Step, args);
    call = localCall(args[0] as SessionOptions);
    return undefined;
  };
  const receive = stepHandler(runStep, (message) => globalThis.postMessage(message));
  globalThis.onmessage = ({ data }) => receive(data);
}

// ---- What the driver calls ----------------------------------------------------------------------

let call: Call;

// Starts a session in this page, or in a worker of this page.
function start(options: SessionOptions, worker: boolean): void {
  call = worker ? workerCall(options) : localCall(options);
}

export const bench = {
  start,
  call: (step: Step, ...args: unknown[]) => call(step, args),
  coldOpen: (name: string, level: string) => coldOpen(call, name, level),
  // Milliseconds of a point read that the page requests from its worker.
  readFromPage: () => timed((i) => call("one", [i])),
};

trackWasmMemories();
if (typeof document === "undefined") serveSteps();
else Object.assign(globalThis, { bench });
