// Milliseconds that a call takes, though the page's clock is coarse and the first calls run unoptimised.

import type { MaybePromise } from "./contestant.ts";

export interface Timing {
  // How often it may be called at all.
  most?: number;
  // The mean, in which what goes on in the background has its part; otherwise the median of several batches.
  mean?: boolean;
}

const warmUpMs = 200;
const batchMs = 0.5; // shorter than what a scheduler gives others: most batches then run undisturbed
const breathMs = 10;
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
  const began = now();
  do {
    if ((await batch(calls)) < batchMs) calls *= 2;
  } while (now() - began < warmUpMs && done + 2 * calls < most / 10);
  const each: number[] = [];
  const started = now();
  for (let breathed = started; now() - started < enoughMs || each.length < 5; ) {
    if (done + calls > most || (now() - started > tooLongMs && each.length >= 3)) break;
    each.push((await batch(calls)) / calls);
    if (now() - breathed < breathMs) continue;
    await breath();
    breathed = now();
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
