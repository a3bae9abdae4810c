// Milliseconds that a call takes, though the page's clock is coarse and the first calls run unoptimised.

import type { MaybePromise } from "./contestant.ts";

export interface Timing {
  // How often it may be called at all.
  most?: number;
  // The mean, in which what goes on in the background has its part; otherwise the median of several batches.
  mean?: boolean;
}

const warmUpMs = 100;
const batchMs = 4;
const enoughMs = 400;
const tooLongMs = 2000;

export const now = () => performance.now();

// `call` gets 0, 1, 2 and so on, and is awaited each time.
export async function timed(
  call: (i: number) => MaybePromise<unknown>,
  { most = Number.POSITIVE_INFINITY, mean = false }: Timing = {},
): Promise<number> {
  let done = 0;
  const batch = async (calls: number) => {
    const started = now();
    for (const end = done + calls; done < end; ++done) await call(done);
    return now() - started;
  };
  let calls = 1;
  let took = await batch(1);
  for (let spent = took; spent < warmUpMs && done + 2 * calls < most / 10; spent += took) {
    calls = took < batchMs ? Math.min(calls * 2, 10_000) : calls;
    took = await batch(calls);
  }
  const each: number[] = [];
  const started = now();
  let spent = 0;
  while (spent < enoughMs || each.length < 5) {
    if (done + calls > most || (spent > tooLongMs && each.length >= 3)) break;
    took = await batch(calls);
    each.push(took / calls);
    spent += took;
    await breath();
  }
  if (each.length === 0) throw new Error("it could not be called often enough to be timed");
  return mean ? (now() - started) / (each.length * calls) : median(each);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

// Lets the event loop have its turn, as a page has to.
export function breath(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}
