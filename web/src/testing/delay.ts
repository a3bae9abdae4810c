// How long something takes.

import { StoreError } from "../errors.ts";
import type { Operation } from "../types.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Delay, MockOptions } from "./types.ts";

// Throws StoreError ValidationFailed.
export function checkDelay(name: string, delay: Delay): void {
  const [least, most] = typeof delay === "number" ? [delay, delay] : delay;
  if (least >= 0 && most >= least && most < Infinity) return;
  const message = `${name} must be milliseconds, or a range of them, not ${delay}.`;
  throw new StoreError("ValidationFailed", message);
}

export function draw(delay: Delay, random: SeededRandom): number {
  if (typeof delay === "number") return delay;
  const [least, most] = delay;
  return least + random.fraction() * (most - least);
}

/** How long requests take by themselves. */
export class Latency {
  readonly #of: Partial<Record<Operation | "*", Delay>>;

  // Throws StoreError ValidationFailed.
  constructor(latency: NonNullable<MockOptions["latency"]> = 0) {
    const isOne = typeof latency === "number" || Array.isArray(latency);
    this.#of = isOne ? { "*": latency as Delay } : { ...(latency as object) };
    for (const [name, delay] of Object.entries(this.#of)) checkDelay(`latency of ${name}`, delay);
  }

  of(operation: Operation, random: SeededRandom): number {
    return draw(this.#of[operation] ?? this.#of["*"] ?? 0, random);
  }
}
