// A store that is open while there is work for it, and a little longer. A Service Worker is started for an event and killed
// when idle, and pages want the store too: so it is let go soon after the last request, and as soon as the requests at
// hand are answered if somebody waits for it. Later requests then queue up behind whoever that is.

import type { Store } from "../types.ts";

export interface LeaseOptions {
  open(): Promise<Store>;
  wanted(): Promise<boolean>; // whether somebody waits for the store while we hold it
  idleMs: number;
  lookMs: number; // how often `wanted` is asked
}

interface Holding {
  store: Promise<Store>;
  users: number;
  ended: Promise<void>;
  end: () => void;
  stopLooking: () => void;
}

export class Lease {
  readonly #o: LeaseOptions;
  #current: Holding | undefined;
  #last: Promise<void> = Promise.resolve(); // the end of the latest holding
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LeaseOptions) {
    this.#o = options;
  }

  // Rejects as `work` does, or as opening does.
  async use<T>(work: (store: Store) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    this.#current ??= this.#hold();
    const holding = this.#current;
    ++holding.users;
    try {
      return await work(await holding.store);
    } finally {
      --holding.users;
      if (holding !== this.#current) this.#endIfUnused(holding);
      else if (holding.users === 0)
        this.#idle = setTimeout(() => this.#retire(holding), this.#o.idleMs);
    }
  }

  // Resolves when the store is not held, or held anew.
  released(): Promise<void> {
    return this.#last;
  }

  #hold(): Holding {
    const store = this.#last.then(() => this.#o.open());
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const holding: Holding = { store, users: 0, ended, end, stopLooking: () => {} };
    this.#last = ended;
    store.then(
      () => this.#look(holding),
      () => this.#retire(holding),
    );
    return holding;
  }

  #look(holding: Holding): void {
    const timer = setInterval(async () => {
      if (await this.#o.wanted().catch(() => false)) this.#retire(holding);
    }, this.#o.lookMs);
    holding.stopLooking = () => clearInterval(timer);
  }

  // No further request gets this holding; it ends with the last of those that have it.
  #retire(holding: Holding): void {
    if (holding !== this.#current) return;
    clearTimeout(this.#idle);
    this.#current = undefined;
    this.#endIfUnused(holding);
  }

  #endIfUnused(holding: Holding): void {
    if (holding.users > 0) return;
    holding.stopLooking();
    holding.store
      .then((store) => store.close())
      .catch(() => {}) // what could not be opened is closed; what could not be stored was never acknowledged
      .finally(holding.end);
  }
}
