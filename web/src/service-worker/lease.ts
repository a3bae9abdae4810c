// A store that is open while there is work for it, and a little longer. A Service Worker is started for an event and killed
// when idle: if it owns the store, the pages that share it had better not find that out from its silence.

import type { Store } from "../types.ts";

export interface LeaseOptions {
  open(): Promise<Store>;
  idleMs: number;
}

interface Holding {
  store: Promise<Store>;
  users: number;
  ended: Promise<void>;
  end: () => void;
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
    const holding: Holding = { store, users: 0, ended, end };
    this.#last = ended;
    store.catch(() => this.#retire(holding));
    return holding;
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
    holding.store
      .then((store) => store.close())
      .catch(() => {}) // what could not be opened is closed; what could not be stored was never acknowledged
      .finally(holding.end);
  }
}
