// Runs parity() of entitable/testing against Azurite. It must report exactly the deviations that
// are known.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AzureNamedKeyCredential,
  TableClient,
  TableServiceClient,
  type TableServiceClientOptions,
} from "@azure/data-tables";
import type { ParityDifference, ParityScript } from "../../web/src/testing/index.ts";
import { packageFolder } from "../web/support/package.ts";
import { spawnAzurite } from "./backends.ts";
import { account, key } from "./sign.ts";

type Testing = typeof import("../../web/src/testing/index.ts");
const testing = new URL("dist/testing/index.js", packageFolder).href;
const { mockStore, parity }: Testing = await import(testing);

const script: ParityScript = async ({ url, httpClient, fetch }) => {
  const credential = new AzureNamedKeyCredential(account, key);
  const options: TableServiceClientOptions = { httpClient, allowInsecureConnection: true };
  const service = new TableServiceClient(url, credential, options);
  const table = new TableClient(url, "parity", credential, options);
  await table.createTable();
  await table.createEntity({
    partitionKey: "p",
    rowKey: "a",
    name: "Ann",
    big: 12n,
    ratio: 1.5,
    whole: { type: "Double", value: 3 },
    when: new Date("2020-02-02T02:02:02.002Z"),
    bytes: new Uint8Array([1, 2, 3]),
    done: true,
  });
  const { etag } = await table.getEntity("p", "a");
  await table.getEntity("p", "a", { queryOptions: { select: ["name", "absent"] } });
  await table.updateEntity({ partitionKey: "p", rowKey: "a", age: 7 }, "Merge", { etag });
  await table.updateEntity({ partitionKey: "p", rowKey: "a" }, "Merge", { etag }).catch(() => {});
  await table.submitTransaction(
    ["b", "c", "d"].map((rowKey) => ["create", { partitionKey: "p", rowKey, n: 1 }]),
  );
  await table.createEntity({ partitionKey: "p", rowKey: "b" }).catch(() => {});
  for await (const _ of table.listEntities().byPage({ maxPageSize: 2 }));
  const filtered = { queryOptions: { filter: "n eq 1 and RowKey gt 'b'" } };
  for await (const _ of table.listEntities(filtered));
  for await (const _ of service.listTables());
  await table.deleteEntity("p", "d");
  await table.deleteEntity("p", "d").catch(() => {});
  await fetch(`${url}/parity()`); // without credentials
  await table.deleteTable();
  await table.getEntity("p", "a");
};

// The known deviations, by the row in README.md or the section of core/rest/SERVICE.md, and the
// differences that each explains. Any other difference fails the test.
const deviations: Record<string, (difference: ParityDifference) => boolean> = {
  "row 1: odata.metadata of a list, and of a selection": ({ kind, path }) =>
    kind === "body" && path === "odata.metadata",
  "row 3: Location, DataServiceId, Preference-Applied": ({ kind, path = "" }) =>
    (kind === "header" || kind === "body") &&
    /(?:^|\.headers\.)(?:location|dataserviceid|preference-applied)$/.test(path),
  "row 4: x-ms-version": ({ path = "" }) => path.endsWith("x-ms-version"),
  "row 5: Content-Type without streaming and charset": ({ path = "", mock, real }) =>
    path.endsWith("content-type") &&
    (real === undefined || mock === undefined || String(mock).startsWith(`${real};`)),
  "row 10: $select of an absent property": ({ kind, path }) => kind === "body" && path === "absent",
  "row 23: without credentials": ({ request }) => request.endsWith("/parity()"),
  "SERVICE.md §2.5: x-ms-client-request-id not always echoed": ({ path, real }) =>
    path === "x-ms-client-request-id" && real === undefined,
  "SERVICE.md §2.5: x-content-type-options, dataserviceversion, cache-control": ({ path = "" }) =>
    /(?:^|\.headers\.)(?:x-content-type-options|dataserviceversion|cache-control)$/.test(path),
};

test("parity() with Azurite reports the known deviations and nothing else", async (t) => {
  const { child, base } = await spawnAzurite();
  t.after(() => child.kill("SIGKILL"));
  await using mock = await mockStore({
    account: { name: account, keys: [key], authorize: true },
    clock: Date,
  });
  const { requests, differences } = await parity(script, { mock, real: { url: base } });
  const unexplained = differences.filter(
    (difference) => !Object.values(deviations).some((explains) => explains(difference)),
  );
  t.diagnostic(`${requests} requests, ${differences.length} differences`);
  assert.deepEqual(unexplained, []);
  for (const [name, explains] of Object.entries(deviations)) {
    assert(differences.some(explains), `${name}: did not occur`);
  }
  assert.equal(requests, 17);
});
