// Tests live queries with an engine in this thread.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { LiveDelta, LiveQuery, Store, Table } from "../../web/src/types.ts";
import { openStore } from "./support/package.ts";
import { until } from "./support/until.ts";

interface Lamp {
  name: string;
  stock: number;
}
type StoredLamp = Lamp & { partitionKey: string; rowKey: string; etag: string };

let store: Store;
let lamps: Table<Lamp>;

beforeEach(async () => {
  store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  lamps = store.table<Lamp>("lamps");
  await lamps.createTable();
});
afterEach(() => store.close());

const put = (rowKey: string, stock: number, partitionKey = "desk") =>
  lamps.upsertEntity({ partitionKey, rowKey, name: `lamp ${rowKey}`, stock }, "Replace");

const data = <R>(live: LiveQuery<R>): R => {
  const { status, data, error } = live.getSnapshot();
  assert.equal(status, "ready", String(error));
  return data as R;
};
const keys = (live: LiveQuery<readonly { rowKey?: string }[]>) =>
  data(live).map(({ rowKey }) => rowKey);

async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

function code(expected: string) {
  return (error: unknown) => {
    assert.equal((error as { code?: string }).code, expected);
    return true;
  };
}

describe("a live query", () => {
  test("shows what listEntities returns, before and after changes", async () => {
    await put("1", 1);
    const live = lamps.live();
    assert.deepEqual(live.getSnapshot(), { data: undefined, status: "loading", sequence: 0n });
    assert.deepEqual(await live.ready, await listed(lamps.listEntities()));
    await put("0", 5);
    await put("1", 6);
    assert.deepEqual(data(live), await listed(lamps.listEntities()));
    await lamps.deleteEntity("desk", "0");
    assert.deepEqual(data(live), await listed(lamps.listEntities()));
    live.close();
  });

  test("has a filter, a limit and a first key", async () => {
    for (const row of ["1", "2", "3", "4", "5"]) await put(row, Number(row) % 2);
    const odd = lamps.live({ queryOptions: { filter: "stock eq 1" } });
    const two = lamps.live({ limit: 2, from: { partitionKey: "desk", rowKey: "2" } });
    await Promise.all([odd.ready, two.ready]);
    assert.deepEqual(
      [keys(odd), keys(two)],
      [
        ["1", "3", "5"],
        ["2", "3"],
      ],
    );
    await put("3", 0);
    await put("4", 1);
    await lamps.deleteEntity("desk", "2");
    assert.deepEqual(
      [keys(odd), keys(two)],
      [
        ["1", "4", "5"],
        ["3", "4"],
      ],
    );
    await put("25", 1);
    assert.deepEqual(keys(two), ["25", "3"]);
  });

  test("has the options that it was opened with", async () => {
    for (const rowKey of ["1", "2", "3"]) await put(rowKey, 1);
    const select: ("stock" | "name")[] = ["stock"];
    const from = { partitionKey: "desk", rowKey: "2" };
    const queryOptions = { filter: "stock eq 1", select };
    const options = { queryOptions, limit: 1, from };
    const live = lamps.live(options);
    select[0] = "name";
    from.rowKey = "3";
    queryOptions.filter = "stock eq 2";
    options.limit = 2;
    const [row, ...more] = await live.ready;
    assert.deepEqual([row?.stock, Object.keys(row ?? {}), more], [1, ["etag", "stock"], []]);
    await lamps.deleteEntity("desk", "2");
    assert.equal(data(live).length, 1);
    const wrong = lamps.live({ queryOptions: { select: "stock" } } as never);
    await assert.rejects(wrong.ready, code("ValidationFailed"));
  });

  test("selects properties like listEntities", async () => {
    await put("1", 1);
    await lamps.upsertEntity({ partitionKey: "desk", rowKey: "2", name: "no stock" }, "Replace");
    for (const select of [
      ["stock"],
      ["RowKey", "stock", "PartitionKey", "stock"],
      ["timestamp", "etag", "missing"],
      ["*", "name"],
      [],
      ["etag"],
    ]) {
      const queryOptions = { select: select as ["stock"] };
      const live = lamps.live({ queryOptions });
      assert.deepEqual(await live.ready, await listed(lamps.listEntities({ queryOptions })));
      live.close();
    }
    const live = lamps.live({ queryOptions: { select: ["stock"] } });
    await live.ready;
    await put("15", 3);
    await put("2", 4);
    await lamps.deleteEntity("desk", "1");
    assert.deepEqual(
      data(live).map(({ stock }) => stock),
      [3, 4],
    );
  });

  test("follows one entity, and counts", async () => {
    const lamp = lamps.liveEntity("desk", "it's");
    const count = lamps.liveCount({ queryOptions: { filter: "stock gt 1" } });
    assert.deepEqual([await lamp.ready, await count.ready], [undefined, 0]);
    await put("it's", 1);
    assert.deepEqual(data(lamp), await lamps.getEntity("desk", "it's"));
    assert.equal(data(count), 0);
    const before = count.getSnapshot();
    await put("1", 1);
    assert.equal(count.getSnapshot(), before);
    await put("it's", 7);
    await put("2", 7);
    assert.deepEqual([data(lamp)?.stock, data(count)], [7, 2]);
    await lamps.deleteEntity("desk", "it's");
    assert.deepEqual([data(lamp), data(count)], [undefined, 1]);
  });

  test("reads pages of more rows than one", async () => {
    const actions = Array.from({ length: 2500 }, (_, i) => {
      const rowKey = String(i).padStart(5, "0");
      return ["upsert", { partitionKey: "many", rowKey, stock: i }] as const;
    });
    await lamps.bulk(actions as never);
    const live = lamps.live();
    const count = lamps.liveCount();
    assert.equal((await live.ready).length, 2500);
    assert.equal(await count.ready, 2500);
    assert.deepEqual(data(live), await listed(lamps.listEntities()));
  });

  test("lets other tasks run while it reads many rows", async (t) => {
    const rows = Array.from({ length: 20_000 }, (_, i) => ({
      partitionKey: "desk",
      rowKey: String(i).padStart(5, "0"),
      name: "lamp",
      stock: i,
    }));
    await lamps.bulk(rows.map((row) => ["upsert", row] as const));
    const other = lamps.liveEntity("desk", "none");
    await other.ready; // what live queries do is loaded
    let now = performance.now();
    t.mock.method(performance, "now", () => (now += 4)); // each page seems to take 4 ms
    let tasks = 0;
    let task = setImmediate(function count() {
      tasks += 1;
      task = setImmediate(count);
    });
    t.after(() => clearImmediate(task));
    const queries = [lamps.live(), lamps.liveCount({ queryOptions: { filter: "stock lt 0" } })];
    await Promise.all(queries.map(({ ready }) => ready));
    assert(tasks >= 3, `${tasks}`);
    assert.deepEqual(
      queries.map((query) => data<unknown>(query)),
      [await listed(lamps.listEntities()), 0],
    );
  });

  test("lets other tasks run while many live queries are opened at once", async (t) => {
    for (let i = 0; i < 3; ++i) await put(String(i), i);
    const other = lamps.liveEntity("desk", "none");
    await other.ready; // what live queries do is loaded
    let now = performance.now();
    t.mock.method(performance, "now", () => ++now); // each request seems to take a millisecond
    const queries = Array.from({ length: 20 }, () => lamps.live());
    let ready = 0;
    const counts = [0]; // how many are ready, in each task
    let task = setImmediate(function count() {
      counts.push(ready);
      task = setImmediate(count);
    });
    t.after(() => clearImmediate(task));
    await Promise.all(queries.map(async (query) => [await query.ready, ++ready]));
    const between = [...counts, ready].map((count, i) => count - (counts[i - 1] ?? 0));
    assert(Math.max(...between) < 15, `${counts}`); // perhaps of more than one task that reads
    for (const query of queries) assert.equal(data(query).length, 3);
  });

  test("keeps objects that did not change, and never changes an array", async () => {
    for (const row of ["1", "2", "3"]) await put(row, 1);
    const live = lamps.live();
    const other = lamps.live({ queryOptions: { filter: "PartitionKey eq 'floor'" } });
    const [first] = await Promise.all([live.ready, other.ready]);
    const snapshot = live.getSnapshot();
    const unaffected = other.getSnapshot();
    assert.equal(snapshot, live.getSnapshot());
    const content = [...first];
    await put("2", 2);
    assert.notEqual(live.getSnapshot(), snapshot);
    assert.deepEqual(first, content);
    const next = data(live);
    assert.notEqual(next, first);
    assert.equal(next[0], first[0]);
    assert.notEqual(next[1], first[1]);
    assert.equal(next[2], first[2]);
    assert.equal(other.getSnapshot(), unaffected);
    assert(live.getSnapshot().sequence > snapshot.sequence);
  });

  test("keeps objects that did not change when it has to be read again", async () => {
    for (const row of ["1", "2", "3"]) await put(row, 1);
    const snapshot = await store.snapshot();
    const live = lamps.live();
    const [one, two] = await live.ready;
    const before = live.getSnapshot();
    await store.restore(snapshot);
    await put("4", 1); // no effect before the query is up to date
    await until(() => data(live).length === 4);
    assert.equal(data(live)[0], one);
    assert.equal(data(live)[1], two);
    await lamps.deleteEntity("desk", "4");
    const after = live.getSnapshot();
    assert.notEqual(after, before);
    await store.restore(snapshot);
    await store.flush();
    assert.equal(live.getSnapshot(), after);
  });

  test("calls its listeners once for each transaction, when all queries have moved", async () => {
    const live = lamps.live();
    const count = lamps.liveCount();
    await Promise.all([live.ready, count.ready]);
    const seen: number[][] = [];
    live.subscribe(() => seen.push([data(live).length, data(count)]));
    count.subscribe(() => seen.push([data(live).length, data(count)]));
    await lamps.submitTransaction([
      ["create", { partitionKey: "desk", rowKey: "1", name: "a", stock: 1 }],
      ["create", { partitionKey: "desk", rowKey: "2", name: "b", stock: 1 }],
    ]);
    assert.deepEqual(seen, [
      [2, 2],
      [2, 2],
    ]);
    live.close();
    count.close();
  });

  test("says what changed, and where", async () => {
    const live = lamps.live();
    const deltas: LiveDelta<StoredLamp>[] = [];
    const stop = live.onDelta((delta) => deltas.push(delta as LiveDelta<StoredLamp>));
    await put("2", 1);
    await live.ready;
    await put("4", 1);
    await lamps.submitTransaction([
      ["delete", { partitionKey: "desk", rowKey: "2" }],
      ["upsert", { partitionKey: "desk", rowKey: "3", name: "c", stock: 3 }],
      ["upsert", { partitionKey: "desk", rowKey: "4", name: "d", stock: 4 }],
      ["upsert", { partitionKey: "desk", rowKey: "5", name: "e", stock: 5 }],
    ]);
    const places = ({ inserted, updated, deleted }: LiveDelta<StoredLamp>) =>
      [inserted, updated, deleted].map((list) =>
        list.map(({ index, entity }) => `${index} ${entity.rowKey}`),
      );
    assert.deepEqual(deltas.map(places), [
      [["0 2"], [], []],
      [["1 4"], [], []],
      [["0 3", "2 5"], ["1 4"], ["0 2"]],
    ]);
    assert.equal(deltas[2]?.updated[0]?.previous.stock, 1);
    assert.equal(deltas[2]?.updated[0]?.entity, data(live)[1]);
    stop();
    await put("6", 1);
    assert.equal(deltas.length, 3);
  });

  test("applies deltas of many rows", async () => {
    const rows = Array.from({ length: 90 }, (_, i) => String(i + 10));
    const live = lamps.live();
    const selected = lamps.live({ queryOptions: { select: ["stock"] } });
    await Promise.all([live.ready, selected.ready]);
    const batch = (stock: number, wanted: (i: number) => boolean) =>
      rows
        .filter((_, i) => wanted(i))
        .map((rowKey) => ["upsert", { partitionKey: "desk", rowKey, name: "x", stock }] as const);
    const check = async () => {
      const expected = await listed(lamps.listEntities());
      assert.deepEqual(data(live), expected);
      assert.deepEqual(
        data(selected).map(({ etag }) => etag),
        expected.map(({ etag }) => etag),
      );
    };
    await lamps.submitTransaction(batch(1, (i) => i % 2 === 0) as never);
    await check();
    await lamps.submitTransaction(batch(2, (i) => i % 3 > 0) as never);
    await check();
    const mirror = rows.map((rowKey) => ({ rowKey }));
    await lamps.submitTransaction(
      mirror
        .filter((_, i) => i % 3 > 0)
        .map(({ rowKey }) => ["delete", { partitionKey: "desk", rowKey }]),
    );
    await check();
  });

  test("is not harmed by what its listeners do", async (t) => {
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const runners = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    t.after(() => {
      process.removeAllListeners("unhandledRejection");
      for (const runner of runners) process.on("unhandledRejection", runner);
    });
    process.on("unhandledRejection", onError);
    const live = lamps.live();
    await live.ready;
    const calls: string[] = [];
    live.subscribe(() => {
      calls.push("throws");
      throw new Error("from a listener");
    });
    const stopSecond = live.subscribe(() => {
      calls.push("writes");
      stopSecond();
      stopThird();
      if (data(live).length < 2) void put("1", 1);
    });
    const stopThird = live.subscribe(() => calls.push("was removed before its call"));
    live.subscribe(() => calls.push(`sees ${data(live).length}`));
    await put("0", 1);
    await until(() => data(live).length === 2);
    await until(() => errors.length >= 2);
    live.close();
    assert.deepEqual(calls, ["throws", "writes", "sees 1", "throws", "sees 2"]);
    assert.deepEqual(errors.map(String), ["Error: from a listener", "Error: from a listener"]);
  });

  test("yields its results", async () => {
    await put("1", 1);
    const live = lamps.live();
    const seen: number[] = [];
    const iterating = (async () => {
      for await (const rows of live) {
        seen.push(rows.length);
        if (rows.length === 4) break;
        if (rows.length === 1) {
          await Promise.all([put("2", 1), put("3", 1)]); // one result for both
        } else {
          await put("4", 1);
        }
      }
    })();
    await iterating;
    assert.deepEqual(seen, [1, 3, 4]);
    const closing = (async () => {
      for await (const _ of live);
      return "ended";
    })();
    await put("5", 1);
    live.close();
    assert.equal(await closing, "ended");
  });

  test("ends an iteration that waits when it is left", async () => {
    const live = lamps.live();
    await live.ready;
    const results = live[Symbol.asyncIterator]();
    const others = live[Symbol.asyncIterator]();
    await Promise.all([results.next(), others.next()]);
    const waiting = [results.next(), results.next(), others.next()];
    assert.deepEqual(await results.return?.(), { done: true, value: undefined });
    for (const next of [waiting[0], waiting[1], results.next()])
      assert.deepEqual(await next, { done: true, value: undefined });
    await put("1", 1);
    assert.equal((await waiting[2])?.value?.length, 1);
    live.close();
  });

  test("describes changes only to those who listened before they were shown", async () => {
    const live = lamps.live();
    await live.ready;
    const seen: string[] = [];
    void put("1", 1);
    void put("2", 1); // takes the changes of the first write
    const before = data(live);
    const stop = live.onDelta(({ inserted, updated }) => {
      seen.push(`${inserted.length} ${updated.length}`);
    });
    assert.deepEqual(before, []);
    await until(() => data(live).length === 2);
    stop();
    await put("3", 1);
    live.onDelta(({ inserted }) => seen.push(`then ${inserted.length}`));
    await put("4", 1);
    assert.deepEqual(seen.slice(-1), ["then 1"]);
    const rows = seen.slice(0, -1).reduce((sum, text) => sum + Number(text[0]), 0);
    assert.equal(rows, 2);
  });

  test("stops following changes when it is closed", async () => {
    await using live = lamps.live();
    const early = lamps.live();
    let earlyCalls = 0;
    early.subscribe(() => {
      earlyCalls += 1;
      early.close();
    });
    early.close();
    early.close();
    assert.equal(earlyCalls, 1); // it showed "loading"
    const snapshot = early.getSnapshot(); // it had no result, and gets none
    assert.deepEqual([snapshot.status, snapshot.error?.name], ["error", "AbortError"]);
    await assert.rejects(early.ready, snapshot.error);
    await live.ready;
    let calls = 0;
    live.subscribe(() => ++calls);
    await put("1", 1);
    live.close();
    await put("2", 1);
    assert.deepEqual([calls, keys(live)], [1, ["1"]]);
    const { status } = live.getSnapshot(); // it keeps its last result
    assert.equal(status, "ready");
    const again = lamps.live();
    assert.equal((await again.ready).length, 2);
    assert.equal(early.getSnapshot(), snapshot);
  });

  test("applies resolvers", async () => {
    const table = store.table<Lamp & { kind: string }>("lamps", {
      resolver: {
        discriminator: () => "lamp",
        schemas: {
          lamp: (entity) => {
            if (entity.stock === 13) throw new Error("13 is unlucky");
            return { kind: "lamp", name: String(entity.name), stock: Number(entity.stock) * 2 };
          },
        },
      },
    });
    await put("1", 2);
    const live = table.live();
    assert.deepEqual(await live.ready, await listed(table.listEntities()));
    await put("0", 3);
    assert.deepEqual(
      data(live).map(({ stock }) => stock),
      [6, 4],
    );
    await put("2", 13);
    await until(() => live.getSnapshot().status === "error");
    assert.match(String(live.getSnapshot().error), /unlucky/);
    await assert.rejects(table.live().ready, /unlucky/);
  });

  test("describes only changes of rows that it described before, if a resolver throws", async () => {
    const table = store.table<Lamp>("lamps", {
      resolver: {
        discriminator: () => "lamp",
        schemas: {
          lamp: (entity) => {
            if (entity.stock === 13) throw new Error("13 is unlucky");
            return { name: String(entity.name), stock: Number(entity.stock) };
          },
        },
      },
    });
    await put("00", 1);
    const live = table.live();
    await live.ready;
    const shown = data(live).map(({ name }) => name);
    const deltas: LiveDelta<Lamp>[] = [];
    live.onDelta((delta) => deltas.push(delta));
    // More writes than the store lets wait before it takes changes.
    for (let i = 1; i <= 20; ++i) void put(String(i).padStart(2, "0"), i === 19 ? 13 : 1);
    await until(() => live.getSnapshot().status === "error");
    assert.match(String(live.getSnapshot().error), /unlucky/);
    for (const { inserted, updated, deleted } of deltas) {
      assert.equal(updated.length, 0);
      const places = deleted.map(({ index }) => index);
      assert.deepEqual(
        places.map((index) => shown[index]),
        deleted.map(({ entity }) => entity.name),
      );
      for (const index of places.reverse()) shown.splice(index, 1);
      for (const { index, entity } of inserted) shown.splice(index, 0, entity.name);
    }
    assert.deepEqual(shown, []);
  });
});

describe("a live query fails", () => {
  test("if its filter or an option is wrong", async () => {
    const wrong = lamps.live({ queryOptions: { filter: "stock eq" } });
    await assert.rejects(wrong.ready, code("InvalidInput"));
    assert.equal(wrong.getSnapshot().status, "error");
    const { hint } = wrong.getSnapshot().error as { hint?: string };
    assert.match(hint ?? "", /after eq/); // quotes the filter
    const invalid = code("ValidationFailed");
    await assert.rejects(lamps.live({ top: 5 } as never).ready, invalid);
    await assert.rejects(lamps.live({ queryOptions: { order: 1 } } as never).ready, invalid);
    for (const limit of [0, -1, 1.5]) await assert.rejects(lamps.live({ limit }).ready, invalid);
    await assert.rejects(lamps.live({ from: { partitionKey: "p" } } as never).ready, invalid);
    const count = lamps.liveCount({ queryOptions: { select: [] } } as never);
    await assert.rejects(count.ready, invalid);
    await assert.rejects(async () => {
      for await (const _ of wrong);
    }, code("InvalidInput"));
  });

  test("if its filter is no text, while another one yields", async (t) => {
    for (let i = 0; i < 3; ++i) await put(String(i), i);
    const other = lamps.live();
    await other.ready;
    let now = performance.now();
    t.mock.method(performance, "now", () => (now += 4)); // each page seems to take 4 ms
    const wrong = [null, 5].map((filter) => lamps.live({ queryOptions: { filter } } as never));
    const queries = Array.from({ length: 5 }, () => lamps.live());
    wrong.push(lamps.liveCount({ queryOptions: { filter: null } } as never) as never);
    for (const query of wrong) {
      await assert.rejects(query.ready, code("ValidationFailed"));
      assert.equal(query.getSnapshot().status, "error");
    }
    await Promise.all(queries.map(({ ready }) => ready));
    await put("3", 3);
    for (const query of [other, ...queries]) assert.equal(data(query).length, 4);
  });

  test("while there is no table", async () => {
    const later = store.table<Lamp>("later");
    const live = later.live();
    await assert.rejects(live.ready, code("TableNotFound"));
    const { status, data: none, error } = live.getSnapshot();
    assert.deepEqual(
      [status, none, (error as { statusCode?: number }).statusCode],
      ["error", undefined, 404],
    );
    const statuses: string[] = [];
    const deltas: LiveDelta<unknown>[] = [];
    live.subscribe(() => statuses.push(live.getSnapshot().status));
    live.onDelta((delta) => deltas.push(delta));
    await later.createTable();
    await until(() => statuses.length === 1);
    assert.deepEqual(data(live), []);
    await later.createEntity({ partitionKey: "p", rowKey: "1", name: "a", stock: 1 });
    await later.deleteTable();
    await until(() => live.getSnapshot().status === "error");
    assert.equal(live.getSnapshot().data, undefined);
    assert.equal(deltas.at(-1)?.deleted.length, 1);
    await later.createTable();
    await until(() => live.getSnapshot().status === "ready");
    assert.deepEqual(data(live), []);
  });

  test("when the store is closed", async () => {
    const own = await openStore({ persistence: "memory" });
    const table = own.table<Lamp>("lamps");
    await table.createTable();
    const live = table.live();
    await live.ready;
    let calls = 0;
    live.subscribe(() => ++calls);
    const iterating = (async () => {
      for await (const _ of live);
      return "ended";
    })();
    await own.close();
    assert.equal(await iterating, "ended");
    const { status, error, data: last } = live.getSnapshot();
    assert.deepEqual([calls, status, last], [1, "error", []]);
    code("StoreClosed")(error);
    await assert.rejects(table.live().ready, code("StoreClosed"));
  });
});
