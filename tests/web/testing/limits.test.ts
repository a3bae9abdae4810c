// Tests the temporary limits and the latency of mock stores.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MockOptions, MockStore } from "../../../web/src/testing/index.ts";
import { mockStore } from "../../../web/src/testing/index.ts";

const entity = (partitionKey: string, i: number) => ({ partitionKey, rowKey: String(i) });
const insert = (store: MockStore, partition: string, i: number) =>
  store
    .tableClient("rows")
    .createEntity(entity(partition, i))
    .then(
      () => "ok",
      (error) => `${error.statusCode} ${error.code} ${error.details["retry-after"]}`,
    );
const tooMuch = "503 ServerBusy 1";
const open = (options: MockOptions) => mockStore({ fixtures: { rows: [] }, ...options });

describe("throttling", () => {
  test("by partition counts entities, and ends as time passes", async () => {
    await using store = await open({ throttle: { partitionOpsPerSecond: 4 } });
    for (let i = 0; i < 4; ++i) assert.equal(await insert(store, "p", i), "ok");
    assert.equal(await insert(store, "p", 4), tooMuch);
    assert.equal(await insert(store, "q", 4), "ok");
    store.clock.advance(499);
    assert.equal(await insert(store, "p", 4), "ok");
    assert.equal(await insert(store, "p", 5), tooMuch);
    await store.tableClient("rows").submitTransaction([
      ["create", entity("q", 10)],
      ["create", entity("q", 11)],
    ]);
    store.clock.advance(10_000); // the allowance of at most one second is saved
    for (let i = 20; i < 24; ++i) assert.equal(await insert(store, "q", i), "ok");
    assert.equal(await insert(store, "q", 24), tooMuch);
    const rows = (await store.stats()).rows;
    assert.equal(rows, 4 + 1 + 1 + 2 + 4);
  });

  test("admits a batch of more than a second's worth, and delays later ones", async () => {
    await using store = await open({ throttle: { partitionOpsPerSecond: 2 } });
    const rows = store.tableClient("rows");
    const submit = () =>
      rows.submitTransaction(Array.from({ length: 5 }, (_, i) => ["create", entity("p", i)]));
    assert.equal(await insert(store, "p", 9), "ok");
    await assert.rejects(submit(), { statusCode: 503, code: "ServerBusy" });
    store.clock.advance(500);
    await submit();
    store.clock.advance(1999);
    assert.equal(await insert(store, "p", 8), tooMuch);
    store.clock.advance(1);
    assert.equal(await insert(store, "p", 8), "ok");
  });

  test("by account counts requests", async () => {
    await using store = await open({ throttle: { accountOpsPerSecond: 3 } });
    assert.equal(await insert(store, "p", 0), "ok");
    await store.tableClient("rows").listEntities().next();
    await store.tableClient("rows").submitTransaction([
      ["create", entity("q", 1)],
      ["create", entity("q", 2)],
    ]);
    assert.equal(await insert(store, "r", 0), tooMuch);
    store.clock.advance(334);
    assert.equal(await insert(store, "r", 0), "ok");
  });

  test("has the service's published limits", async () => {
    await using store = await open({ throttle: "azure" });
    const codes = await Promise.all(Array.from({ length: 2001 }, (_, i) => insert(store, "p", i)));
    assert.deepEqual(
      codes.slice(0, 2000).filter((code) => code !== "ok"),
      [],
    );
    assert.equal(codes[2000], tooMuch);
  });

  test("is restored by rollbacks and copied to forks", async () => {
    await using store = await open({ throttle: { partitionOpsPerSecond: 1 } });
    const before = store.savepoint();
    assert.equal(await insert(store, "p", 0), "ok");
    await using fork = store.fork();
    assert.equal(await insert(fork, "p", 1), tooMuch);
    store.rollback(before);
    assert.equal(await insert(store, "p", 0), "ok");
    fork.clock.advance(1000);
    assert.equal(await insert(fork, "p", 1), "ok");
    assert.equal(await insert(store, "p", 1), tooMuch);
  });
});

test("a deleted table's name is unavailable for a while", async () => {
  await using store = await open({ tableDeletionMs: 40_000 });
  const service = store.serviceClient();
  await service.deleteTable("rows");
  store.clock.advance(39_999);
  await assert.rejects(service.createTable("ROWS"), { statusCode: 409, code: "TableBeingDeleted" });
  await service.createTable("others");
  store.clock.advance(1);
  await service.createTable("rows");
  await service.deleteTable("never").catch(() => {});
  await service.createTable("never");
});

describe("a name that is unavailable after a deletion", () => {
  const openAndDelete = async () => {
    const store = await open({ tableDeletionMs: 40_000 });
    const before = store.savepoint();
    await store.serviceClient().deleteTable("rows");
    store.clock.advance(30_000);
    return { store, before };
  };
  const create = (store: MockStore) => store.serviceClient().createTable("rows");
  const isBeingDeleted = { statusCode: 409, code: "TableBeingDeleted" };

  test("is unavailable in forks until their own clock has advanced", async () => {
    const { store } = await openAndDelete();
    await using fork = store.fork();
    await using other = store.fork();
    fork.clock.advance(10_000);
    await create(fork);
    await assert.rejects(create(other), isBeingDeleted);
    await fork.reset();
    await assert.rejects(create(fork), isBeingDeleted);
    await store.close();
  });

  test("is available again after a rollback to a time before the deletion", async () => {
    const { store, before } = await openAndDelete();
    await using fork = store.fork();
    await assert.rejects(create(store), isBeingDeleted);
    store.rollback(before);
    await create(store); // resolves for a table that exists
    await assert.rejects(create(fork), isBeingDeleted);
    await store.close();
  });
});

test("requests take the latency of their operation", async () => {
  const latency = { "*": 10, insert: [20, 30] } as const;
  const run = async () => {
    await using store = await open({ latency, seed: 3 });
    assert.equal(store.clock.elapsedMs, 0, "fixtures take no time");
    await store.tableClient("rows").listEntities().next();
    for (let i = 0; i < 5; ++i) await insert(store, "p", i);
    return store.requests.all().map(({ durationMs }) => durationMs);
  };
  const [query, ...inserts] = await run();
  assert.equal(query, 10);
  assert(inserts.every((ms) => ms >= 20 && ms < 30) && new Set(inserts).size === 5, `${inserts}`);
  assert.deepEqual(await run(), [query, ...inserts]);
});

describe("a latency distribution", () => {
  const latencies = async (latency: MockOptions["latency"], seed = 3) => {
    await using store = await open({ latency, seed });
    for (let i = 0; i < 400; ++i) await insert(store, "p", i);
    return store.requests.all().map(({ durationMs }) => durationMs);
  };

  test("is fixed", async () => {
    assert.deepEqual(new Set(await latencies({ fixed: 7 })), new Set([7]));
    assert.deepEqual(new Set(await latencies({ "*": 3, insert: { fixed: 8 } })), new Set([8]));
  });

  test("is uniform", async () => {
    const took = await latencies({ uniform: [10, 20] });
    const inThird = [0, 1, 2].map(
      (third) => took.filter((ms) => Math.floor((ms - 10) / (10 / 3)) === third).length,
    );
    assert(Math.min(...took) >= 10 && Math.max(...took) < 20);
    assert(
      inThird.every((count) => count > 90 && count < 180),
      `${inThird}`,
    );
    assert.deepEqual(await latencies({ insert: [10, 20] }), took, "which is what a range is");
  });

  test("is lognormal: it has its median and a tail", async () => {
    const took = await latencies({ lognormal: { median: 10, p99: 100 } });
    const sorted = took.toSorted((a, b) => a - b);
    const [median = 0, last = 0] = [sorted[200], sorted.at(-1)];
    assert(median > 8 && median < 12.5, `${median}`);
    assert(last > 60, `${last}`);
    const slow = took.filter((ms) => ms > 100).length;
    assert(slow > 0 && slow < 16, `${slow} of 400`);
    assert.deepEqual(await latencies({ lognormal: { median: 10, p99: 100 } }), took);
    assert.notDeepEqual(await latencies({ lognormal: { median: 10, p99: 100 } }, 4), took);
    assert.deepEqual(new Set(await latencies({ lognormal: { median: 5, p99: 5 } })), new Set([5]));
  });

  test("is similar to the service's for each operation", async () => {
    await using store = await open({ latency: "cloud" });
    await store.tableClient("rows").createTable();
    for (let i = 0; i < 100; ++i) {
      await insert(store, "p", i);
      await store.tableClient("rows").getEntity("p", `${i}`);
    }
    const mean = (on: "insert" | "get") => {
      const all = store.requests.matching({ on });
      return all.reduce((sum, { durationMs }) => sum + durationMs, 0) / all.length;
    };
    assert(mean("get") > 3 && mean("insert") > mean("get"), `${mean("get")} ${mean("insert")}`);
  });

  test("applies to faults as well", async () => {
    const delayMs = { lognormal: { median: 10, p99: 20 } };
    await using store = await open({ faults: [{ on: "insert", delayMs }] });
    for (let i = 0; i < 9; ++i) await insert(store, "p", i);
    const took = store.requests.all().map(({ durationMs }) => durationMs);
    assert(new Set(took).size === 9 && took.every((ms) => ms > 3 && ms < 40), `${took}`);
  });
});

for (const [what, options] of Object.entries({
  "a throttle of nothing": { throttle: { accountOpsPerSecond: 0 } },
  "an endless deletion": { tableDeletionMs: Infinity },
  "a latency backwards": { latency: [2, 1] as const },
  "a negative latency of an operation": { latency: { get: -1 } },
  "a latency of an operation that there isn't": { latency: { gets: 1 } as MockOptions["latency"] },
  "a latency of two kinds": { latency: { fixed: 1, uniform: [1, 2] as const } },
  "a latency without a name": { latency: "slow" as "cloud" },
  "a fixed latency of a range": { latency: { fixed: [1, 2] } as unknown as MockOptions["latency"] },
  "a lognormal latency without a median": { latency: { lognormal: { median: 0, p99: 5 } } },
  "a lognormal latency that is seldom less": { latency: { lognormal: { median: 9, p99: 5 } } },
  "a uniform latency of one": { latency: { uniform: 3 } as unknown as MockOptions["latency"] },
})) {
  test(`${what} is rejected`, async () => {
    await assert.rejects(mockStore(options), { name: "StoreError", code: "ValidationFailed" });
  });
}
