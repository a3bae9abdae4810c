// When a remote is read again. It sends no changes, so it is asked often while something happens,
// and less and less often while nothing does.

export interface PollTimes {
  /** After a change, while the page is visible: 15 s. */
  readonly minMs: number;
  /** The most, while the page is visible: 5 min. */
  readonly maxMs: number;
  /** While the page is hidden: 15 min. Infinity: not at all. */
  readonly hiddenMs: number;
}

export class PollSchedule {
  readonly #times: PollTimes;
  #delay: number;

  constructor(times: PollTimes) {
    this.#times = times;
    this.#delay = times.minMs;
  }

  /** Something happens, here or at the remote. */
  reset(): void {
    this.#delay = this.#times.minMs;
  }

  /** Returns the time until the next poll, and doubles the one after it. */
  next(isVisible: boolean): number {
    const { hiddenMs, maxMs, minMs } = this.#times;
    if (!isVisible) return Math.max(hiddenMs, minMs);
    const delay = this.#delay;
    this.#delay = Math.min(delay * 2, Math.max(maxMs, minMs));
    return delay;
  }
}
