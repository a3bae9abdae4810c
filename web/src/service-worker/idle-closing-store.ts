// Opens a store on demand and closes it when it has been idle for a while. The browser starts a
// Service Worker for an event and stops it when idle. The worker must close the store before that;
// otherwise other tabs would wait for an owner that no longer responds.

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
  // Resolves when the last opened store has closed.
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

  // Resolves when the store has closed, or when it is used again.
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

  // Removes a store from #current: later requests open a new one. It closes when the requests that
  // use it have ended.
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
      // A failure needs no report: a store that failed to open is closed already, and writes that
      // could not be stored were never acknowledged.
      .catch(() => {})
      .finally(opened.end);
  }
}
