// Calls a session's steps by name, in a page, in a worker or in Node.

import { Session, type SessionOptions } from "./session.ts";
import { startClock, stopClock } from "./timing.ts";

export type Step = keyof Session;
export type Call = (step: Step, args: unknown[]) => Promise<unknown>;

export function localCall(options: SessionOptions): Call {
  const session = new Session(options);
  return async (step, args) => await (session[step] as (...a: unknown[]) => unknown)(...args);
}

// Returns the time to open a store in a new page or process, in milliseconds.
export async function coldOpen(call: Call, name: string, level: string): Promise<number> {
  const started = startClock();
  await call("prepare", []);
  await call("open", [name, level, false]);
  await call("one", [0]);
  return stopClock(started);
}
