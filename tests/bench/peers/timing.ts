// Measures how many milliseconds a call takes, although the page's clock is coarse and the first
// calls run unoptimized. REQUIRES: V8's garbage collector is exposed (gc).

import type { MaybePromise } from "./database-adapter.ts";

// Milliseconds per call.
export interface Timed {
  median: number; // of the batches
  mean: number; // includes background work, which most batches do not contain
}

const warmUpMs = 150;
const warmUpShare = 1 / 3; // largest share of a limited number of calls that is used to warm up
// For long calls: the first scans run before anything is compiled or prepared.
const warmUpBatches = 8;
// Short, so that the scheduler does not interrupt most batches.
const batchMs = 0.5;
const yieldIntervalMs = 10;
const minDurationMs = 300;
const maxDurationMs = 1500;
const longMs = 500; // for a call this long, a first call is not slower
const callsPerTurn = 4;

export const now = () => performance.now();

// Starts the clock and returns the time. A profiler (profile.ts) records only what runs on the
// clock, neither preparation nor warm-up. Without a profiler, console.profile() does nothing.
export function startClock(): number {
  console.profile("clock");
  return now();
}
// Returns the milliseconds since startClock().
export function stopClock(started: number): number {
  const ms = now() - started;
  console.profileEnd("clock");
  return ms;
}

type Call = (i: number) => MaybePromise<unknown>;

// Returns the median. The number of calls is not limited.
export async function timed(call: Call): Promise<number> {
  return (await timedUpTo(Number.POSITIVE_INFINITY, call)).median;
}

// Calls and awaits `call` with 0, 1, 2 and so on, below `most`.
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

// The result for one of several kinds of calls that are measured alternately, a few of each at a
// time, so that other work on the machine affects all of them alike. `ms`: milliseconds per call.
// `ratio`: the first kind's time as a multiple of this kind's.
export interface InterleavedTiming {
  ms: number;
  ratio: number;
}

export async function timedInterleaved(
  kinds: readonly Call[],
  most: number,
): Promise<InterleavedTiming[]> {
  const turns: number[][] = []; // in each turn, the time of a call of each kind
  const began = now();
  for (let first = 0; first + callsPerTurn <= most; first += callsPerTurn) {
    const turn: number[] = [];
    for (const call of kinds) {
      const started = now();
      for (let i = first; i < first + callsPerTurn; ++i) await call(i);
      turn.push((now() - started) / callsPerTurn);
    }
    if (first > 0) turns.push(turn); // the first turn is for warming up
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

// Moves entities that will be written to V8's old space. The garbage collector copies a young
// object twice before it leaves it in place. For twenty thousand entities, that takes as long as
// writing them, and should not be measured.
export function promoteToOldSpace<T>(entities: T): T {
  for (let i = 0; i < 2; ++i) gc({ type: "minor" });
  return entities;
}
declare function gc(options: { type: "minor" }): void;

// Yields to the event loop, as a page must.
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
