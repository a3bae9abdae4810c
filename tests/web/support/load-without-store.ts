// Stands in for a store in a MixedLoad, to measure how much memory the load takes without one. It
// knows only the version of each row, and passes what is written to a function that stores the
// bytes.

import type { Store } from "../../../web/src/types.ts";
import { indexOf, type Row, rowOf, rowsPerPartition } from "./mixed-load.ts";

// Stores bytes. The next group of writes waits for it.
export type StoreBytes = (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;

class StandIn {
  readonly #versions: Uint32Array; // 0: there is no such row
  readonly #storeBytes: StoreBytes;
  #group: string[] = []; // rows of the next group
  #storing: Promise<void> = Promise.resolve(); // the last group
  #next: Promise<void> | undefined; // the next group

  constructor(rows: number, storeBytes: StoreBytes) {
    this.#versions = new Uint32Array(rows);
    this.#storeBytes = storeBytes;
  }

  async createTable(): Promise<void> {}

  async submitTransaction(actions: readonly [string, Row, string][]): Promise<void> {
    await Promise.all(actions.map(([, row]) => this.upsertEntity(row)));
  }

  upsertEntity(row: Row): Promise<void> {
    this.#versions[indexOf(row)] = row.n;
    return this.#write(JSON.stringify(row));
  }

  deleteEntity(partitionKey: string, rowKey: string): Promise<void> {
    const at = indexOf({ partitionKey, rowKey });
    if (this.#versions[at] === 0) return Promise.reject({ statusCode: 404 });
    this.#versions[at] = 0;
    return this.#write(partitionKey + rowKey);
  }

  async getEntity(partitionKey: string, rowKey: string): Promise<Row> {
    const at = indexOf({ partitionKey, rowKey });
    const version = this.#versions[at];
    if (version === 0 || version === undefined) throw { statusCode: 404 };
    return rowOf(at, version);
  }

  async *listEntities(options?: { queryOptions: { filter: string } }): AsyncGenerator<Row> {
    const partition = /p\d+/.exec(options?.queryOptions.filter ?? "")?.[0];
    const from = partition === undefined ? 0 : indexOf({ partitionKey: partition, rowKey: "0000" });
    const to = partition === undefined ? this.#versions.length : from + rowsPerPartition;
    for (let i = from; i < to; ++i) {
      const version = this.#versions[i];
      if (version !== undefined && version !== 0) yield rowOf(i, version);
    }
  }

  // Adds a row to the group that is stored after the group being stored.
  #write(row: string): Promise<void> {
    this.#group.push(row);
    this.#next ??= this.#storing.then(async () => {
      await Promise.resolve(); // further rows of this turn
      const group = this.#group.join("");
      this.#group = [];
      this.#next = undefined;
      await this.#storeBytes(new TextEncoder().encode(group));
    });
    this.#storing = this.#next;
    return this.#next;
  }
}

// Returns a store for MixedLoad.fill(), run() and check(), with this number of rows at most.
export function storeStandIn(rows: number, storeBytes: StoreBytes): Store {
  const table = new StandIn(rows, storeBytes);
  const store = { table: () => table, compact: async () => {} };
  return store as unknown as Store;
}
