// Says when an origin's storage is nearly full, by the browser's estimate.

export interface QuotaWatchOptions {
  estimate: () => Promise<StorageEstimate | undefined>; // undefined: the browser does not say
  onNearlyFull: (event: { usage: number; quota: number }) => void;
  now?: () => number; // milliseconds, never set back
}

const highShare = 0.8; // of the quota
const reportAgainStep = 0.05; // more of it
const intervalMs = 60_000; // between two looks

export class QuotaWatch {
  readonly #options: QuotaWatchOptions;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #reportedShare = 0; // the share that was told last; 0: it was not high then

  constructor(options: QuotaWatchOptions) {
    this.#options = options;
  }

  // Looks, unless it did within the last minute.
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

  // It was told, by this watch or by that of another tab.
  noteReported({ usage, quota }: { usage: number; quota: number }): void {
    this.#reportedShare = usage / quota;
  }
}
