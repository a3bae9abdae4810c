// Tests mock stores that scan as the service does: the rows are the same, the number of pages is
// the one that explain() returns, and each page has rows of one partition.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { type MockStore, mockStore } from "../../../web/src/testing/index.ts";
import { all } from "../support/client-pair.ts";
import { seededRandom } from "../support/random.ts";

const rows = (partitionKey: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    partitionKey,
    rowKey: String(n).padStart(4, "0"),
    n,
  }));

const fixtures = { Rows: [...rows("a", 10), ...rows("b", 20), ...rows("c", 30)] };

async function ask(store: MockStore, filter?: string, maxPageSize = 1000) {
  store.requests.clear();
  const queryOptions = filter === undefined ? {} : { filter };
  const pages = [];
  for await (const page of store
    .table("Rows")
    .listEntities({ queryOptions })
    .byPage({ maxPageSize })) {
    pages.push(page.length);
  }
  const read = store.requests.all().map(({ partitionRead, rowsRead }) => [partitionRead, rowsRead]);
  return { pages, read };
}

describe('mockStore({ scans: "azure" })', () => {
  test("a page ends at the end of its partition, even if the page is empty", async () => {
    await using store = await mockStore({ scans: "azure", fixtures });
    const everywhere = [
      ["a", 10],
      ["b", 20],
      ["c", 30],
    ];
    assert.deepEqual(await ask(store), { pages: [10, 20, 30], read: everywhere });
    assert.deepEqual(await ask(store, "n eq 15"), { pages: [0, 1, 1], read: everywhere });
    assert.deepEqual((await ask(store, undefined, 10)).pages, [10, 10, 10, 10, 10, 10]);
    const nowhere = { pages: [0], read: [[undefined, 0]] };
    assert.deepEqual(await ask(store, "PartitionKey eq 'x'"), nowhere);
    assert.deepEqual(await ask(store, "PartitionKey lt 'a' and PartitionKey gt 'c'"), nowhere);
  });

  test("alternatives are not read one by one", async () => {
    const either = "PartitionKey eq 'b' and (RowKey eq '0003' or RowKey eq '0007')";
    await using store = await mockStore({ scans: "azure", fixtures });
    assert.deepEqual(await ask(store, either), { pages: [2], read: [["b", 20]] });
    await using fork = store.fork();
    assert.deepEqual(await ask(fork, either), { pages: [2], read: [["b", 20]] });
    await using own = await mockStore({ fixtures });
    assert.deepEqual(await ask(own, either), { pages: [2], read: [[undefined, 2]] });
    assert.deepEqual((await ask(own)).pages, [60]);
  });

  test("also over REST, where a page has a continuation and may have no rows", async () => {
    await using store = await mockStore({ name: "acme", scans: "azure", fixtures });
    const url = "https://acme.table.core.windows.net";
    const client = new TableClient(url, "Rows", { httpClient: store.httpClient });
    const pages = await all(client.listEntities({ queryOptions: { filter: "n ge 18" } }).byPage());
    assert.deepEqual(
      pages.map(({ length }) => length),
      [0, 2, 12],
    );
    assert.deepEqual(
      store.requests.all().map(({ partitionRead }) => partitionRead),
      ["a", "b", "c"],
    );
  });

  test("the number of requests is the one in explain, and the rows are the same", async (t) => {
    const seed = Date.now();
    t.diagnostic(`seed ${seed}`);
    const random = seededRandom(seed);
    await using store = await mockStore({ scans: "azure", fixtures });
    await using own = await mockStore({ fixtures });
    const key = () => `'${String(random.below(32)).padStart(4, "0")}'`;
    const terms = [
      () => `PartitionKey eq '${"abcd"[random.below(4)]}'`,
      () => `PartitionKey ge '${"abcd"[random.below(4)]}'`,
      () => `RowKey ge ${key()}`,
      () => `RowKey eq ${key()}`,
      () => `(RowKey eq ${key()} or n eq ${random.below(32)})`,
      () => `not (n lt ${random.below(32)})`,
    ];
    for (let i = 0; i < 60; i += 1) {
      const some = Array.from({ length: 1 + random.below(3) }, () => terms[random.below(6)]?.());
      const filter = some.join(" and ");
      const queryOptions = { filter };
      store.requests.clear();
      const found = await all(store.table("Rows").listEntities({ queryOptions }));
      const requests = store.requests.all().length;
      assert.deepEqual(
        found.map(({ partitionKey, rowKey }) => [partitionKey, rowKey]),
        (await all(own.table("Rows").listEntities({ queryOptions }))).map(
          ({ partitionKey, rowKey }) => [partitionKey, rowKey],
        ),
        filter,
      );
      const plan = await store.table("Rows").explain({ queryOptions });
      assert.equal(requests, plan.serviceRoundTrips, filter);
    }
  });

  test("other values are rejected", async () => {
    const scans = "Azure" as "azure";
    await assert.rejects(mockStore({ scans }), {
      code: "ValidationFailed",
      message: /^scans must be "azure", if anything, not Azure\./,
    });
  });
});
