// Reports when an origin's storage is nearly full, by the browser's estimate.

export interface QuotaWatchOptions {
  estimate: () => Promise<StorageEstimate | undefined>; // undefined: unknown
  onNearlyFull: (event: { usage: number; quota: number }) => void;
  now?: () => number; // milliseconds, monotonic
}

const highShare = 0.8; // of the quota
const reportAgainStep = 0.05; // of the quota
const intervalMs = 60_000; // between two checks

export class QuotaWatch {
  readonly #options: QuotaWatchOptions;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #reportedShare = 0; // the last reported share; 0 if usage was not high at the last check

  constructor(options: QuotaWatchOptions) {
    this.#options = options;
  }

  // Checks the usage, at most once a minute.
  async check(): Promise<void> {
    const now = this.#options.now?.() ?? performance.now();
    if (now - this.#checkedAt < intervalMs) return;
    this.#checkedAt = now;
    const { usage = 0, quota = 0 } = (await this.#options.estimate()) ?? {};
    if (quota <= 0) return;
    const share = usage / quota;
    if (share <= highShare) this.#reportedShare = 0;
    else if (this.#reportedShare === 0 || share >= this.#reportedShare + reportAgainStep) {
      this.#options.onNearlyFull({ usage, quota });
    }
  }

  // Called when usage was reported, by this watch or by that of another tab.
  noteReported({ usage, quota }: { usage: number; quota: number }): void {
    this.#reportedShare = usage / quota;
  }
}
