// Keeps a store open while there is work for it, and a little longer. A Service Worker is started
// for an event and stopped when idle. It must release the store before that, so that other tabs
// need no takeover timeout.

import type { Store } from "../types.ts";

export interface IdleClosingStoreOptions {
  open(): Promise<Store>;
  idleMs: number;
}

interface OpenedStore {
  store: Promise<Store>;
  users: number;
  ended: Promise<void>;
  end: () => void;
}

export class IdleClosingStore {
  readonly #options: IdleClosingStoreOptions;
  #current: OpenedStore | undefined;
  // resolves when the latest use has closed the store
  #lastClosed: Promise<void> = Promise.resolve();
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: IdleClosingStoreOptions) {
    this.#options = options;
  }

  // Runs `work` with the open store. Rejects with the error of `work` or of opening.
  async use<T>(work: (store: Store) => Promise<T>): Promise<T> {
    clearTimeout(this.#idleTimer);
    this.#current ??= this.#open();
    const opened = this.#current;
    ++opened.users;
    try {
      return await work(await opened.store);
    } finally {
      --opened.users;
      if (opened !== this.#current) this.#closeIfUnused(opened);
      else if (opened.users === 0)
        this.#idleTimer = setTimeout(() => this.#retire(opened), this.#options.idleMs);
    }
  }

  // Resolves when the store is released or in use again.
  whenClosed(): Promise<void> {
    return this.#lastClosed;
  }

  #open(): OpenedStore {
    const store = this.#lastClosed.then(() => this.#options.open());
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const opened: OpenedStore = { store, users: 0, ended, end };
    this.#lastClosed = ended;
    store.catch(() => this.#retire(opened));
    return opened;
  }

  // No further request uses this open store; it closes after the last request that uses it.
  #retire(opened: OpenedStore): void {
    if (opened !== this.#current) return;
    clearTimeout(this.#idleTimer);
    this.#current = undefined;
    this.#closeIfUnused(opened);
  }

  #closeIfUnused(opened: OpenedStore): void {
    if (opened.users > 0) return;
    opened.store
      .then((store) => store.close())
      // what could not be opened is closed; what could not be stored was never acknowledged
      .catch(() => {})
      .finally(opened.end);
  }
}
