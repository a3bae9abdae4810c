// The backend of the tests: the mock store, in the process of the tests, or Azurite. The
// environment variable TABLES selects it. Only this file reads the variable.
//
//   npm test                  the mock store; no server is started
//   npm run test:azurite      a running Azurite, at the URL in AZURITE_TABLES

import {
  AzureNamedKeyCredential,
  generateAccountSas,
  generateTableSas,
  TableClient,
  TableServiceClient,
  type TableServiceClientOptions,
} from "@azure/data-tables";
import { serve } from "entitable/server";
import { type Faults, type MockOptions, type MockStore, mockStore } from "entitable/testing";
import type { NewItem, Session } from "../src/list.ts";

/** An isolated table for one test. */
export interface Backend {
  /** Returns a session whose signature expires after `lifetimeMs`. */
  session(lifetimeMs: number): Session;
  /** Further options for clients in this process. Clients in a page need none. */
  readonly options: TableServiceClientOptions;
  put(items: NewItem[]): Promise<void>;
  /** Injects faults; undefined if the backend can't do that. */
  readonly faults?: Faults;
  /** Advances the time: the mock store's clock, or by waiting. */
  advanceTime(ms: number): Promise<void>;
  close(): Promise<void>;
}

export const onAzurite = process.env["TABLES"] === "azurite";

export const account = "devstoreaccount1";
const key =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const credential = new AzureNamedKeyCredential(account, key);
const row = (item: NewItem) => ({
  partitionKey: "shopping",
  rowKey: item.name.toLowerCase(),
  done: false,
  ...item,
});

// ---- The mock store -----------------------------------------------------------------------------

/** The initial state of every test. */
export const mockOptions: MockOptions = {
  account: { name: account, keys: [key], authorize: true, permissiveCors: true },
  fixtures: { lists: [] },
};

/** A backend on `store`, which it owns: each test passes a fork. */
export function mock(store: MockStore, endpoint = `http://127.0.0.1:10002/${account}`): Backend {
  const table = "lists";
  return {
    session(lifetimeMs) {
      const permissions = { query: true, add: true, update: true };
      const expiresOn = new Date(store.clock.now() + lifetimeMs);
      const sas = generateTableSas(table, credential, { permissions, expiresOn });
      return { endpoint, table, sas };
    },
    options: { httpClient: store.httpClient, retryOptions: { maxRetryDelayInMs: 1 } },
    faults: store.faults,
    put: (items) => store.seed({ [table]: items.map(row) }),
    advanceTime: async (ms) => store.clock.advance(ms),
    close: () => store.close(),
  };
}

// ---- Azurite ------------------------------------------------------------------------------------

/** A backend on Azurite, with a new table, because a server has no forks. */
export async function azurite(): Promise<Backend> {
  const endpoint = process.env["AZURITE_TABLES"] ?? `http://127.0.0.1:10002/${account}`;
  const options = { allowInsecureConnection: true };
  const anyOrigin = {
    allowedOrigins: "*",
    allowedMethods: "GET,POST,PUT,PATCH,DELETE",
    allowedHeaders: "*",
    exposedHeaders: "*",
    maxAgeInSeconds: 60,
  };
  await new TableServiceClient(endpoint, credential, options).setProperties({ cors: [anyOrigin] });
  const name = `lists${crypto.randomUUID().replaceAll("-", "")}`;
  const table = new TableClient(endpoint, name, credential, options);
  await table.createTable();
  return {
    session(lifetimeMs) {
      // An account SAS with all permissions: Azurite rejects transactions with a table SAS, or with
      // fewer permissions.
      const permissions = {
        query: true,
        add: true,
        create: true,
        update: true,
        delete: true,
        write: true,
      };
      const expiresOn = new Date(Date.now() + lifetimeMs);
      const sas = generateAccountSas(credential, { permissions, expiresOn, resourceTypes: "sco" });
      return { endpoint, table: name, sas };
    },
    options: {},
    put: async (items) =>
      void (await table.submitTransaction(items.map((item) => ["create", row(item)]))),
    advanceTime: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    close: () => table.deleteTable(),
  };
}

// ---- Selecting the backend ----------------------------------------------------------------------

const origin = onAzurite ? undefined : mockStore(mockOptions);

/** Creates the backend for one test. */
export async function newBackend(): Promise<Backend> {
  return origin === undefined ? azurite() : mock((await origin).fork());
}

/** Creates a backend that pages reach over the network, for one test. */
export async function newServedBackend(): Promise<Backend> {
  if (onAzurite) return azurite();
  const store = await mockStore({ ...mockOptions, clock: Date });
  const server = await serve(store, { port: 0 });
  const backend = mock(store, `${server.url}/${account}`);
  const close = async () => {
    await server.close();
    await backend.close();
  };
  return { ...backend, close };
}
