// Failures of the store in one kind of work: waits before the work is tried again, and longer each
// time, because it may send the same requests again.

import type { SessionTime } from "./clock.ts";

const firstMs = 1000;
const mostMs = 60_000;

export class StoreFailures {
  readonly #time: SessionTime;
  readonly #onChange: () => void;
  #failures = 0; // in a row
  #failedAt = Number.NEGATIVE_INFINITY;
  /** Why the work waits. */
  error: unknown;

  constructor(time: SessionTime, onChange: () => void) {
    this.#time = time;
    this.#onChange = onChange;
  }

  /** Resolves when the work may be tried again. */
  async wait(error: unknown): Promise<void> {
    const now = this.#time.now().monotonicMs;
    const isInRow = now - this.#failedAt <= 2 * mostMs;
    this.#failures = isInRow ? this.#failures + 1 : 0;
    this.#failedAt = now;
    this.error = error;
    this.#onChange();
    await this.#time.sleep(Math.min(firstMs * 2 ** this.#failures, mostMs));
    this.error = undefined;
    this.#onChange();
  }
}
