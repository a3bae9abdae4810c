// Tests, without a page, what the pictures of a run count.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  PartitionAccessCounter,
  partitionRequestsOf,
} from "../../../demo/site/src/partition-access.ts";
import { type LoggedRequest, mockStore } from "../../../web/src/testing/index.ts";
import type { TransactionAction } from "../../../web/src/types.ts";
import { all } from "../../web/support/client-pair.ts";

const rows = (partitionKey: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ partitionKey, rowKey: String(i) }));

async function shopOf(throttle?: { partitionOpsPerSecond: number }) {
  const Lamps = [...rows("desk", 3), ...rows("floor", 2), ...rows("wall", 1)];
  return await mockStore({ scans: "azure", fixtures: { Lamps }, throttle });
}

function countsOf(accesses: PartitionAccessCounter): Record<string, number[]> {
  return Object.fromEntries(
    accesses
      .allPartitions()
      .map(({ table, partition, reads, writes, deletes, refused, refusedReads, refusedWrites }) => [
        `${table}/${partition}`,
        [reads, writes, deletes, refused, refusedReads, refusedWrites],
      ]),
  );
}

test("counts reads, writes, deletions and rejections of each partition, including unused partitions", async () => {
  await using store = await shopOf();
  await using before = store.fork();
  const lamps = store.table("Lamps");
  const accesses = new PartitionAccessCounter(before);
  await all(lamps.listEntities({ queryOptions: { filter: "PartitionKey le 'floor'" } }));
  await lamps.getEntity("desk", "0");
  await lamps.getEntity("desk", "none").catch(() => {});
  accesses.countRequests(store.requests.all());
  await accesses.whenPartitionsListed();
  assert.deepEqual(countsOf(accesses), {
    "Lamps/desk": [4, 0, 0, 1, 1, 0],
    "Lamps/floor": [2, 0, 0, 0, 0, 0],
    "Lamps/wall": [0, 0, 0, 0, 0, 0],
  });

  const { revision: version } = accesses;
  accesses.countRequests(store.requests.all()); // no new requests
  assert.equal(accesses.revision, version);
  await lamps.submitTransaction([
    ["delete", { partitionKey: "wall", rowKey: "0" }],
    ...rows("wall", 3)
      .slice(1)
      .map((row): TransactionAction => ["upsert", row]),
  ]);
  await lamps.submitTransaction(rows("desk", 5).map((row) => ["create", row])).catch(() => {});
  await store.table("lamps").deleteEntity("floor", "0"); // the name in other case is the same table
  store.faults.add({ on: "insert", network: "offline" });
  // the request did not reach the store
  await lamps.createEntity({ partitionKey: "sky", rowKey: "0" }).catch(() => {});
  accesses.countRequests(store.requests.all());
  assert.notEqual(accesses.revision, version);
  assert.deepEqual(countsOf(accesses), {
    "Lamps/desk": [4, 0, 0, 2, 1, 5],
    "Lamps/floor": [2, 0, 1, 0, 0, 0],
    "Lamps/wall": [0, 2, 1, 0, 0, 0],
  });
});

test("counts requests that a busy partition rejects, and finds a new table", async () => {
  await using store = await shopOf({ partitionOpsPerSecond: 2 });
  await using before = store.fork();
  await store.table("Bulbs").createTable();
  for (const row of rows("e27", 3)) {
    await store
      .table("Bulbs")
      .createEntity(row)
      .catch(() => {});
  }
  const accesses = new PartitionAccessCounter(before);
  accesses.countRequests(store.requests.all());
  await accesses.whenPartitionsListed();
  assert.deepEqual(countsOf(accesses), { "Bulbs/e27": [0, 2, 0, 1, 0, 1] });
});

test("counts are available until the store that lists the partitions is closed", async () => {
  await using store = await shopOf();
  const before = store.fork();
  await before.close();
  await store.table("Lamps").getEntity("desk", "0");
  const accesses = new PartitionAccessCounter(before);
  accesses.countRequests(store.requests.all());
  await accesses.whenPartitionsListed();
  assert.deepEqual(countsOf(accesses), { "Lamps/desk": [1, 0, 0, 0, 0, 0] });
});

test("the work of servers: a transaction is one request about its rows, a page about those that it looked at", async () => {
  await using store = await shopOf();
  const lamps = store.table("Lamps");
  await lamps.submitTransaction(rows("wall", 4).map((row) => ["upsert", row]));
  await lamps.getEntity("desk", "0");
  await lamps.explain();
  const found = await all(lamps.listEntities({ queryOptions: { filter: "RowKey eq '1'" } }));
  assert.equal(found.length, 3);
  await store.table("Bulbs").createTable();
  const requests: readonly LoggedRequest[] = store.requests.all();
  assert.deepEqual(partitionRequestsOf(requests), [
    { partition: "wall", entities: 4 },
    { partition: "desk", entities: 1 },
    { partition: "desk", entities: 3 },
    { partition: "floor", entities: 2 },
    { partition: "wall", entities: 4 },
  ]);
});
