// Tests the clients of entitable/data-tables: which store they use, what they reject, and the
// operations that use the REST entry point.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as official from "@azure/data-tables";
import type { Store } from "../../web/src/types.ts";
import { all } from "./support/client-pair.ts";
import { dataTables } from "./support/data-tables.ts";
import { openStore } from "./support/package.ts";

const { TableClient, TableServiceClient, registerAccount, setDefaultStore } = dataTables;
const azure = (account: string) => `https://${account}.table.core.windows.net`;
const entity = { partitionKey: "p", rowKey: "r" };

test("the entry exports the official names and its own", () => {
  const expected = [...Object.keys(official), "edm", "registerAccount", "setDefaultStore"];
  assert.deepEqual(Object.keys(dataTables).sort(), expected.sort());
  assert.deepEqual(
    { ...dataTables.KnownGeoReplicationStatusType },
    { ...official.KnownGeoReplicationStatusType },
  );
});

// Returns the names of the tables that a client lists.
async function tablesOf(url: string, ...rest: object[]): Promise<(string | undefined)[]> {
  const client = new TableServiceClient(url, ...(rest as [{ endpoint?: string }]));
  return (await all(client.listTables())).map(({ name }) => name);
}

async function storeWith(table: string): Promise<Store> {
  const store = await openStore({ persistence: "memory" });
  await store.serviceClient().createTable(table);
  return store;
}

describe("a client finds its store", () => {
  const token = { getToken: async () => null };
  let own: Store;
  let registered: Store;
  let other: Store;
  before(async () => {
    [own, registered, other] = (await Promise.all(
      ["own", "registered", "other"].map(storeWith),
    )) as [Store, Store, Store];
  });
  after(async () => {
    for (const store of [own, registered, other]) await store.close();
  });

  // Must be the first test, because a default store can be replaced but not removed.
  test("by default: one named after the account, with its data", async () => {
    for (const url of [
      azure("lonely"),
      "http://127.0.0.1:10002/lonely",
      "http://localhost:10002/lonely/",
      "http://[::1]:10002/lonely",
      "https://lonely-secondary.table.core.windows.net",
    ]) {
      const client = new TableServiceClient(url);
      if (!url.includes("secondary")) await client.createTable("mine");
      assert.deepEqual(await tablesOf(url), ["mine"]);
    }
    assert.deepEqual(await tablesOf(azure("lonelier")), []);
  });

  test("not for a URL without an account, and not for a token credential", async () => {
    const notSupported = { name: "StoreError", code: "NotSupported", hint: /store\.httpClient/ };
    await assert.rejects(tablesOf("https://example.com/acct"), notSupported);
    await assert.rejects(tablesOf(azure("remote"), token), notSupported);
  });

  test("by registration, until it is removed", async () => {
    const unregister = registerAccount("acct", Promise.resolve(registered));
    assert.deepEqual(await tablesOf(azure("acct")), ["registered"]);
    assert.deepEqual(await tablesOf(azure("acct"), token), ["registered"]);
    const again = registerAccount("acct", other);
    unregister(); // removes the registration of the store that was replaced
    assert.deepEqual(await tablesOf("http://127.0.0.1:10002/acct"), ["other"]);
    again();
    assert.deepEqual(await tablesOf(azure("acct")), []);
  });

  test("by its own option first", async () => {
    const unregister = registerAccount("acct", registered);
    assert.deepEqual(await tablesOf(azure("acct"), { store: own }), ["own"]);
    assert.deepEqual(await tablesOf(azure("acct"), token, { store: Promise.resolve(own) }), [
      "own",
    ]);
    assert.deepEqual(await tablesOf("https://example.com", { endpoint: azure("acct") }), [
      "registered",
    ]);
    unregister();
  });

  test("by a default, which may change between calls", async () => {
    const client = new TableServiceClient("https://example.com");
    setDefaultStore(other);
    assert.deepEqual((await all(client.listTables())).length, 1);
    setDefaultStore({ persistence: "memory" });
    assert.deepEqual(await all(client.listTables()), []);
    await client.createTable("kept");
    assert.deepEqual(await all(client.listTables()), [{ name: "kept" }]);
  });

  test("at the first call: constructing a client does nothing", async () => {
    setDefaultStore({ name: "not a name" });
    const client = new TableClient(azure("acct"), "people");
    await assert.rejects(client.getEntity("p", "r"), { code: "ValidationFailed" });
    await assert.rejects(client.getEntity("p", "r"), { code: "ValidationFailed" });
    setDefaultStore(own);
    await assert.rejects(client.getEntity("p", "r"), { code: "TableNotFound" });
  });
});

describe("options of HTTP requests are rejected", () => {
  const notSupported = { name: "StoreError", code: "NotSupported", hint: /store\.httpClient/ };

  test("by the constructors", () => {
    for (const options of [{ httpClient: {} }, { additionalPolicies: [] }, { pipeline: {} }]) {
      const key = new official.AzureNamedKeyCredential("acct", "a2V5");
      assert.throws(() => new TableClient(azure("acct"), "t", options as object), notSupported);
      assert.throws(
        () => new TableClient(azure("acct"), "t", key, options as object),
        notSupported,
      );
      assert.throws(() => new TableServiceClient(azure("acct"), options as object), notSupported);
    }
    new TableServiceClient(azure("acct"), { retryOptions: { maxRetries: 9 }, tlsOptions: {} });
  });

  test("by the clients", async () => {
    const store = await openStore({ persistence: "memory" });
    const table = new TableClient(azure("acct"), "people", { store });
    const service = new TableServiceClient(azure("acct"), { store });
    assert.throws(() => table.pipeline, notSupported);
    assert.throws(() => service.pipeline, notSupported);
    for (const options of [
      { onResponse: () => {} },
      { requestOptions: { customHeaders: { a: "b" } } },
    ] as object[]) {
      await assert.rejects(table.createEntity(entity, options), notSupported);
      await assert.rejects(table.getEntity("p", "r", options), notSupported);
      await assert.rejects(all(table.listEntities(options)), notSupported);
      await assert.rejects(table.setAccessPolicy([], options), notSupported);
      await assert.rejects(service.getProperties(options), notSupported);
    }
    await store.close();
  });
});

describe("an account's secondary endpoint", () => {
  test("is read-only", async () => {
    const store = await storeWith("people");
    const url = "https://acct-secondary.table.core.windows.net";
    const table = new TableClient(url, "people", { store });
    const service = new TableServiceClient(url, { store });
    assert.deepEqual(await tablesOf(url, { store }), ["people"]);
    const readOnly = { statusCode: 403, code: "InsufficientAccountPermissions" };
    await assert.rejects(table.createEntity(entity), readOnly);
    await assert.rejects(table.submitTransaction([["create", entity]]), readOnly);
    await assert.rejects(service.createTable("another"), readOnly);
    await assert.rejects(service.setProperties({}), readOnly);
    await store.close();
  });

  test("has statistics, whichever endpoint is used", async () => {
    const now = Date.UTC(2026, 0, 2, 3, 4, 5);
    const store = await openStore({ persistence: "memory", clock: { now: () => now } });
    for (const url of [azure("acct"), azure("acct-secondary"), "http://127.0.0.1:10002/acct"]) {
      const { geoReplication, date, version } = await new TableServiceClient(url, {
        store,
      }).getStatistics();
      assert.deepEqual(geoReplication, { status: "live", lastSyncTime: new Date(now) });
      assert.deepEqual([date, version], [new Date(now), "2019-02-02"]);
    }
    await store.close();
  });
});

describe("a store that checks signatures", () => {
  test("does not require one from its own page", async () => {
    const account = { name: "127", keys: ["a2V5"], authorize: true, strictDates: true };
    const store = await openStore({ persistence: "memory", account });
    const table = new TableClient(azure("acct"), "people", { store });
    await table.createTable();
    await table.setAccessPolicy([{ id: "x", accessPolicy: { permission: "r" } }]);
    assert.deepEqual(await table.getAccessPolicy(), [
      { id: "x", accessPolicy: { permission: "r" } },
    ]);
    const service = new TableServiceClient(azure("acct"), { store });
    assert.deepEqual((await service.getProperties()).cors, []);
    assert.equal((await service.getStatistics()).geoReplication?.status, "live");
    await store.close();
  });

  test("accepts our signatures from the official client", async () => {
    const key = new dataTables.AzureNamedKeyCredential("acct", "a2V5");
    const account = { name: "acct", keys: [key.key], authorize: true };
    const store = await openStore({ persistence: "memory", account });
    const through = (signature: string) =>
      new official.TableClient(
        azure("acct"),
        "people",
        new official.AzureSASCredential(signature),
        {
          httpClient: store.httpClient,
        },
      );
    const permissions = { write: true, add: true };
    await through(dataTables.generateAccountSas(key, { permissions })).createTable();
    const ranged = { startPartitionKey: "p", endPartitionKey: "p" };
    const writer = through(
      dataTables.generateTableSas("people", key, { permissions: { add: true }, ...ranged }),
    );
    await writer.createEntity(entity);
    await assert.rejects(writer.createEntity({ ...entity, partitionKey: "q" }), {
      statusCode: 403,
    });
    await assert.rejects(writer.getEntity("p", "r"), { statusCode: 403 });
    const reader = through(dataTables.generateTableSas("people", key));
    assert.equal((await reader.getEntity("p", "r")).rowKey, "r");
    await assert.rejects(through("sv=2019-02-02&sig=x").getEntity("p", "r"), { statusCode: 403 });
    await store.close();
  });
});

describe("tokens", () => {
  test("of either client work in the other", async () => {
    const store = await openStore({ name: "acct", persistence: "memory" });
    const theirs = {
      table: new official.TableClient(azure("acct"), "t00", { httpClient: store.httpClient }),
      service: new official.TableServiceClient(azure("acct"), { httpClient: store.httpClient }),
    };
    const ours = {
      table: new TableClient(azure("acct"), "t00", { store }),
      service: new TableServiceClient(azure("acct"), { store }),
    };
    for (let i = 0; i < 5; ++i) {
      await ours.service.createTable(`t0${i}`);
      await ours.table.createEntity({ ...entity, rowKey: `\u00fc${i}'` });
    }
    for (const [first, second] of [
      [theirs, ours],
      [ours, theirs],
    ] as const) {
      const entities = await first.table.listEntities().byPage({ maxPageSize: 2 }).next();
      const { continuationToken } = entities.value;
      const rest = await all(second.table.listEntities().byPage({ continuationToken }));
      assert.deepEqual(rest.flat().length, 3);
      const tables = await first.service.listTables().byPage({ maxPageSize: 2 }).next();
      const tableToken = { continuationToken: tables.value.continuationToken };
      const names = (await all(second.service.listTables().byPage(tableToken))).flat();
      assert.deepEqual(
        names.map(({ name }) => name),
        ["t02", "t03", "t04"],
      );
    }
    await store.close();
  });
});
