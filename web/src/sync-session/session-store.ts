// The store as one session uses it. The session can end while work on the store still waits, such
// as for the application's answer about a conflict. That work must not reach the store any more:
// the next session may work on the same rows.

import type { Draft, TableView } from "../sync/draft.ts";
import type { SyncStore } from "../sync/store.ts";

export class SessionStore implements SyncStore {
  readonly #store: SyncStore;
  #running = 0; // calls of `read` and `transact`
  #isClosed = false;

  constructor(store: SyncStore) {
    this.#store = store;
  }

  get commit(): number {
    return this.#store.commit;
  }

  read<T>(look: (view: TableView) => T): Promise<T> {
    return this.#run(() => this.#store.read(look));
  }

  transact<T>(decide: (draft: Draft) => T): Promise<T> {
    return this.#run(() => this.#store.transact(decide));
  }

  stored(): Promise<void> {
    return this.#isClosed ? new Promise(() => {}) : this.#store.stored();
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return new Promise(() => {});
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
    }
  }

  /**
   * Waits for the calls that run, and for those that follow from them. No promise of a later call
   * resolves. `turn` resolves when all promises that are settled have had their effects.
   */
  async close(turn: () => Promise<void>): Promise<void> {
    do await turn();
    while (this.#running > 0);
    this.#isClosed = true;
  }
}
