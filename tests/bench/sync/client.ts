// What the client of a synced table does in a measurement; the same in a page and in Node.

import type { Sync, SyncOptions, SyncStatus } from "../../../web/src/start-sync/types.ts";
import { type Key, keyOf } from "../../../web/src/sync/keys.ts";
import type { Properties } from "../../../web/src/sync/properties.ts";
import { type BatchRequest, batchRequest } from "../../../web/src/sync-remote/batch-request.ts";
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
  #feed: EventSource | undefined;
  #began = 0;

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
    this.#synced = await this.#package.startSync(this.#store, options);
    await this.#until(({ phase }) => phase === "idle" || phase === "syncing");
    const ms = performance.now() - began;
    await this.#requireRows(entities);
    return ms;
  }

  async #requireRows(entities: number): Promise<void> {
    const { tables } = await this.#store.stats();
    const [{ rows = 0 } = {}] = tables.filter(({ name }) => name === this.#options.table);
    if (rows !== entities) throw new Error(`${rows} of ${entities} entities are here.`);
  }

  /** Restores a seed, without sync. */
  async restore(seed: string): Promise<number> {
    const began = performance.now();
    const { body } = await fetch(seed);
    await this.#store.restore(body as ReadableStream<Uint8Array>);
    return performance.now() - began;
  }

  /**
   * Starts to sync with a seed. Resolves to the milliseconds until the entities can be read.
   * inStep() measures from the same moment.
   */
  async downloadSeed(seed: string): Promise<number> {
    const { schedule = {}, table, url } = this.#options;
    this.#began = performance.now();
    const options = { remote: { url }, tables: { [table]: {} }, schedule, seed };
    this.#synced = await this.#package.startSync(this.#store, options);
    await this.#store.table(table).getEntity(partitionKey(0), entityAt(0).rowKey);
    return performance.now() - this.#began;
  }

  /** Resolves to the milliseconds until what was written since the seed is here. */
  async inStep(entities: number): Promise<number> {
    await this.#until(({ lastPulledAt }) => lastPulledAt !== undefined);
    const ms = performance.now() - this.#began;
    await this.#requireRows(entities);
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

  /** Edits entities while sync is paused. Resolves when sync has counted all edits. */
  async editOffline(entities: number, perPartition: number, version: number): Promise<void> {
    this.#sync.pause();
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
    await this.#until(({ pending }) => pending === entities);
  }

  /**
   * Resolves when all edits are pushed, to the time before the pushes, in milliseconds since 1970.
   */
  async push(): Promise<number> {
    const began = Date.now();
    this.#sync.resume();
    await this.#until(({ pending }) => pending === 0);
    return began;
  }

  /** Sends the batches of such edits, as many at once as sync does, and drops the answers. */
  async sendBatches(entities: number, perPartition: number, version: number): Promise<number> {
    const { table, url } = this.#options;
    const partitions = Array.from({ length: entities / perPartition }, (_, partition) =>
      Array.from({ length: perPartition / groupRows }, (_, group) => {
        const first = partition * perPartition + group * groupRows;
        const keys = Array.from({ length: groupRows }, (_, k) =>
          keyOf(partitionKey(partition), entityAt(first + k).rowKey),
        );
        return batchOf(keys, version, `${url}/${table}`);
      }),
    );
    const began = performance.now();
    const left = partitions.values();
    const worker = async () => {
      for (const batches of left) for (const batch of batches) await sendBatch(url, batch);
    };
    await Promise.all(Array.from({ length: workers }, worker));
    return performance.now() - began;
  }

  /** Resolves when sync follows the feed of the server. */
  async follow(): Promise<void> {
    await this.#until(({ following }) => following);
  }

  async #until(isReached: (status: SyncStatus) => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = this.#sync.subscribe((status) => {
        if (!isReached(status)) return;
        end();
        resolve();
      });
      if (!isReached(this.#sync.status)) return;
      end();
      resolve();
    });
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

  /** Puts a row at the server, without sync. Resolves to the time before. */
  async putRow(table: string, rowKey: string): Promise<number> {
    const { url } = this.#options;
    const began = performance.timeOrigin + performance.now();
    const response = await fetch(
      `${url}/${table}(PartitionKey='${partitionKey(0)}',RowKey='${rowKey}')`,
      { method: "PUT", headers: { "Content-Type": "application/json" }, body: "{}" },
    );
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return began;
  }

  /** Resolves to the time at which the server's feed has brought the row. */
  async hear(table: string, rowKey: string): Promise<number> {
    this.#feed ??= new EventSource(`${this.#options.url}/_changes?table=${table}`);
    const feed = this.#feed;
    return await new Promise<number>((resolve) => {
      const onMessage = ({ data }: MessageEvent<string>) => {
        if (!data.includes(`"${rowKey}"`)) return;
        feed.removeEventListener("message", onMessage);
        resolve(performance.timeOrigin + performance.now());
      };
      feed.addEventListener("message", onMessage);
    });
  }

  async stop(): Promise<void> {
    await this.#synced?.stop();
  }

  async close(): Promise<void> {
    this.#feed?.close();
    await this.#synced?.stop();
    await this.#opened?.close();
  }
}

export const partitionKey = (partition: number): string => `p${String(partition).padStart(5, "0")}`;

function batchOf(keys: readonly Key[], version: number, tableUrl: string): BatchRequest {
  const set: Properties = new Map([["version", { type: "Int32", value: version }]]);
  const operations = keys.map((key) => ({ kind: "merge", key, set, etag: "*" }) as const);
  return batchRequest(operations, crypto.randomUUID(), tableUrl, false);
}

async function sendBatch(url: string, { headers, body }: BatchRequest): Promise<void> {
  const response = await fetch(`${url}/$batch`, { method: "POST", headers, body });
  const text = await response.text();
  if (!response.ok || /^HTTP\/1\.1 [45]/m.test(text)) throw new Error(text);
}
