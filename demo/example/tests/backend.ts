// What answers the tests: the mock, in the test's own process, or Azurite. TABLES says which, and this is the one place that
// reads it; no test does.
//
//   npm test                  the mock: nothing is started
//   npm run test:azurite      an Azurite that runs already, at AZURITE_TABLES

import {
  AzureNamedKeyCredential,
  generateAccountSas,
  generateTableSas,
  TableClient,
  TableServiceClient,
  type TableServiceClientOptions,
} from "@azure/data-tables";
import { type Faults, type MockOptions, type MockStore, mockStore } from "entitable/testing";
import type { NewItem, Session } from "../src/list.ts";

/** Tables of a test's own, and a table in them. */
export interface Backend {
  /** A signature for so long, from now on. */
  session(lifetimeMs: number): Session;
  /** What the app's clients need besides, in this process. Pages need nothing. */
  readonly options: TableServiceClientOptions;
  put(items: NewItem[]): Promise<void>;
  /** What makes requests fail, where that can be had. */
  readonly faults?: Faults;
  /** Time passes. */
  pass(ms: number): Promise<void>;
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

// ---- The mock -----------------------------------------------------------------------------------

/** What every test begins with. */
export const mockOptions: MockOptions = {
  account: { name: account, keys: [key], authorize: true, permissiveCors: true },
  fixtures: { lists: [] },
};

/** For a store that is the test's own: a fork. */
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
    pass: async (ms) => store.clock.advance(ms),
    close: () => store.close(),
  };
}

// ---- Azurite ------------------------------------------------------------------------------------

/** A table of its own, as a server has no forks. */
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
      // Of the account: with one of a table Azurite refuses transactions, and with fewer
      // permissions too.
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
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    close: () => table.deleteTable(),
  };
}

// ---- The switch ---------------------------------------------------------------------------------

const origin = onAzurite ? undefined : mockStore(mockOptions);

/** For each test of a file. */
export async function newBackend(): Promise<Backend> {
  return origin === undefined ? azurite() : mock((await origin).fork());
}
