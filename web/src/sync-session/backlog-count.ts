// Counts the backlog of a table after commits, from time to time: the status has the last count.

import type { SyncStore } from "../sync/store.ts";
import { type Backlog, countBacklog, noBacklog } from "./backlog.ts";
import type { SessionTime } from "./clock.ts";

const countMs = 50; // after a commit, until its effect on the backlog is counted
const countShare = 20; // counting takes at most this part of the time

export class BacklogCount {
  readonly #store: SyncStore;
  readonly #time: SessionTime;
  readonly #onChange: () => void;
  #isCounting = false;
  #isOutdated = false; // there was a commit since the running count has begun
  #begun = 0; // counts
  #newest = 0; // the number of the count that `last` is from
  last: Backlog = noBacklog;

  constructor(store: SyncStore, time: SessionTime, onChange: () => void) {
    this.#store = store;
    this.#time = time;
    this.#onChange = onChange;
  }

  /** Counts now. Rejects if the store has failed. */
  async now(): Promise<Backlog> {
    this.#begun += 1;
    const number = this.#begun;
    const backlog = await countBacklog(this.#store);
    if (number > this.#newest) {
      this.#newest = number;
      this.last = backlog;
      this.#onChange();
    }
    return this.last;
  }

  /** There was a commit: counts soon. */
  soon(): void {
    this.#isOutdated = true;
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#time.after(countMs, () => void this.#countAndRest());
  }

  async #countAndRest(): Promise<void> {
    this.#isOutdated = false;
    const { monotonicMs } = this.#time.now();
    // If the store has failed or is closed, the next commit counts again.
    await this.now().catch(() => {});
    const wait = countShare * (this.#time.now().monotonicMs - monotonicMs);
    this.#time.after(wait, () => {
      this.#isCounting = false;
      if (this.#isOutdated) this.soon();
    });
  }
}
