// The official client, unmodified, over store.httpClient.

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import {
  type Edm,
  odata,
  TableClient,
  TableServiceClient,
  type TableTransactionResponse,
  type TransactionAction,
} from "@azure/data-tables";
import type { Store } from "../../web/src/types.ts";
import { openStore } from "./support/package.ts";

const endpoint = "http://127.0.0.1:10002/devstoreaccount1";

let store: Store;
let service: TableServiceClient;
const options = () => ({ httpClient: store.httpClient, allowInsecureConnection: true });
const client = (name: string) => new TableClient(endpoint, name, options());

before(async () => {
  store = await openStore({ persistence: "memory", name: "devstoreaccount1" });
  service = new TableServiceClient(endpoint, options());
});
after(() => store.close());

let tables = 0;
async function newTable(): Promise<TableClient> {
  const table = client(`t${++tables}xx`);
  await table.createTable();
  return table;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of items) out.push(item);
  return out;
}

const refused = (statusCode: number, code: string) => (error: unknown) => {
  const {
    name,
    statusCode: status,
    details,
  } = error as {
    name: string;
    statusCode: number;
    details: { odataError?: { code: string } };
  };
  assert.deepEqual([name, status, details.odataError?.code], ["RestError", statusCode, code]);
  return true;
};

describe("the official client: tables", () => {
  test("are created, listed page by page, filtered and deleted", async () => {
    const names = ["listA", "listB", "listC"];
    for (const name of names) await service.createTable(name);
    await service.createTable("listA"); // the client swallows TableAlreadyExists
    const filter = odata`TableName ge ${"listA"} and TableName lt ${"listD"}`;
    const listed = await all(service.listTables({ queryOptions: { filter } }));
    assert.deepEqual(
      listed.map(({ name }) => name),
      names,
    );
    const pages = await all(
      service.listTables({ queryOptions: { filter } }).byPage({ maxPageSize: 2 }),
    );
    assert.deepEqual(
      pages.map((page) => page.length),
      [2, 1],
    );
    for (const name of names) await service.deleteTable(name);
    await service.deleteTable("listA"); // and ResourceNotFound
    assert.deepEqual(await all(service.listTables({ queryOptions: { filter } })), []);
  });
});

describe("the official client: entities", () => {
  test("go through their whole life", async () => {
    const table = await newTable();
    const key = { partitionKey: "o'x", rowKey: "\u00fc 1/%&+".replace("/", "") };
    const created = await table.createEntity({ ...key, a: 1, b: "x" });
    assert.equal(created.preferenceApplied, "return-no-content");
    const read = await table.getEntity(key.partitionKey, key.rowKey);
    assert.equal(read.etag, created.etag);
    assert.deepEqual(
      [read.partitionKey, read.rowKey, read.a, read.b],
      [...Object.values(key), 1, "x"],
    );
    await table.updateEntity({ ...key, a: 2 }, "Merge", { etag: read.etag });
    const merged = await table.getEntity(key.partitionKey, key.rowKey);
    assert.deepEqual([merged.a, merged.b], [2, "x"]);
    await table.upsertEntity({ ...key, c: true }, "Replace");
    const replaced = await table.getEntity(key.partitionKey, key.rowKey);
    assert.deepEqual([replaced.a, replaced.c], [undefined, true]);
    await table.upsertEntity({ ...key, a: 3 }, "Merge");
    await table.updateEntity({ ...key, d: 1 }, "Replace");
    await table.deleteEntity(key.partitionKey, key.rowKey);
    await assert.rejects(
      table.getEntity(key.partitionKey, key.rowKey),
      refused(404, "ResourceNotFound"),
    );
  });

  test("keep every type of value", async () => {
    const table = await newTable();
    const guid: Edm<"Guid"> = { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" };
    const values = {
      text: "\u20ac \ud83d\ude00 \"'\\ \n",
      empty: "",
      yes: true,
      no: false,
      int32: -5,
      half: 0.5,
      int64: 9223372036854775807n,
      date: new Date("2024-01-02T03:04:05.678Z"),
      bytes: Buffer.from([0, 1, 255]),
      guid,
    };
    await table.createEntity({
      partitionKey: "p",
      rowKey: "r",
      ...values,
      whole: { type: "Double", value: "3" },
      nan: { type: "Double", value: "NaN" },
    });
    const read = await table.getEntity<Record<string, unknown>>("p", "r");
    for (const [name, value] of Object.entries(values)) assert.deepEqual(read[name], value, name);
    assert.equal(read.whole, 3);
    const typed = await table.getEntity("p", "r", { disableTypeConversion: true });
    assert.deepEqual(typed.int64, { type: "Int64", value: "9223372036854775807" });
    assert.deepEqual(typed.nan, { type: "Double", value: "NaN" });
  });

  test("are paged across partitions and resumed by a token", async () => {
    const table = await newTable();
    const keys: string[] = [];
    for (const partitionKey of ["", "a", "b"]) {
      for (let row = 0; row < 7; ++row) {
        await table.createEntity({ partitionKey, rowKey: `${row}` });
        keys.push(`${partitionKey}${row}`);
      }
    }
    const keyOf = (e: { partitionKey?: string; rowKey?: string }) => `${e.partitionKey}${e.rowKey}`;
    assert.deepEqual((await all(table.listEntities())).map(keyOf), keys);
    const seen: string[] = [];
    let continuationToken: string | undefined;
    let pages = 0;
    do {
      const iterator = table.listEntities().byPage({ maxPageSize: 4, continuationToken });
      const { value } = await iterator.next();
      seen.push(...value.map(keyOf));
      continuationToken = value.continuationToken;
      ++pages;
    } while (continuationToken !== undefined);
    assert.deepEqual(seen, keys);
    assert.equal(pages, 6);
  });

  test("are filtered and selected", async () => {
    const table = await newTable();
    for (let v = 0; v < 5; ++v) {
      await table.createEntity({ partitionKey: "p", rowKey: `${v}`, v, name: `it's ${v}` });
    }
    const filter = odata`v gt ${1} and name ne ${"it's 3"}`;
    const select = ["rowKey", "v", "absent"];
    const found = await all(table.listEntities({ queryOptions: { filter, select } }));
    assert.deepEqual(
      found.map(({ rowKey, v, absent, name }) => [rowKey, v, absent, name]),
      [
        ["2", 2, null, undefined],
        ["4", 4, null, undefined],
      ],
    );
  });

  test("are refused with the service's errors", async () => {
    const table = await newTable();
    const entity = { partitionKey: "p", rowKey: "r" };
    const { etag } = await table.createEntity(entity);
    await assert.rejects(table.createEntity(entity), refused(409, "EntityAlreadyExists"));
    await table.updateEntity(entity);
    await assert.rejects(
      table.updateEntity(entity, "Merge", { etag }),
      refused(412, "UpdateConditionNotSatisfied"),
    );
    await assert.rejects(client("nowhere").createEntity(entity), refused(404, "TableNotFound"));
    await assert.rejects(
      all(table.listEntities({ queryOptions: { filter: "v eq" } })),
      refused(400, "InvalidInput"),
    );
    await assert.rejects(
      table.createEntity({ ...entity, rowKey: "a/b" }),
      refused(400, "OutOfRangeInput"),
    );
  });
});

describe("the official client: transactions", () => {
  const entity = (rowKey: string, more: object = {}) => ({ partitionKey: "p", rowKey, ...more });

  test("do all kinds of operations, and say the ETag of each", async () => {
    const table = await newTable();
    for (const row of ["1", "2", "3"]) await table.createEntity(entity(row, { a: 1, b: 1 }));
    const actions: TransactionAction[] = [
      ["create", entity("0", { name: "o'x" })],
      ["update", entity("1", { a: 2 }), "Merge"],
      ["update", entity("2", { a: 2 }), "Replace"],
      ["delete", entity("3")],
      ["upsert", entity("4"), "Merge"],
      ["upsert", entity("5"), "Replace"],
    ];
    const result: TableTransactionResponse = await table.submitTransaction(actions);
    assert.equal(result.status, 202);
    assert.deepEqual(
      result.subResponses.map(({ status }) => status),
      actions.map(() => 204),
    );
    assert.equal(result.getResponseForEntity("0")?.rowKey, "0");
    const after = await all(table.listEntities());
    assert.deepEqual(
      after.map(({ rowKey, a, b }) => [rowKey, a, b]),
      [
        ["0", undefined, undefined],
        ["1", 2, 1],
        ["2", 2, undefined],
        ["4", undefined, undefined],
        ["5", undefined, undefined],
      ],
    );
    const etags = result.subResponses.map(({ etag }) => etag).filter((etag) => etag !== undefined);
    assert.deepEqual(
      etags,
      after.map(({ etag }) => etag),
    );
  });

  test("fail whole, with the index of the operation that failed", async () => {
    const table = await newTable();
    await table.createEntity(entity("1"));
    const failing = table.submitTransaction([
      ["create", entity("0")],
      ["create", entity("1")],
      ["create", entity("2")],
    ]);
    await assert.rejects(
      failing,
      (error: { statusCode: number; code: string; message: string }) => {
        assert.equal(error.statusCode, 409);
        assert.equal(error.code, "EntityAlreadyExists");
        assert.match(error.message, /^1:The specified entity already exists\./);
        return true;
      },
    );
    assert.equal((await all(table.listEntities())).length, 1);
  });

  test("have at most 100 operations", async () => {
    const table = await newTable();
    const actions = (count: number): TransactionAction[] =>
      Array.from({ length: count }, (_, i) => ["create", entity(`${i}`)]);
    await assert.rejects(table.submitTransaction(actions(101)), {
      statusCode: 400,
      code: "InvalidInput",
    });
    const { subResponses } = await table.submitTransaction(actions(100));
    assert.equal(subResponses.length, 100);
  });
});

describe("store.httpClient", () => {
  test("takes a body of every type", async () => {
    const table = await newTable();
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
      const { status, headers, request } = await store.httpClient.sendRequest({
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
    const stored = await all(table.listEntities());
    assert.deepEqual(
      stored.map(({ u }) => u),
      bodies.map(() => "\u20ac"),
    );
    await assert.rejects(
      store.httpClient.sendRequest({ url: endpoint, method: "POST", headers: [], body: 5n }),
    );
  });

  test("is aborted like any transport", async () => {
    const table = await newTable();
    const abortSignal = AbortSignal.abort();
    await assert.rejects(table.createEntity({ partitionKey: "p", rowKey: "r" }, { abortSignal }), {
      name: "AbortError",
    });
    assert.deepEqual(await all(table.listEntities()), []);
  });
});
