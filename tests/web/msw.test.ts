// Tests entitable/msw with Mock Service Worker's server in Node, and with the official client on
// its own transport.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  AzureNamedKeyCredential,
  type RestError,
  TableClient,
  TableServiceClient,
} from "@azure/data-tables";
import { getResponse, HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { mockStore } from "../../web/src/testing/index.ts";
import type { Store } from "../../web/src/types.ts";
import { openStore } from "./support/package.ts";
import { newProject } from "./support/project.ts";

// The project in which the peer dependency is installed.
const project = newProject(["msw"]);
after(() => rmSync(project, { recursive: true }));
const entry = pathToFileURL(join(project, "node_modules/entitable/dist/msw.js")).href;
const { handlers }: typeof import("../../web/src/msw.ts") = await import(entry);

const key = "a2V5IG9mIHRoZSBzaG9w";
const credential = new AzureNamedKeyCredential("shop", key);
const endpoint = "https://shop.table.core.windows.net";
const emulator = "http://127.0.0.1:10002/shop";
const retryOptions = { maxRetries: 0 };

let store: Store;
const server = setupServer();

before(() => server.listen({ onUnhandledFrame: "error" }));
after(() => server.close());
beforeEach(async () => {
  const account = { name: "shop", keys: [key], authorize: true };
  store = await openStore({ persistence: "memory", account });
});
afterEach(async () => {
  server.resetHandlers();
  await store.close();
});

describe("entitable/msw", () => {
  test("answers a client of the emulator's account from a mock store", async () => {
    await using mock = await mockStore({
      fixtures: { people: [{ partitionKey: "p", rowKey: "r" }] },
    });
    server.use(...handlers(mock));
    const options = { allowInsecureConnection: true, retryOptions };
    const people = TableClient.fromConnectionString(
      "UseDevelopmentStorage=true",
      "people",
      options,
    );
    assert.equal((await people.getEntity("p", "r")).rowKey, "r");
  });

  test("answers the official client, including signed requests", async () => {
    server.use(...handlers(store));
    const table = new TableClient(endpoint, "lamps", credential);
    await table.createTable();
    await table.submitTransaction(
      Array.from({ length: 7 }, (_, i) => [
        "create",
        { partitionKey: "desk", rowKey: `${i}`, name: "l\u00e4mp" },
      ]),
    );
    await table.updateEntity({ partitionKey: "desk", rowKey: "3", stock: 1 });
    await table.deleteEntity("desk", "4"); // the response is 204 and has no body
    const pages: unknown[] = [];
    for await (const page of table.listEntities().byPage({ maxPageSize: 4 })) {
      pages.push(page.map(({ rowKey, name, stock }) => [rowKey, name, stock].join(" ").trim()));
    }
    const lamp = (row: number) => `${row} l\u00e4mp`;
    assert.deepEqual(pages, [
      [lamp(0), lamp(1), lamp(2), `${lamp(3)} 1`],
      [lamp(5), lamp(6)],
    ]);
    const stranger = new AzureNamedKeyCredential("shop", "d3Jvbmc=");
    const unauthorized = new TableClient(endpoint, "lamps", stranger).getEntity("desk", "1");
    await assert.rejects(unauthorized, { statusCode: 403 });
    assert.equal((await store.stats()).rows, 6);
  });

  test("answers at the emulator's port on any host", async () => {
    server.use(...handlers(store));
    const service = new TableServiceClient(emulator, credential, { allowInsecureConnection: true });
    await service.createTable("lamps");
    const unsigned = await fetch("http://localhost:10002/shop/Tables");
    assert.equal(unsigned.status, 403);
    assert.match(unsigned.headers.get("x-ms-request-id") ?? "", /^[\da-f-]{36}$/);
    const { length } = await unsigned.text();
    assert.equal(unsigned.headers.get("content-length"), `${length}`);
  });

  test("answers at baseUrl and nowhere else", async () => {
    for (const baseUrl of [
      "https://tables.test/shop",
      "https://tables.test/shop/",
      /tables\.test/,
    ]) {
      const elsewhere = http.all("*", () => new HttpResponse("elsewhere", { status: 418 }));
      server.resetHandlers(...handlers(store, { baseUrl }), elsewhere);
      const status = async (url: string) => (await fetch(url)).status;
      assert.equal(await status("https://tables.test/shop/Tables?$top=1"), 403, `${baseUrl}`);
      assert.equal(await status("https://tables.test/shop?restype=service&comp=properties"), 403);
      assert.equal(await status(`${endpoint}/Tables`), 418);
      if (typeof baseUrl === "string") {
        assert.equal(await status("https://tables.test/shopping/Tables"), 418);
        assert.equal(await status("https://tablesxtest/shop/Tables"), 418);
      }
    }
    assert.throws(() => handlers(store, { baseUrl: "/shop" }), { code: "ValidationFailed" });
  });

  test("passes the store's own downloads on to the network, whatever else it answers", async () => {
    const all = handlers(store, { baseUrl: /./ });
    const said = async (url: URL) =>
      (await getResponse(all, new Request(url)))?.headers.get("x-msw-intention");
    for (const name of ["rest", "live", "snapshot", "sync"]) {
      const module = new URL(`wasm/entitable.${name}.wasm`, entry);
      assert.equal(await said(module), "passthrough");
      assert.equal(await said(new URL("?v=1", module)), "passthrough");
      assert.equal(await said(new URL(`entitable.${name}.css`, module)), null);
    }
  });

  test("reports a closed store as a busy service does", async () => {
    server.use(...handlers(store));
    await store.close();
    const table = new TableClient(endpoint, "lamps", credential, { retryOptions });
    await assert.rejects(table.getEntity("p", "r"), (error: RestError) => {
      assert.equal(error.statusCode, 503);
      assert.match(error.message, /ServerBusy.*is closed/);
      return true;
    });
  });
});

test("a simulated network failure reaches the handlers' callers", async () => {
  await using mock = await mockStore({
    name: "shop",
    fixtures: { lamps: [{ partitionKey: "desk", rowKey: "1" }] },
    faults: [{ on: "get", network: "reset", times: 1 }],
  });
  server.use(...handlers(mock));
  const lamp = `${endpoint}/lamps(PartitionKey='desk',RowKey='1')`;
  await assert.rejects(fetch(lamp), { name: "TypeError" });
  assert.equal((await fetch(lamp)).status, 200);
});

test("a truncated response reaches the handlers' callers", async () => {
  await using mock = await mockStore({
    name: "shop",
    fixtures: { lamps: [{ partitionKey: "desk", rowKey: "1" }] },
    faults: [{ on: "*", network: "truncate" }],
  });
  server.use(...handlers(mock));
  const lamp = `${endpoint}/lamps(PartitionKey='desk',RowKey='1')`;
  const truncated = await fetch(lamp);
  assert.equal(truncated.status, 200);
  await assert.rejects(truncated.text(), { name: "TypeError" });
  const table = new TableClient(endpoint, "lamps", credential, { retryOptions });
  await assert.rejects(table.getEntity("desk", "1"), { code: "PARSE_ERROR" });
  await assert.rejects(table.deleteEntity("desk", "1"), { name: "RestError" });
  assert.equal((await mock.stats()).rows, 0);
});
