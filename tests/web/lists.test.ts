// count(), partitionKeys(), and the options `top` and `order` of listEntities(), in every kind of
// store.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Store, Table } from "../../web/src/index.ts";
import { openStore, packageFolder } from "./support/package.ts";

const { mockStore } = (await import(
  new URL("dist/testing/index.js", packageFolder).href
)) as typeof import("../../web/src/testing/index.ts");

const partitions = ["a", "b", "c"];
const rowsPerPartition = 700;

async function fill(store: Store): Promise<Table<{ n: number }>> {
  const table = store.table<{ n: number }>("rows");
  await table.createTable();
  for (const partitionKey of partitions) {
    await table.bulk(
      Array.from({ length: rowsPerPartition }, (_, n) => {
        const rowKey = String(n).padStart(4, "0");
        return ["create", { partitionKey, rowKey, n }] as const;
      }),
    );
  }
  return table;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

// Checks all methods against lists in ascending order.
async function check(table: Table<{ n: number }>): Promise<void> {
  const filters = [
    undefined,
    "n ge 695",
    "PartitionKey eq 'b'",
    "PartitionKey ge 'b' and RowKey lt '0003'",
    "PartitionKey eq 'b' and RowKey ge '0100' and RowKey lt '0200'",
    "PartitionKey eq 'x'",
  ];
  for (const filter of filters) {
    const queryOptions = filter === undefined ? {} : { filter };
    const rows = await collect(table.listEntities({ queryOptions }));
    assert.equal(await table.count({ queryOptions }), rows.length, `filter: ${filter}`);
    const backwards = await collect(table.listEntities({ queryOptions, order: "desc" }));
    assert.deepEqual(backwards, rows.toReversed(), `filter: ${filter}`);
    const five = await collect(table.listEntities({ queryOptions, order: "desc", top: 5 }));
    assert.deepEqual(five, rows.toReversed().slice(0, 5));
    assert.deepEqual(await collect(table.listEntities({ queryOptions, top: 7 })), rows.slice(0, 7));
  }
  assert.deepEqual(await collect(table.partitionKeys()), partitions);
}

describe("in every kind of store", () => {
  test("in memory", async () => {
    const store = await openStore({ persistence: "memory" });
    await check(await fill(store));
    await store.close();
  });

  test("in a mock store, whose pages end early, and in one that scans as the service does", async () => {
    for (const options of [{ emptyPages: 0.5 }, { scans: "azure" }] as const) {
      const store = await mockStore(options);
      await check(await fill(store));
      assert(store.requests.matching({ on: "query" }).length > 0);
      await store.close();
    }
  });

  test("with rows that are not in memory, within the memory limit", async () => {
    const path = mkdtempSync(join(tmpdir(), "entitable-lists-"));
    const options = { name: "lists", persistence: "file", path } as const;
    const filled = await openStore(options);
    const table = filled.table("rows");
    await table.createTable();
    const text = "x".repeat(2000);
    for (const partitionKey of partitions) {
      await filled.table("rows").bulk(
        Array.from({ length: rowsPerPartition }, (_, n) => {
          const rowKey = String(n).padStart(4, "0");
          return ["create", { partitionKey, rowKey, n, text }] as const;
        }),
      );
    }
    await filled.close();
    const store = await openStore({ ...options, memoryLimit: 1_000_000 });
    assert.equal(await store.table("rows").count(), partitions.length * rowsPerPartition);
    assert((await store.stats()).memoryBytes < 100_000, "counting by keys loads no rows");
    await check(store.table<{ n: number }>("rows"));
    await store.close();
    rmSync(path, { recursive: true });
  });

  test("through another tab", async () => {
    const options = { name: "lists", persistence: "indexeddb" } as const;
    const owner = await openStore(options);
    await fill(owner);
    const follower = await openStore(options);
    assert.equal(follower.status.owner, "other-tab");
    await check(follower.table("rows"));
    await follower.close();
    await owner.close();
  });
});

describe("in pages", () => {
  test("a descending list continues with its token", async () => {
    const store = await openStore({ persistence: "memory" });
    const table = await fill(store);
    const { value } = await table.listEntities({ order: "desc" }).byPage({ maxPageSize: 3 }).next();
    assert.deepEqual(
      value.map(({ rowKey }: { rowKey: string }) => rowKey),
      ["0699", "0698", "0697"],
    );
    const { continuationToken } = value;
    const rest = table
      .listEntities({ order: "desc" })
      .byPage({ continuationToken, maxPageSize: 2 });
    assert.deepEqual(
      (await rest.next()).value.map(({ rowKey }: { rowKey: string }) => rowKey),
      ["0696", "0695"],
    );
    await store.close();
  });

  test("top limits all pages together, and the last page has a token", async () => {
    const store = await openStore({ persistence: "memory" });
    const table = await fill(store);
    const sizes = async (top: number, maxPageSize?: number) => {
      const pages = await collect(table.listEntities({ top }).byPage({ maxPageSize }));
      return [pages.map(({ length }) => length), pages.at(-1)?.continuationToken !== undefined];
    };
    assert.deepEqual(await sizes(0), [[], false]);
    assert.deepEqual(await sizes(5), [[5], true]);
    assert.deepEqual(await sizes(5, 2), [[2, 2, 1], true]);
    assert.deepEqual(await sizes(1500), [[1000, 500], true]);
    assert.deepEqual(await sizes(5000), [[1000, 1000, 100], false]);
    assert.deepEqual(await sizes(2100), [[1000, 1000, 100], false]);
    await store.close();
  });

  test("partition keys, also such as look like a token", async () => {
    const store = await openStore({ persistence: "memory" });
    const table = store.table("rows");
    await table.createTable();
    const keys = ["1!0!", "1!4!YQ--", "é", "\u{1f600}"];
    for (const partitionKey of keys) await table.createEntity({ partitionKey, rowKey: "" });
    const pages = await collect(table.partitionKeys().byPage({ maxPageSize: 1 }));
    assert.deepEqual(pages.flat(), keys);
    await store.close();
  });
});

describe("errors", () => {
  const unknown = { name: "StoreError", code: "ValidationFailed" };

  test("an unknown option is rejected, with a hint", async () => {
    const store = await openStore({ persistence: "memory" });
    const table = await fill(store);
    const list = (options: object) => collect(table.listEntities(options));
    await assert.rejects(list({ filter: "n eq 1" }), { ...unknown, hint: /queryOptions/ });
    await assert.rejects(list({ maxPageSize: 5 }), { ...unknown, hint: /byPage/ });
    await assert.rejects(list({ orderBy: "n" }), { ...unknown, hint: /order: "desc"/ });
    await assert.rejects(list({ queryOptions: { top: 5 } }), { ...unknown, hint: /beside/ });
    await assert.rejects(list({ queryOptions: { filters: "" } }), {
      ...unknown,
      hint: "The options of queryOptions are: filter, select.",
    });
    await assert.rejects(list({ queryOptions: { select: "n" } }), {
      ...unknown,
      hint: /\["name"\]/,
    });
    await assert.rejects(list({ limit: 5 }), {
      ...unknown,
      message: /listEntities has no option limit/,
    });
    await assert.rejects(list({ top: -1 }), unknown);
    await assert.rejects(list({ top: 1.5 }), unknown);
    await assert.rejects(list({ order: "down" }), unknown);
    await assert.rejects(table.getEntity("a", "0001", { top: 1 } as object), unknown);
    await assert.rejects(openStore({ persist: "memory" } as object), {
      ...unknown,
      message: "openStore has no option persist.",
      hint: /^The options are: .*\bpersistence\b/,
    });
    await assert.rejects(table.explain({ limit: 1 } as object), unknown);
    const row = { partitionKey: "a", rowKey: "0001", n: 7 };
    await assert.rejects(table.updateEntity(row, "Merge", { ifMatch: "x" } as object), {
      ...unknown,
      hint: /etag/,
    });
    await assert.rejects(table.deleteEntity("a", "0001", { force: true } as object), unknown);
    assert.notEqual((await table.getEntity("a", "0001")).n, 7);
    await assert.rejects(table.count({ filter: "n eq 1" } as object), unknown);
    await assert.rejects(collect(table.partitionKeys({ filter: "" } as object)), unknown);
    await assert.rejects(table.createTable({ name: "x" } as object), {
      ...unknown,
      message: "createTable has no option name.",
    });
    await assert.rejects(table.deleteTable({ etag: "*" } as object), unknown);
    await assert.rejects(table.bulk([], { concurency: 1 } as object), {
      ...unknown,
      message: "bulk has no option concurency.",
    });
    const { signal } = new AbortController();
    await assert.rejects(table.bulk([], { abortSignal: signal } as object), {
      ...unknown,
      hint: "Pass it as signal.",
    });
    const known = { abortSignal: signal, requestOptions: {}, tracingOptions: {} };
    assert.equal((await list({ ...known, queryOptions: {}, top: 2, order: "asc" })).length, 2);
    const onProgress = () => {};
    await table.bulk([], { concurrency: 1, onError: "stop", signal, onProgress });
    await table.createTable({ ...known, durability: "strict" });
    await table.deleteTable({ ...known, durability: "strict" });
    await store.close();
  });

  test("a client with the official client's methods ignores unknown options, as that does", async () => {
    const store = await openStore({ persistence: "memory" });
    await fill(store);
    const client = store.tableClient("rows");
    const rows = await collect(client.listEntities({ top: 5, order: "desc" } as object));
    assert.equal(rows.length, partitions.length * rowsPerPartition);
    assert.equal(rows[0]?.rowKey, "0000");
    await client.createTable({ name: "x" } as object);
    await client.deleteTable({ etag: "*" } as object);
    await store.close();
  });

  test("a missing table, and an invalid filter", async () => {
    const store = await openStore({ persistence: "memory" });
    const missing = { name: "RestError", code: "TableNotFound" };
    await assert.rejects(store.table("none").count(), missing);
    await assert.rejects(collect(store.table("none").partitionKeys()), missing);
    const queryOptions = { filter: "n eq" };
    await store.table("rows").createTable();
    await assert.rejects(store.table("rows").count({ queryOptions }), { code: "InvalidInput" });
    const abortSignal = AbortSignal.abort();
    await assert.rejects(store.table("rows").count({ abortSignal }), { name: "AbortError" });
    await store.close();
  });
});
