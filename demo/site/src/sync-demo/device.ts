// A store of the demonstration and its sync: what one user's browser has.
import { openStore, type Store, type Table } from "entitable";
import {
  type LostWrite,
  type Sync,
  type SyncStatus,
  type SyncWrite,
  startSync,
} from "entitable/sync";
import { type FetchFaults, faultyFetch, type MockStore } from "entitable/testing";
import { loggedFetch, type Push } from "./logged-fetch.ts";

export const accountUrl = "https://remote.table.core.windows.net";
export const tableName = "lamps";

export interface Lamp {
  stock: number;
}

export interface DeviceOptions {
  readonly name: string;
  readonly remote: MockStore;
  readonly conflict: "remote" | "merge" | "local";
  readonly receipts: boolean;
  /** Called after each request that sends local writes. */
  readonly onPush: (push: Push) => void;
}

export interface DeviceState {
  readonly lamps: readonly { readonly name: string; readonly stock: number }[];
  readonly pending: readonly SyncWrite[];
  readonly lost: readonly LostWrite[];
  readonly status: SyncStatus;
}

const partitionKey = "desk";
const newNames = ["Dot", "Sun", "Orb", "Fir", "Elm", "Ash"] as const;

export class Device {
  readonly name: string;
  readonly sync: Sync;
  /** The faults of all requests to the remote, and of those that send writes. */
  readonly faults: { readonly all: FetchFaults; readonly writes: FetchFaults };
  readonly #store: Store;
  readonly #lamps: Table<Lamp>;

  static async open(options: DeviceOptions): Promise<Device> {
    const { conflict, name, onPush, receipts, remote } = options;
    const logged = loggedFetch(name, remote, onPush);
    // Reads go on while responses to writes are lost: the reader can see what becomes of the write.
    const writes = faultyFetch({ fetch: logged.inner });
    const network = faultyFetch({
      fetch: (input, init) => (init?.method === "POST" ? writes : logged.inner)(input, init),
      delayMs: 2000,
    });
    const store = await openStore({ name: name.toLowerCase(), persistence: "memory" });
    const sync = await startSync(store, {
      remote: { url: accountUrl, fetch: logged.outer(network) },
      // Deletes too are found soon.
      tables: { [tableName]: { conflict, receipts, maxAgeMs: 1000 } },
      schedule: { minMs: 1000, maxMs: 2000 },
    });
    return new Device(name, store, sync, { all: network.faults, writes: writes.faults });
  }

  private constructor(name: string, store: Store, sync: Sync, faults: Device["faults"]) {
    this.name = name;
    this.#store = store;
    this.sync = sync;
    this.faults = faults;
    this.#lamps = store.table<Lamp>(tableName);
  }

  /** A browser tells sync when it is offline. Then nothing is sent. */
  setOnline(isOnline: boolean): void {
    if (isOnline) this.sync.resume();
    else this.sync.pause();
  }

  // ---- Local writes ----------------------------------------------------------------------------

  async change(name: string, { by }: { by: number }): Promise<void> {
    const { stock } = await this.#lamps.getEntity(partitionKey, name);
    await this.#lamps.updateEntity({ partitionKey, rowKey: name, stock: stock + by }, "Merge");
  }

  /** Adds a lamp that this store does not have. The other store would add the same one. */
  async add(): Promise<void> {
    const names = new Set((await this.#read()).map(({ name }) => name));
    const name = newNames.find((one) => !names.has(one));
    if (name !== undefined)
      await this.#lamps.createEntity({ partitionKey, rowKey: name, stock: 1 });
  }

  async remove(name: string): Promise<void> {
    await this.#lamps.deleteEntity(partitionKey, name);
  }

  // ---- State -----------------------------------------------------------------------------------

  async #read(): Promise<DeviceState["lamps"][number][]> {
    const lamps = await listOf(this.#lamps.listEntities());
    return lamps.map(({ rowKey, stock }) => ({ name: rowKey, stock }));
  }

  async state(): Promise<DeviceState> {
    const lamps = await this.#read();
    const pending = await listOf(this.sync.pending());
    const lost = await listOf(this.sync.lost());
    return { lamps, pending, lost, status: this.sync.status };
  }

  /** Calls the listener when the state may have changed. */
  watch(listener: () => void): () => void {
    const lamps = this.#lamps.live();
    const endings = [lamps.subscribe(listener), this.sync.subscribe(listener), () => lamps.close()];
    return () => {
      for (const end of endings) end();
    };
  }

  async close(): Promise<void> {
    await this.#store.close();
  }
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
