// Limits the time of a request, also if `fetch` or the body of a response ignores its signal.

export class TimeLimit {
  readonly #periodMs: number;
  readonly #periodsMax: number;
  readonly #controller = new AbortController();
  #periods = 0;
  #hasProgress = false;
  /** Between two reads, the caller is waited for. */
  #isHeld = false;

  /** The first period begins now. There are at most so many of them, all but one with progress. */
  constructor(periodMs: number, periodsMax = 10) {
    this.#periodMs = periodMs;
    this.#periodsMax = periodsMax;
    this.#begin();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** When the period ends, another one begins. */
  progress(): void {
    this.#hasProgress = true;
  }

  /** The time is over now. */
  end(): void {
    this.#controller.abort();
  }

  /** Rejects when the time is over. Holds the result no longer than the caller does. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    let onAbort = () => {};
    const over = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort);
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** As race(), for one of several reads. The time between them is not limited. */
  async read<T>(read: () => Promise<T>): Promise<T> {
    this.#isHeld = false;
    this.progress();
    const result = await this.race(read());
    this.#isHeld = true;
    return result;
  }

  /** Browsers delay other timers in hidden pages, but not this one. */
  #begin(): void {
    this.#periods += 1;
    this.#hasProgress = false;
    const timer = AbortSignal.timeout(this.#periodMs);
    timer.addEventListener("abort", () => {
      if (this.signal.aborted) return;
      const isLate = !this.#hasProgress && !this.#isHeld;
      if (!isLate && this.#periods < this.#periodsMax) this.#begin();
      else this.#controller.abort(timer.reason);
    });
  }
}
