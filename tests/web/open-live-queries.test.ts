// Tests the list of the live queries that are open.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { LiveConnection } from "../../web/src/client/live-connection.ts";
import { describeLiveQueries } from "../../web/src/client/open-live-queries.ts";
import type { OpenLiveQuery, Store, Table } from "../../web/src/types.ts";
import { openStore } from "./support/package.ts";
import { until } from "./support/until.ts";

interface Lamp {
  stock: number;
}

let store: Store;
let lamps: Table<Lamp>;

beforeEach(async () => {
  store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  lamps = store.table<Lamp>("lamps");
  await lamps.createTable();
});
afterEach(() => store.close());

const put = (rowKey: string, stock: number, partitionKey = "desk") =>
  lamps.upsertEntity({ partitionKey, rowKey, stock }, "Replace");

async function only(): Promise<OpenLiveQuery> {
  const queries = await store.liveQueries();
  assert.equal(queries.length, 1);
  return queries[0] as OpenLiveQuery;
}

describe("liveQueries()", () => {
  test("returns nothing before the first live query", async () => {
    assert.deepEqual(await store.liveQueries(), []);
  });

  test("describes each kind of query, in the order in which they were listed first", async () => {
    await put("1", 1);
    const queryOptions = { filter: "PartitionKey eq 'desk' and stock lt 5" };
    const from = { partitionKey: "desk", rowKey: "1" };
    const list = lamps.live({
      queryOptions: { ...queryOptions, select: ["stock"] },
      limit: 10,
      from,
    });
    const entity = lamps.liveEntity("desk", "1");
    const count = lamps.liveCount({ queryOptions });
    await Promise.all([list.ready, entity.ready, count.ready]);
    const observed = store.observe((read) => read.count(lamps));
    await observed.ready;
    const queries = await store.liveQueries();
    const common = { tables: ["lamps"], status: "ready", rowsWatched: 1, warnings: [], hits: 0 };
    assert.deepEqual(
      queries.slice(0, 3).map(({ id: _, ...query }) => query),
      [
        {
          ...common,
          kind: "live",
          filter: queryOptions.filter,
          select: ["stock"],
          limit: 10,
          from,
        },
        { ...common, kind: "liveEntity", from },
        { ...common, kind: "liveCount", filter: queryOptions.filter },
      ],
    );
    const { id: _, warnings, ...last } = queries[3] as OpenLiveQuery;
    const { warnings: none, ...rest } = common;
    assert.deepEqual(none, []);
    assert.deepEqual(last, { ...rest, kind: "observe", hits: 1 });
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ["EveryWriteTested"],
    );
    assert.equal(new Set(queries.map(({ id }) => id)).size, 4);
    list.close();
    const later = await store.liveQueries();
    assert.deepEqual(
      later.map(({ id }) => id),
      queries.slice(1).map(({ id }) => id),
    );
    for (const live of [entity, count, observed]) live.close();
    assert.deepEqual(await store.liveQueries(), []);
  });

  test("counts the changes of a query, and what the last one changed", async () => {
    const live = lamps.live({ queryOptions: { filter: "stock lt 5" } });
    await live.ready;
    assert.equal((await only()).lastDelta, undefined);
    await put("1", 9); // does not match
    assert.equal((await only()).hits, 0);
    const step = async (write: () => Promise<unknown>) => {
      await write();
      const { hits, lastDelta } = await only();
      assert.equal(lastDelta?.sequence, live.getSnapshot().sequence);
      const { inserted, updated, deleted } = lastDelta ?? {};
      return [hits, inserted, updated, deleted];
    };
    assert.deepEqual(await step(() => put("2", 1)), [1, 1, 0, 0]);
    assert.deepEqual(await step(() => put("2", 2)), [2, 0, 1, 0]);
    assert.deepEqual(await step(() => put("2", 9)), [3, 0, 0, 1]); // leaves the query
    await put("3", 3);
    const several = () =>
      lamps.submitTransaction([
        ["upsert", { partitionKey: "desk", rowKey: "1", stock: 1 }],
        ["upsert", { partitionKey: "desk", rowKey: "2", stock: 2 }],
        ["delete", { partitionKey: "desk", rowKey: "3" }],
      ]);
    assert.deepEqual(await step(several), [5, 2, 0, 1]);
    live.close();
  });

  test("counts what has changed in a count", async () => {
    const live = lamps.liveCount({ queryOptions: { filter: "stock lt 5" } });
    await live.ready;
    await put("1", 1);
    assert.equal((await only()).lastDelta?.inserted, 1);
    await lamps.deleteEntity("desk", "1");
    const { hits, lastDelta } = await only();
    assert.deepEqual([hits, lastDelta?.inserted, lastDelta?.deleted], [2, 0, 1]);
    live.close();
  });

  test("counts the runs of an observed query, and does not list its reads", async () => {
    const live = store.observe(async (read) => {
      const [lamp] = await read.entities(lamps);
      return [lamp?.rowKey, await read.count(lamps)];
    });
    await live.ready;
    await put("1", 1);
    await until(() => (live.getSnapshot().data as unknown[])?.[1] === 1);
    const { kind, hits, tables } = await only();
    assert.deepEqual([kind, tables], ["observe", ["lamps"]]);
    assert(hits >= 2);
    live.close();
  });

  test("does not make a snapshot, after which a query would copy its rows", () => {
    const query = {
      source: { table: "lamps", result: "list" },
      shown: { status: "ready", sequence: 1n },
      hits: 0,
      explain: () => ({ rowsWatched: 1, warnings: [] }),
      snapshot: () => assert.fail("A snapshot was made."),
    };
    const connection = { openQueries: [[query], []] } as unknown as LiveConnection;
    assert.equal(describeLiveQueries(connection)[0]?.rowsWatched, 1);
  });

  test("shows a missing table and its creation, and nothing after the store was closed", async () => {
    const chairs = store.table("chairs");
    const live = chairs.live();
    await live.ready.catch(() => {});
    assert.equal((await only()).status, "error");
    await chairs.createTable();
    await until(() => live.getSnapshot().status === "ready");
    assert.equal((await only()).status, "ready");
    await store.close();
    assert.deepEqual(await store.liveQueries(), []);
  });

  test("lists the queries of this Store only", async () => {
    const other = await openStore({ persistence: "memory" });
    await other.table("lamps").createTable();
    const live = other.table("lamps").live();
    await live.ready;
    assert.deepEqual(await store.liveQueries(), []);
    assert.equal((await other.liveQueries()).length, 1);
    await other.close();
  });
});
