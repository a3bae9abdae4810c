// From when the next scan by Timestamp must read (PROTOCOL.md, Pulling), without trusting any
// clock.
//
// A change is missed only if it becomes visible after a scan has passed its key, with a Timestamp
// before the next scan's beginning. So the watermark of a scan is a server time that was known
// before the scan began, and never one that the scan itself has seen. A scan reads from its
// watermark minus the overlap. That is safe if overlap ≥ δ + 2ε, where δ is the time from a row's
// Timestamp until it is visible, and ε the skew between the servers of two partitions.

import type { Ticks } from "./hidden-tables.ts";

export const ticksPerMs = 10_000n;

/** Two clocks of this machine. Each may stop or jump, for example when the machine sleeps. */
export interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** A server time, and when this process learned it. */
export interface KnownServerTime {
  readonly time: Ticks;
  readonly learnedAt: ClockReading | undefined; // undefined: by an earlier process
}

/**
 * Returns a time that the servers have reached (up to ε). Between answers, the time of the slower
 * local clock is added.
 */
export function serverTimeNow(known: KnownServerTime, now: ClockReading): Ticks {
  if (known.learnedAt === undefined) return known.time;
  const elapsed = Math.min(...elapsedMs(known.learnedAt, now));
  return known.time + ticks(Math.max(0, elapsed));
}

const elapsedMs = (from: ClockReading, to: ClockReading): [number, number] => [
  to.monotonicMs - from.monotonicMs,
  to.wallMs - from.wallMs,
];

const ticks = (ms: number): Ticks => BigInt(Math.floor(ms)) * ticksPerMs;

/**
 * Returns the server time at which a scan began, at most, from a page of that scan: its newest
 * Timestamp, minus the time of the faster clock since the beginning. For the first scan of a table
 * of which no server time was known.
 */
export function beginningOfScan(
  newestOfPage: Ticks,
  beganAt: ClockReading,
  now: ClockReading,
): Ticks {
  const elapsed = Math.max(...elapsedMs(beganAt, now));
  return newestOfPage - ticks(Math.ceil(Math.max(0, elapsed)));
}

/** Returns from when a scan reads. Undefined: everything. */
export function scanSince(watermark: Ticks | undefined, overlapMs: number): Ticks | undefined {
  return watermark === undefined ? undefined : watermark - ticks(overlapMs);
}

export const overlapMsDefault = 120_000;
const overlapMsMax = 3_600_000;

/** A census has found a change that the scans had missed: the remote's δ or ε are larger. */
export function overlapAfterMiss(overlapMs: number): number {
  return Math.min(Math.max(1, overlapMs * 2), overlapMsMax);
}

const aheadMsMax = 86_400_000;

/**
 * Returns whether a Timestamp is more than a day ahead of the wall clock. One of the two clocks is
 * wrong; such a Timestamp would set the local store's clock, and all later ETags, to that time.
 */
export function isFromTheFuture(timestamp: Ticks, wallTime: Ticks): boolean {
  return timestamp > wallTime + ticks(aheadMsMax);
}
