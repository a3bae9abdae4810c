// The store as one part of a session uses it: counts what its commits change.

import type { Draft, TableView } from "../sync/draft.ts";
import type { Settlement } from "../sync/hidden-tables.ts";
import type { SyncStore } from "../sync/store.ts";

export class CountingStore implements SyncStore {
  readonly #store: SyncStore;
  /** Changes of rows of the table itself. */
  rows = 0;
  /** How operations have left the outbox, but for those that were lost or parked. */
  readonly settled: Record<Settlement, number> = {
    confirmed: 0,
    folded: 0,
    equal: 0,
    discarded: 0,
  };

  constructor(store: SyncStore) {
    this.#store = store;
  }

  get commit(): number {
    return this.#store.commit;
  }

  read<T>(look: (view: TableView) => T): Promise<T> {
    return this.#store.read(look);
  }

  /** Counts the last draft only: `decide` may be called again. */
  async transact<T>(decide: (draft: Draft) => T): Promise<T> {
    let made: Draft | undefined;
    const result = await this.#store.transact((draft) => {
      made = draft;
      return decide(draft);
    });
    for (const { table } of made?.puts ?? []) if (table === "rows") this.rows += 1;
    for (const { how } of made?.settled ?? []) this.settled[how] += 1;
    return result;
  }

  stored(): Promise<void> {
    return this.#store.stored();
  }
}
