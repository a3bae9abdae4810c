// The script of a process of Node that the driver starts: it hands the driver's steps to a session.

import { Session as Inspector } from "node:inspector/promises";
import { watchMemories } from "./memories.ts";
import { answering } from "./messages.ts";
import type { SessionOptions } from "./session.ts";
import { type Call, coldOpen, here, type Step } from "./steps.ts";

let call: Call = () => Promise.reject(new Error("it was not started"));
let inspector: Inspector | undefined;
const profiles: object[] = [];

// What Chromium's pages are asked through their own protocol.
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

async function does(step: string, args: unknown[]): Promise<unknown> {
  switch (step) {
    case "start":
      call = here(args[0] as SessionOptions);
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

watchMemories();
const receive = answering(does, (answer) => process.send?.(answer));
process.on("message", receive as (message: unknown) => void);
