// Limits how many entities are read per second over time, because every entity that a query scans
// counts against the targets of the account that the application shares with others.

import type { SessionTime } from "./clock.ts";

export class EntityBudget {
  readonly #time: SessionTime;
  readonly #perSecond: number;
  #freeAt = 0; // by the monotonic clock

  constructor(time: SessionTime, perSecond: number) {
    this.#time = time;
    this.#perSecond = perSecond;
  }

  /** Resolves when the entities that were spent so far are within the budget. */
  async available(): Promise<void> {
    const wait = this.#freeAt - this.#time.now().monotonicMs;
    if (wait > 0) await this.#time.sleep(wait);
  }

  spend(entities: number): void {
    const from = Math.max(this.#freeAt, this.#time.now().monotonicMs);
    this.#freeAt = from + this.msFor(entities);
  }

  /** Returns how long it takes to read so many entities. */
  msFor(entities: number): number {
    return (entities / this.#perSecond) * 1000;
  }
}
