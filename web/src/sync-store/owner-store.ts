// The store of sync in the owner: reads, commits and storing, in turn with the writes of clients.

import type { SyncHost } from "../host/sync-host.ts";
import type { Draft, TableView } from "../sync/draft.ts";
import type { SyncStore } from "../sync/store.ts";
import type { PartsNeeded } from "../wasm/engine.ts";
import { type Applied, DecisionFailed, EngineStore } from "./engine-store.ts";

const noCommit = { changes: false, bytes: 0 };

export class OwnerStore implements SyncStore {
  readonly #host: SyncHost;
  readonly #store: EngineStore;

  // REQUIRES: the table is synced, and SyncHost.enable() has resolved.
  constructor(host: SyncHost, table: string) {
    this.#host = host;
    this.#store = new EngineStore(host.engine, table);
  }

  get commit(): number {
    return this.#host.engine.lastCommit;
  }

  async read<T>(look: (view: TableView) => T): Promise<T> {
    const { result } = await this.#host.read(() => this.#store.read(look));
    return result;
  }

  async transact<T>(decide: (draft: Draft) => T): Promise<T> {
    const made = await this.#host.commit((publishes, nowMs) => {
      const applied = this.#apply(decide, publishes, nowMs);
      return applied instanceof DecisionFailed ? { ...noCommit, failure: applied } : applied;
    });
    if ("failure" in made) throw made.failure.cause;
    return made.result;
  }

  /** An error of `decide` is returned: it must not stop the store, as those of the engine do. */
  #apply<T>(
    decide: (draft: Draft) => T,
    publishes: boolean,
    nowMs: number,
  ): Applied<T> | PartsNeeded | DecisionFailed {
    try {
      return this.#store.apply(decide, publishes, nowMs);
    } catch (error) {
      if (error instanceof DecisionFailed) return error;
      throw error;
    }
  }

  stored(): Promise<void> {
    return this.#host.stored();
  }
}
