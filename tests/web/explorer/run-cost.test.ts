// Tests the cost of a playground's run, which is computed from its requests as the service would
// count them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { costOf } from "../../../web/src/explorer/run-cost.ts";
import { type LoggedRequest, type MockStore, mockStore } from "../../../web/src/testing/index.ts";
import { forkWithRequestListener } from "../../../web/src/testing/mock-store.ts";
import { all } from "../support/client-pair.ts";

const rows = (partitionKey: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ partitionKey, rowKey: String(i).padStart(4, "0") }));
const fixtures = { Rows: [...rows("a", 1500), ...rows("b", 10), ...rows("c", 10)] };

async function costOfRun(run: (store: MockStore) => Promise<unknown>) {
  await using before = await mockStore({ scans: "azure", fixtures });
  const requests: LoggedRequest[] = [];
  await using store = forkWithRequestListener(before, (request) => requests.push(request));
  await run(store);
  return await costOf(before, requests);
}

const ask = (store: MockStore, filter: string) =>
  all(store.table("Rows").listEntities({ queryOptions: { filter } }));

const nothing = {
  requests: 0,
  rowsRead: 0,
  rowsReturned: 0,
  rowsWritten: 0,
  rowsDeleted: 0,
  failed: 0,
  plans: [],
};

describe("the cost of a run", () => {
  test("a scan costs a request for each thousand rows, and for each partition", async () => {
    const scan = await costOfRun((store) =>
      ask(store, "Timestamp ge datetime'2000-01-01T00:00:00Z'"),
    );
    const counts = { requests: 4, rowsRead: 1521, rowsReturned: 1520 };
    assert.deepEqual(scan, { ...nothing, ...counts, plans: ["table"] });
  });

  test("alternatives between row keys are a scan, two point queries are not", async () => {
    const either = "PartitionKey eq 'a' and (RowKey eq '0121' or RowKey eq '0322')";
    const one = await costOfRun((store) => ask(store, either));
    const counts = { requests: 1, rowsRead: 1500, rowsReturned: 2 };
    assert.deepEqual(one, { ...nothing, ...counts, plans: ["partition"] });
    const two = await costOfRun(async (store) => {
      await Promise.all(["0121", "0322"].map((row) => store.table("Rows").getEntity("a", row)));
    });
    const points = { requests: 2, rowsRead: 2, rowsReturned: 2 };
    assert.deepEqual(two, { ...nothing, ...points, plans: ["point"] });
  });

  test("a write and a transaction cost one request; a rejected one writes nothing", async () => {
    const cost = await costOfRun(async (store) => {
      await store.table("Rows").upsertEntity({ partitionKey: "d", rowKey: "0" });
      await store.table("Rows").submitTransaction(rows("d", 100).map((row) => ["upsert", row]));
      const twice = store
        .table("Rows")
        .submitTransaction(rows("d", 2).map((row) => ["create", row]));
      await assert.rejects(twice, { statusCode: 409 });
    });
    assert.deepEqual(cost, { ...nothing, requests: 3, rowsWritten: 101, failed: 1 });
  });

  test("a deletion does not count as written, in a transaction or by itself", async () => {
    const cost = await costOfRun(async (store) => {
      const table = store.table("Rows");
      await table.deleteEntity("b", "0000");
      await table.submitTransaction([
        ["delete", { partitionKey: "b", rowKey: "0001" }],
        ["delete", { partitionKey: "b", rowKey: "0002" }],
        ["upsert", { partitionKey: "b", rowKey: "0003", moved: true }],
      ]);
      await assert.rejects(table.deleteEntity("b", "0000"), { statusCode: 404 });
    });
    assert.deepEqual(cost, {
      ...nothing,
      requests: 3,
      rowsWritten: 1,
      rowsDeleted: 3,
      failed: 1,
    });
  });

  test("explain costs nothing", async () => {
    assert.deepEqual(await costOfRun((store) => store.table("Rows").explain()), nothing);
  });

  test("requests to forks count, and so do requests to deleted tables", async () => {
    const cost = await costOfRun(async (store) => {
      await using fork = store.fork();
      await fork.table("More").createTable();
      await using second = fork.fork();
      await second.table("More").createEntity({ partitionKey: "p", rowKey: "r" });
      await ask(second, "PartitionKey eq 'b'");
      await second.table("Rows").deleteTable();
    });
    const counts = { requests: 4, rowsRead: 10, rowsReturned: 10, rowsWritten: 1 };
    assert.deepEqual(cost, { ...nothing, ...counts, plans: ["partition"] });
  });
});
