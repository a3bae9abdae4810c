// Delays of simulated requests: fixed, or random with a uniform or log-normal distribution; the
// same for all operations or different for each.

import { StoreError } from "../errors.ts";
import type { Operation } from "../types.ts";
import { isOperation } from "./request-match.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Delay, Latency } from "./types.ts";

type ByOperation = Readonly<Partial<Record<Operation | "*", Delay>>>;

// Throws StoreError ValidationFailed if the delay is invalid.
export function checkDelay(name: string, delay: Delay): void {
  if (isDelay(delay)) return;
  const kinds = "milliseconds, a range of them, or { fixed }, { uniform } or { lognormal }";
  throw invalid(`${name} must be ${kinds}, not ${JSON.stringify(delay) ?? String(delay)}.`);
}

function invalid(message: string): StoreError {
  return new StoreError("ValidationFailed", message);
}

export function isDelay(delay: unknown): boolean {
  if (typeof delay === "number") return isDuration(delay);
  if (Array.isArray(delay)) return delay.length === 2 && isRange(delay[0], delay[1]);
  const [[name, value] = [], ...more] = Object.entries(Object(delay) as object);
  if (more.length > 0) return false;
  if (name === "fixed") return isDuration(value);
  if (name === "uniform") return Array.isArray(value) && isDelay(value);
  if (name !== "lognormal") return false;
  const { median, p99 } = Object(value) as { median?: unknown; p99?: unknown };
  return isRange(median, p99) && (median as number) > 0;
}

function isDuration(ms: unknown): boolean {
  return typeof ms === "number" && ms >= 0 && ms < Infinity;
}

function isRange(least: unknown, most: unknown): boolean {
  return isDuration(least) && isDuration(most) && (most as number) >= (least as number);
}

export function sampleDelay(delay: Delay, random: SeededRandom): number {
  if (typeof delay === "number") return delay;
  if (isRangeDelay(delay)) return between(delay, random);
  if ("fixed" in delay) return delay.fixed;
  if ("uniform" in delay) return between(delay.uniform, random);
  const { median, p99 } = delay.lognormal;
  const ms = median * (p99 / median) ** (sampleNormal(random) / normalP99);
  // rounded, because engines differ in the last digits of powers
  return Math.round(ms * 1000) / 1000;
}

function isRangeDelay(delay: Delay): delay is readonly [number, number] {
  return Array.isArray(delay);
}

function between([least, most]: readonly [number, number], random: SeededRandom): number {
  return least + random.fraction() * (most - least);
}

const normalP99 = 2.326347874; // the 99th percentile of the standard normal distribution

// Returns a random value that is approximately normally distributed. Does not use functions whose
// results differ between engines.
function sampleNormal(random: SeededRandom): number {
  let sum = -6;
  for (let i = 0; i < 12; ++i) sum += random.fraction();
  return sum;
}

// About what a client in the service's own region sees. These values are plausible, not measured.
const cloud: ByOperation = {
  "*": { lognormal: { median: 12, p99: 80 } },
  get: { lognormal: { median: 6, p99: 40 } },
  query: { lognormal: { median: 15, p99: 150 } },
  batch: { lognormal: { median: 25, p99: 200 } },
  createTable: { lognormal: { median: 50, p99: 500 } },
  deleteTable: { lognormal: { median: 50, p99: 500 } },
};

function isByOperation(latency: object | number | string): latency is ByOperation {
  if (typeof latency !== "object" || latency === null || Array.isArray(latency)) return false;
  return !["fixed", "uniform", "lognormal"].some((name) => name in latency);
}

/** The delays of a store's requests, by operation. */
export class LatencyModel {
  readonly #of: ByOperation;

  // Throws StoreError ValidationFailed if the option is invalid.
  constructor(latency: Latency = 0) {
    this.#of =
      latency === "cloud" ? cloud : isByOperation(latency) ? { ...latency } : { "*": latency };
    for (const [name, delay] of Object.entries(this.#of)) {
      if (!isOperation(name)) throw invalid(`latency: there is no operation ${name}.`);
      checkDelay(`latency of ${name}`, delay);
    }
  }

  of(operation: Operation, random: SeededRandom): number {
    return sampleDelay(this.#of[operation] ?? this.#of["*"] ?? 0, random);
  }
}
