// Milliseconds that a call takes, though the page's clock is coarse and the first calls run
// unoptimised. Runs where V8 was asked to expose its collector.

import type { MaybePromise } from "./database-adapter.ts";

// Milliseconds of a call.
export interface Timed {
  median: number; // of the batches
  mean: number; // in which what goes on in the background has its part
}

const warmUpMs = 150;
const warmUpShare = 1 / 3; // of calls of which there are only so many, at most
// of long calls: the first of a scan find nothing compiled and nothing prepared
const warmUpBatches = 8;
// shorter than what a scheduler gives others: most batches then run undisturbed
const batchMs = 0.5;
const yieldIntervalMs = 10;
const minDurationMs = 300;
const maxDurationMs = 1500;
const longMs = 500; // a call of so long is as quick the first time
const callsPerTurn = 4;

export const now = () => performance.now();

// Starts the clock and returns the time. A profiler (profile.ts) records only what runs on the
// clock, neither preparation nor warm-up. Without a profiler, console.profile() does nothing.
export function startClock(): number {
  console.profile("clock");
  return now();
}
// Milliseconds since.
export function stopClock(started: number): number {
  const ms = now() - started;
  console.profileEnd("clock");
  return ms;
}

type Call = (i: number) => MaybePromise<unknown>;

// The median, of any number of calls.
export async function timed(call: Call): Promise<number> {
  return (await timedUpTo(Number.POSITIVE_INFINITY, call)).median;
}

// `call` gets 0, 1, 2 and so on, less than `most`, and is awaited each time.
export async function timedUpTo(most: number, call: Call): Promise<Timed> {
  let done = 0;
  const batch = async (calls: number) => {
    const started = now();
    for (const end = done + calls; done < end; ++done) await call(done);
    return now() - started;
  };
  let calls = 1;
  let warmUp: number;
  let started = now();
  const began = started;
  for (let batches = 1; ; ++batches) {
    warmUp = await batch(calls);
    if (warmUp < batchMs) calls *= 2;
    const enough = now() - began > (batches < warmUpBatches ? longMs : warmUpMs);
    if (enough || done + 2 * calls >= most * warmUpShare) break;
  }
  const each = warmUp < longMs ? [] : [warmUp];
  if (each.length === 0) started = startClock();
  for (let yieldedAt = now(); now() - started < minDurationMs || each.length < 5; ) {
    if (done + calls > most || (now() - started > maxDurationMs && each.length > 0)) break;
    each.push((await batch(calls)) / calls);
    if (now() - yieldedAt < yieldIntervalMs) continue;
    await yieldToEventLoop();
    yieldedAt = now();
  }
  const ms = stopClock(started);
  if (each.length === 0) throw new Error("it could not be called often enough to be timed");
  return { median: median(each), mean: ms / (each.length * calls) };
}

// What several kinds of calls take when they are made in turn, a few of each at a time: all meet
// the same machine then, whatever else it does. Of each kind milliseconds, and the median of how
// often the first kind contains it.
export interface InterleavedTiming {
  ms: number;
  ratio: number;
}

export async function timedInterleaved(
  kinds: readonly Call[],
  most: number,
): Promise<InterleavedTiming[]> {
  const turns: number[][] = []; // of each kind what a call took
  const began = now();
  for (let first = 0; first + callsPerTurn <= most; first += callsPerTurn) {
    const turn: number[] = [];
    for (const call of kinds) {
      const started = now();
      for (let i = first; i < first + callsPerTurn; ++i) await call(i);
      turn.push((now() - started) / callsPerTurn);
    }
    if (first > 0) turns.push(turn); // else to warm up
    if (now() - began > maxDurationMs && turns.length >= 5) break;
  }
  return kinds.map((_, kind) => ({
    ms: median(turns.map((turn) => turn[kind] as number)),
    ratio: median(turns.map((turn) => (turn[0] as number) / (turn[kind] as number))),
  }));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

// Of entities that were made to be written. A young object is copied twice before the collector
// leaves it where it is: that of twenty thousand entities takes as long as they take to write, and
// would be counted if it came while the clock runs.
export function promoteToOldSpace<T>(entities: T): T {
  for (let i = 0; i < 2; ++i) gc({ type: "minor" });
  return entities;
}
declare function gc(options: { type: "minor" }): void;

// Lets the event loop have its turn, as a page has to.
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}
