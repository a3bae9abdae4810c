// Stores in files whose table is synced with a server, behind a proxy with faults.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type * as SyncModule from "../../../web/src/start-sync/index.ts";
import type { Store } from "../../../web/src/types.ts";
import { openStore, packageFolder } from "./package.ts";
import { emulatorKey } from "./server-process.ts";

export const { startSync } = (await import(
  new URL("dist/start-sync/index.js", packageFolder).href
)) as typeof SyncModule;

type Sync = Awaited<ReturnType<typeof startSync>>;
export type TableOptions = SyncModule.SyncTableOptions;

export const credential = { name: "devstoreaccount1", key: emulatorKey };
export const table = "people";

/** Opens a store, and one that serves as its remote, until the test ends. Both are in memory. */
export async function openLocalAndRemote(t: TestContext): Promise<{ local: Store; remote: Store }> {
  const account = { name: credential.name, keys: [emulatorKey], authorize: true };
  const shared = { persistence: "memory", onWarning: () => {} } as const;
  const remote = await openStore({ ...shared, account });
  const local = await openStore({ ...shared, name: "local" });
  t.after(async () => {
    await local.close();
    await remote.close();
  });
  return { local, remote };
}

export interface SyncedStoreOptions {
  readonly path: string;
  readonly name: string;
  /** Of the account. */
  readonly url: string;
  readonly table: TableOptions;
}

/** Opens a store in the folder, and syncs its table. */
export class SyncedStore {
  readonly #options: SyncedStoreOptions;
  store: Store;
  sync: Sync;

  private constructor(options: SyncedStoreOptions, store: Store, sync: Sync) {
    this.#options = options;
    this.store = store;
    this.sync = sync;
  }

  static async open(options: SyncedStoreOptions): Promise<SyncedStore> {
    const [store, sync] = await open(options);
    return new SyncedStore(options, store, sync);
  }

  /** Closes the store and opens it again, as after the end of the process. */
  async restart(): Promise<void> {
    await this.close();
    [this.store, this.sync] = await open(this.#options);
  }

  async close(): Promise<void> {
    await this.sync.stop();
    await this.store.close();
  }

  async rows(): Promise<Map<string, string>> {
    const rows = new Map<string, string>();
    for await (const entity of this.store.table(table).listEntities()) {
      const { etag, partitionKey, rowKey, timestamp, ...rest } = entity as Record<string, unknown>;
      const properties = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1));
      const values = [etag, timestamp, ...properties.flat()].map(String);
      rows.set(`${partitionKey}/${rowKey}`, values.join("|"));
    }
    return rows;
  }
}

async function open({ name, path, url, ...options }: SyncedStoreOptions): Promise<[Store, Sync]> {
  const store = await openStore({ persistence: "file", path, name, durability: "relaxed" });
  const sync = await startSync(store, {
    remote: { url, credential },
    tables: { [table]: options.table },
    schedule: { minMs: 200, maxMs: 400, hiddenMs: 400 },
  });
  return [store, sync];
}

const restMs = 240_000; // at most, however busy the machine is

/** Waits until both have the same rows and nothing is pending. */
export async function waitUntilEqual(a: SyncedStore, b: SyncedStore): Promise<void> {
  const end = performance.now() + restMs;
  for (;;) {
    const reports = [await a.sync.now(), await b.sync.now(), await a.sync.now()];
    const [first, second] = [await a.rows(), await b.rows()];
    const isDone = reports.every(({ complete, pending }) => complete && pending === 0);
    if (isDone && sameRows(first, second)) return;
    if (performance.now() > end) {
      assert.deepEqual(reports, [], "not in step");
      assert.deepEqual(first, second);
    }
    await delay(100);
  }
}

const sameRows = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
  a.size === b.size && [...a].every(([key, row]) => b.get(key) === row);
