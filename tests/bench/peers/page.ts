// The script of the page and, for contestants that run in one, of the worker: it hands the driver's steps to a session.

import { watchMemories } from "./memories.ts";
import { Session, type SessionOptions } from "./session.ts";
import { now, timed } from "./timing.ts";

type Step = Exclude<keyof Session, "one"> | "one";
type Call = (step: Step, args: unknown[]) => Promise<unknown>;

interface Message {
  id: number;
  step: Step | "start";
  args: unknown[];
}

// ---- Where the session is -----------------------------------------------------------------------------------------------

function here(options: SessionOptions): Call {
  const session = new Session(options);
  return async (step, args) => await (session[step] as (...a: unknown[]) => unknown)(...args);
}

function inWorker(options: SessionOptions): Call {
  const worker = new Worker("/page.js", { type: "module" });
  const waiting = new Map<
    number,
    { resolve(value: unknown): void; reject(error: unknown): void }
  >();
  let last = 0;
  worker.onmessage = ({ data: { id, value, error } }) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(new Error(error));
  };
  const send = (step: Message["step"], args: unknown[]) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      worker.postMessage({ id: last, step, args } satisfies Message);
    });
  const started = send("start", [options]);
  return async (step, args) => {
    await started;
    return await send(step, args);
  };
}

function answer(): void {
  let call: Call | undefined;
  globalThis.onmessage = async ({ data: { id, step, args } }: MessageEvent<Message>) => {
    try {
      if (step === "start") call = here(args[0] as SessionOptions);
      const value = step === "start" ? undefined : await call?.(step, args);
      globalThis.postMessage({ id, value });
    } catch (error) {
      globalThis.postMessage({ id, error: String(error) });
    }
  };
}

// ---- What the driver calls ----------------------------------------------------------------------------------------------

let call: Call;

// A session in this page, or in a worker of it.
function start(options: SessionOptions, place: "page" | "worker"): void {
  call = place === "worker" ? inWorker(options) : here(options);
}

// As a page that was just opened does it: milliseconds.
async function coldOpen(name: string, level: string): Promise<number> {
  const started = now();
  await call("prepare", []);
  await call("open", [name, level, false]);
  await call("one", [0]);
  return now() - started;
}

// Milliseconds of a point read in a worker.
const readFromPage = () => timed((i) => call("one", [i]));

export const bench = {
  start,
  call: (step: Step, ...args: unknown[]) => call(step, args),
  coldOpen,
  readFromPage,
};

watchMemories();
if (typeof document === "undefined") answer();
else Object.assign(globalThis, { bench });
