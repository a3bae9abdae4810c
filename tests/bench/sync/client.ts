// What the client of a synced table does in a measurement; the same in a page and in Node.

import type { Sync, SyncOptions } from "../../../web/src/start-sync/types.ts";
import type { OpenOptions, Store } from "../../../web/src/types.ts";
import { type Entity, entityAt } from "../peers/workload.ts";

export interface Package {
  readonly openStore: typeof import("../../../web/src/index.ts").openStore;
  readonly startSync: typeof import("../../../web/src/start-sync/index.ts").startSync;
}

export interface ClientOptions {
  readonly store: OpenOptions;
  /** The URL of the account. */
  readonly url: string;
  readonly table: string;
  readonly schedule?: SyncOptions["schedule"];
}

const groupRows = 100;
const workers = 4;

export class Client {
  readonly #package: Package;
  readonly #options: ClientOptions;
  #opened: Store | undefined;
  #synced: Sync | undefined;

  constructor(loaded: Package, options: ClientOptions) {
    this.#package = loaded;
    this.#options = options;
  }

  get #store(): Store {
    if (this.#opened === undefined) throw new Error("The store is not open.");
    return this.#opened;
  }

  get #sync(): Sync {
    if (this.#synced === undefined) throw new Error("Nothing is synced.");
    return this.#synced;
  }

  async open(): Promise<void> {
    this.#opened = await this.#package.openStore(this.#options.store);
  }

  /** Starts to sync. Resolves to the milliseconds until everything was read. */
  async download(entities: number): Promise<number> {
    const { schedule = {}, table, url } = this.#options;
    const began = performance.now();
    const options = { remote: { url }, tables: { [table]: {} }, schedule };
    const sync = await this.#package.startSync(this.#store, options);
    this.#synced = sync;
    await new Promise<void>((resolve) => {
      const end = sync.subscribe(({ phase }) => {
        if (phase !== "idle" && phase !== "syncing") return;
        end();
        resolve();
      });
    });
    const ms = performance.now() - began;
    const { tables } = await this.#store.stats();
    const [{ rows = 0 } = {}] = tables.filter(({ name }) => name === table);
    if (rows !== entities) throw new Error(`${rows} of ${entities} entities are here.`);
    return ms;
  }

  /** Reads the pages of the table, as many at once as sync does, and drops them. */
  async drain(partitions: number): Promise<number> {
    const began = performance.now();
    const bound = (worker: number) => partitionKey(Math.ceil((worker * partitions) / workers));
    const ranges = Array.from({ length: workers }, (_, worker) => worker);
    await Promise.all(ranges.map((at) => this.#drain(bound(at), bound(at + 1))));
    return performance.now() - began;
  }

  async #drain(from: string, to: string): Promise<void> {
    const { table, url } = this.#options;
    const query = new URLSearchParams({
      $filter: `PartitionKey ge '${from}' and PartitionKey lt '${to}'`,
    });
    const headers = { Accept: "application/json;odata=minimalmetadata" };
    for (;;) {
      const response = await fetch(`${url}/${table}()?${query}`, { headers });
      await response.arrayBuffer();
      const partition = response.headers.get("x-ms-continuation-NextPartitionKey");
      if (partition === null) return;
      query.set("NextPartitionKey", partition);
      query.set("NextRowKey", response.headers.get("x-ms-continuation-NextRowKey") ?? "");
    }
  }

  /** Writes the entities of the table into one that is not synced. */
  async writeLocally(entities: number): Promise<number> {
    const rows = this.#store.table<Entity>("local", { durability: "deferred" });
    await rows.createTable();
    const began = performance.now();
    for (let i = 0; i < entities; i += groupRows) {
      const group = Array.from({ length: groupRows }, (_, k) => entityAt(i + k));
      await rows.submitTransaction(group.map((row) => ["create", row]));
    }
    await this.#store.flush();
    return performance.now() - began;
  }

  /**
   * Edits entities while offline. Resolves when all edits are pushed, to the time before the
   * pushes, in milliseconds since 1970.
   */
  async edit(entities: number, perPartition: number, version: number): Promise<number> {
    const sync = this.#sync;
    sync.pause();
    const rows = this.#store.table<Entity>(this.#options.table, { durability: "deferred" });
    const edits = Array.from({ length: entities }, (_, i) => {
      const { rowKey } = entityAt(i);
      return rows.updateEntity(
        { partitionKey: partitionKey(Math.floor(i / perPartition)), rowKey, version },
        "Merge",
      );
    });
    await Promise.all(edits);
    await this.#store.flush();
    const began = Date.now();
    sync.resume();
    while (await this.#isPending()) await delay(pendingPollMs);
    return began;
  }

  async #isPending(): Promise<boolean> {
    for await (const _ of this.#sync.pending()) return true;
    return false;
  }

  /** Edits an entity. Resolves to the time before, in milliseconds since 1970. */
  async editOne(rowKey: string, version: number): Promise<number> {
    const rows = this.#store.table(this.#options.table);
    const began = performance.timeOrigin + performance.now();
    await rows.upsertEntity({ partitionKey: partitionKey(0), rowKey, version });
    return began;
  }

  /** Resolves to the time at which the edit is here. */
  async seen(rowKey: string, version: number): Promise<number> {
    const rows = this.#store.table<Entity>(this.#options.table);
    const query = rows.liveEntity(partitionKey(0), rowKey);
    try {
      for await (const entity of query) if (entity?.version === version) break;
      return performance.timeOrigin + performance.now();
    } finally {
      query.close();
    }
  }

  async stop(): Promise<void> {
    await this.#synced?.stop();
  }

  async close(): Promise<void> {
    await this.#synced?.stop();
    await this.#opened?.close();
  }
}

export const partitionKey = (partition: number): string => `p${String(partition).padStart(5, "0")}`;

const pendingPollMs = 100; // each poll reads pending edits, which takes milliseconds

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
