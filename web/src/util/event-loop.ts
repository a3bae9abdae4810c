// When code runs: in a microtask, or in a later task of the event loop.

import { nodeProcess } from "./node.ts";

const resolved = Promise.resolve();

/**
 * Calls the function in a microtask. Unlike queueMicrotask(), which Jest's fake timers replace, it
 * also does so in tests with such timers.
 */
export function inMicrotask(call: () => void): void {
  void resolved.then(call);
}

// Pages use one channel. Not Node, because an open port would keep the process alive.
let sharedChannel: MessageChannel | undefined;
const waiting: (() => void)[] = []; // each message to the channel continues the next one

// Resolves in a later task, so that the browser can first handle input and paint. setTimeout would
// not do, because browsers delay it by up to a second in hidden pages, and fake timers replace it.
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    const Channel = channelClass();
    if (Channel === undefined) {
      setTimeout(resolve);
      return;
    }
    const channel = sharedChannel ?? new Channel();
    const { port1, port2 } = channel;
    if ("unref" in port1) {
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
    } else {
      sharedChannel = channel;
      waiting.push(resolve);
      port1.onmessage = () => waiting.shift()?.();
    }
    port2.postMessage(undefined);
  });
}

// Simulated pages of test runners may lack MessageChannel, but they are in Node, which has it.
function channelClass(): typeof MessageChannel | undefined {
  if (typeof MessageChannel !== "undefined") return MessageChannel;
  const threads = nodeProcess()?.getBuiltinModule?.("node:worker_threads");
  return (threads as typeof globalThis | undefined)?.MessageChannel;
}
