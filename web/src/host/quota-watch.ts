// Says when an origin's storage is nearly full, by the browser's estimate.

export interface QuotaWatchOptions {
  estimate: () => Promise<StorageEstimate | undefined>; // undefined: the browser does not say
  tell: (event: { usage: number; quota: number }) => void;
  now?: () => number; // milliseconds, never set back
}

const highShare = 0.8; // of the quota
const tellAgainAfter = 0.05; // more of it
const intervalMs = 60_000; // between two looks

export class QuotaWatch {
  readonly #o: QuotaWatchOptions;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #told = 0; // the share that was told last; 0: it was not high then

  constructor(options: QuotaWatchOptions) {
    this.#o = options;
  }

  // Looks, unless it did within the last minute.
  async check(): Promise<void> {
    const now = this.#o.now?.() ?? performance.now();
    if (now - this.#lookedAt < intervalMs) return;
    this.#lookedAt = now;
    const { usage = 0, quota = 0 } = (await this.#o.estimate()) ?? {};
    if (quota <= 0) return;
    const share = usage / quota;
    if (share <= highShare) this.#told = 0;
    else if (this.#told === 0 || share >= this.#told + tellAgainAfter) {
      this.#o.tell({ usage, quota });
    }
  }

  // It was told, by this watch or by that of another tab.
  heard({ usage, quota }: { usage: number; quota: number }): void {
    this.#told = usage / quota;
  }
}
