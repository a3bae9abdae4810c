// The store of sync in the owner: reads, commits and storing, in turn with the writes of clients.

import type { SyncHost } from "../host/sync-host.ts";
import type { Draft, TableView } from "../sync/draft.ts";
import type { SyncStore } from "../sync/store.ts";
import { PartsNeeded } from "../wasm/engine.ts";
import { EngineStore } from "./engine-store.ts";

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
    let decided: { result: T } | undefined;
    await this.#host.commit((publishes, nowMs) => {
      const applied = this.#store.apply(decide, publishes, nowMs);
      if (!(applied instanceof PartsNeeded)) decided = applied;
      return applied;
    });
    return (decided as unknown as { result: T }).result;
  }

  stored(): Promise<void> {
    return this.#host.stored();
  }
}
