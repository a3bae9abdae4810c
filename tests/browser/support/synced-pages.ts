// Pages that sync a store, and the remote that they sync with: a store behind a server.

import type { Page } from "playwright-core";
import type { Sync } from "../../../web/src/start-sync/types.ts";
import type { Store } from "../../../web/src/types.ts";
import { openStore, packageFolder } from "../../web/support/package.ts";

const { serve }: typeof import("../../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

/** The variables of a page. */
export interface Application {
  store: Store;
  sync: Sync;
}

export class RemoteServer {
  readonly store: Store;
  readonly port: number;
  #server: Awaited<ReturnType<typeof serve>>;

  static async start(): Promise<RemoteServer> {
    const account = { name: "acct", permissiveCors: true };
    const store = await openStore({ persistence: "memory", account });
    return new RemoteServer(store, await serve(store, { port: 0 }));
  }

  private constructor(store: Store, server: Awaited<ReturnType<typeof serve>>) {
    this.store = store;
    this.port = server.port;
    this.#server = server;
  }

  /** The URL of the account. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/acct`;
  }

  /** The store stays open. */
  stop(): Promise<void> {
    return this.#server.close();
  }

  async restart(): Promise<void> {
    this.#server = await serve(this.store, { port: this.port });
  }

  async close(): Promise<void> {
    await this.stop();
    await this.store.close();
  }

  /** The RowKeys that the remote has. */
  async rows(table: string): Promise<string> {
    const rows: string[] = [];
    for await (const { rowKey } of this.store.table(table).listEntities())
      rows.push(String(rowKey));
    return rows.join();
  }
}

export const write = (page: Page, table: string, rowKey: string, more: object = {}) =>
  page.evaluate(
    async ([table, rowKey, more]) => {
      const { store } = globalThis as unknown as Application;
      await store.table(table).upsertEntity({ partitionKey: "p", rowKey, ...more });
    },
    [table, rowKey, more] as const,
  );

/** The RowKeys that the page's store has. */
export const rowsOf = (page: Page, table: string) =>
  page.evaluate(async (name) => {
    const { store } = globalThis as unknown as Application;
    const rows: string[] = [];
    for await (const { rowKey } of store.table(name).listEntities()) rows.push(String(rowKey));
    return rows.join();
  }, table);

export const statusOf = (page: Page) =>
  page.evaluate(() => {
    const { pending, phase, online } = (globalThis as unknown as Application).sync.status;
    return { pending, phase, online };
  });
