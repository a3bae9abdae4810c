// Runs the unmodified official client over store.httpClient: all of its methods, and further
// requests that the transport accepts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import {
  AzureNamedKeyCredential,
  TableClient,
  TableServiceClient,
  TableTransaction,
} from "@azure/data-tables";
import type { Store } from "../../web/src/types.ts";
import { openStore } from "./support/package.ts";
import { describeSurface, environmentWithKey } from "./support/sdk-environments.ts";
import { runCheck } from "./support/sdk-surface/index.ts";

// The methods of the client's classes that the suite has called so far.
const called = new Set<string>();
const classes = { TableClient, TableServiceClient, TableTransaction };

for (const [name, { prototype }] of Object.entries(classes)) {
  spy(name, prototype);
  spy(name, classes[name as keyof typeof classes]);
}

function spy(name: string, object: object): void {
  for (const [method, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
    if (typeof value !== "function" || method === "constructor") continue;
    const spied = function (this: unknown, ...given: unknown[]) {
      called.add(`${name}.${method}`);
      return value.apply(this, given);
    };
    Object.defineProperty(object, method, { value: spied });
  }
}

// Reads the methods of a class from its declarations: "    method<T>(…): …;".
function publicMethods(name: string): string[] {
  const file = import.meta.resolve(`@azure/data-tables`).replace(/index\.js$/, `${name}.d.ts`);
  const [, body] = readFileSync(new URL(file), "utf8").split(`export declare class ${name} {`);
  const methods = body?.split("\n}")[0]?.matchAll(/^ {4}(?:static )?(\w+)[<(]/gm) ?? [];
  return [...new Set([...methods].map(([, method]) => `${name}.${method}`))].filter(
    (method) => !method.endsWith(".constructor"),
  );
}

describeSurface("the official client over store.httpClient", "node", async () => {
  const key = new AzureNamedKeyCredential("acct", "a2V5");
  const account = { name: key.name, authorize: true, keys: [key.key] };
  const store = await openStore({ persistence: "memory", account });
  const endpoint = "https://acct.table.core.windows.net";
  const { httpClient } = store;
  const place = environmentWithKey("node", { endpoint, options: { httpClient } }, key);
  return { run: (check) => runCheck(check, place), close: () => store.close() };
});

for (const name of Object.keys(classes)) {
  test(`the suite calls every method of ${name}`, () => {
    const methods = publicMethods(name);
    assert(methods.length >= 4);
    assert.deepEqual(
      methods.filter((method) => !called.has(method)),
      [],
    );
  });
}

const endpoint = "http://127.0.0.1:10002/devstoreaccount1";

describe("store.httpClient", () => {
  let store: Store;
  before(async () => {
    store = await openStore({ persistence: "memory", name: "devstoreaccount1" });
  });
  after(() => store.close());

  test("accepts a body of every type", async () => {
    const { httpClient } = store;
    const options = { httpClient, allowInsecureConnection: true };
    const table = new TableClient(endpoint, "bodies", options);
    await table.createTable();
    const text = (row: number) =>
      JSON.stringify({ PartitionKey: "p", RowKey: `${row}`, u: "\u20ac" });
    const bodies: unknown[] = [
      text(0),
      Buffer.from(text(1)),
      new TextEncoder().encode(text(2)).buffer,
      new Blob([text(3)]),
      new Blob([text(4)]).stream(),
      () => new Blob([text(5)]).stream(),
      Readable.from([text(6).slice(0, 10), Buffer.from(text(6).slice(10))]),
      () => Readable.from([text(7)]),
    ];
    for (const body of bodies) {
      let uploaded = 0;
      const { status, headers, request } = await httpClient.sendRequest({
        url: `${endpoint}/${table.tableName}`,
        method: "POST",
        headers: [["Content-Type", "application/json"]],
        body,
        onUploadProgress: ({ loadedBytes }) => {
          uploaded = loadedBytes;
        },
      });
      assert.equal(status, 201);
      assert.equal(headers.get("ETag"), headers.toJSON().etag);
      assert(headers.has("x-ms-request-id") && request.body === body && uploaded > 40);
    }
    let stored = 0;
    for await (const { u } of table.listEntities()) {
      assert.equal(u, "\u20ac");
      ++stored;
    }
    assert.equal(stored, bodies.length);
    await assert.rejects(
      httpClient.sendRequest({ url: endpoint, method: "POST", headers: [], body: 5n }),
    );
  });
});
