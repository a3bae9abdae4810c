// Reports when an origin's storage is nearly full, according to the browser's estimate.

export interface QuotaWatchOptions {
  estimate: () => Promise<StorageEstimate | undefined>; // undefined: unknown
  onNearlyFull: (event: { usage: number; quota: number }) => void;
  now?: () => number; // milliseconds, monotonic
}

const highShare = 0.8; // share of the quota from which storage counts as nearly full
const reportAgainStep = 0.05; // of the quota: a further report follows after each such increase
const intervalMs = 60_000; // between two checks

export class QuotaWatch {
  readonly #options: QuotaWatchOptions;
  #checkedAt = Number.NEGATIVE_INFINITY;
  // the share in the last report; 0 if usage was below highShare at the last check
  #reportedShare = 0;

  constructor(options: QuotaWatchOptions) {
    this.#options = options;
  }

  // Checks the usage. Has no effect within a minute of the last check.
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

  // Must be called when usage was reported, by this tab or another. Prevents a second report of the
  // same usage.
  noteReported({ usage, quota }: { usage: number; quota: number }): void {
    this.#reportedShare = usage / quota;
  }
}
