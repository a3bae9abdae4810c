// The script of a Node process that the driver starts. It passes the driver's steps to a session.

import { Session as Inspector } from "node:inspector/promises";
import type { SessionOptions } from "./session.ts";
import { stepHandler } from "./step-messages.ts";
import { type Call, coldOpen, localCall, type Step } from "./steps.ts";
import { trackWasmMemories } from "./wasm-memory.ts";

let call: Call = () => Promise.reject(new Error("it was not started"));
let inspector: Inspector | undefined;
const profiles: object[] = [];

// Does in Node what the driver does in Chromium by the DevTools protocol.
async function devtools(method: string, params?: object): Promise<unknown> {
  if (inspector === undefined) {
    inspector = new Inspector();
    inspector.connect();
    inspector.on("Profiler.consoleProfileFinished", ({ params }) => profiles.push(params.profile));
  }
  return await (inspector as { post(method: string, params?: object): Promise<unknown> }).post(
    method,
    params,
  );
}

async function runStep(step: string, args: unknown[]): Promise<unknown> {
  switch (step) {
    case "start":
      call = localCall(args[0] as SessionOptions);
      return undefined;
    case "cold-open":
      return await coldOpen(call, ...(args as [string, string]));
    case "devtools":
      return await devtools(...(args as [string, object?]));
    case "profiles":
      return profiles.splice(0);
    default:
      return await call(step as Step, args);
  }
}

trackWasmMemories();
const receive = stepHandler(runStep, (answer) => process.send?.(answer));
process.on("message", receive as (message: unknown) => void);
