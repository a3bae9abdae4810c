// Tests queries that are functions of several reads, with an engine in this thread.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { LiveQuery, Reader, Resolver, Store, Table } from "../../web/src/types.ts";
import { openStore, packageFolder } from "./support/package.ts";
import { until } from "./support/until.ts";

interface Lamp {
  name: string;
  stock: number;
}

let store: Store;
let lamps: Table<Lamp>;
let rooms: Table<{ lamp: string }>;

beforeEach(async () => {
  store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  lamps = store.table<Lamp>("lamps");
  rooms = store.table("rooms");
  await lamps.createTable();
  await rooms.createTable();
});
afterEach(() => store.close());

const lamp = (rowKey: string, stock: number, partitionKey = "desk") => ({
  partitionKey,
  rowKey,
  name: `lamp ${rowKey}`,
  stock,
});
const put = (rowKey: string, stock: number, partitionKey = "desk") =>
  lamps.upsertEntity(lamp(rowKey, stock, partitionKey), "Replace");
const putRoom = (rowKey: string, key: string) =>
  rooms.upsertEntity({ partitionKey: "home", rowKey, lamp: key });

const data = <R>(live: LiveQuery<R>): R => {
  const { status, data, error } = live.getSnapshot();
  assert.equal(status, "ready", String(error));
  return data as R;
};

async function turns(): Promise<void> {
  for (let i = 0; i < 20; ++i) await turn();
}

function code(expected: string) {
  return (error: unknown) => {
    const { code, name } = error as { code?: string; name: string };
    assert.equal(code ?? name, expected);
    return true;
  };
}

// Opens an observed query, and counts its runs and its results.
function observe<R>(query: (read: Reader) => R | Promise<R>) {
  const counts = { runs: 0, results: 0 };
  const live = store.observe((read) => {
    counts.runs += 1;
    return query(read);
  });
  live.subscribe(() => {
    counts.results += 1;
  });
  return { live, counts };
}

const stockInRooms = async (read: Reader) => {
  const all = await read.entities(rooms);
  const found = await Promise.all(all.map(({ lamp }) => read.entity(lamps, "desk", lamp)));
  return found.map((lamp) => lamp?.stock);
};

describe("an observed query", () => {
  test("follows reads of several tables that depend on each other", async () => {
    await put("1", 10);
    await put("2", 20);
    await putRoom("attic", "1");
    const { live } = observe(stockInRooms);
    assert.deepEqual(live.getSnapshot(), { data: undefined, status: "loading", sequence: 0n });
    assert.deepEqual(await live.ready, [10]);
    await put("1", 11);
    await until(() => data(live)[0] === 11);
    await putRoom("attic", "2");
    await until(() => data(live)[0] === 20);
    await putRoom("cellar", "3");
    await until(() => data(live).length === 2);
    assert.deepEqual(data(live), [20, undefined]);
    await put("3", 30);
    await until(() => data(live)[1] === 30);
  });

  test("runs only if a commit has changed what a read returned", async () => {
    for (const key of ["1", "2", "3"]) await put(key, 1);
    await put("1", 1, "floor");
    const { live, counts } = observe(async (read) => [
      await read.entities(lamps, {
        queryOptions: { filter: "PartitionKey eq 'desk' and stock eq 1" },
        limit: 2,
      }),
      await read.count(lamps, { queryOptions: { filter: "PartitionKey eq 'floor'" } }),
    ]);
    await live.ready;
    const snapshot = live.getSnapshot();
    await put("4", 2); // does not match
    await put("4", 3);
    await put("3", 1); // behind the limit
    await put("1", 1, "floor"); // the count is the same
    await put("1", 1, "shelf"); // another partition
    await putRoom("attic", "1"); // another table
    await turns();
    assert.deepEqual(counts, { runs: 1, results: 1 });
    assert.equal(live.getSnapshot(), snapshot);
    await put("1", 2); // leaves
    await until(() => counts.runs === 2);
    await put("1", 1); // enters
    await until(() => counts.runs === 3);
    await put("2", 1, "floor"); // is counted
    await until(() => counts.results === 4);
    await turns();
    assert.equal(counts.runs, 4);
    assert(live.getSnapshot().sequence > snapshot.sequence);
  });

  test("no longer runs for what the last run did not read", async () => {
    await putRoom("attic", "1");
    const { live, counts } = observe(stockInRooms);
    await live.ready;
    await putRoom("attic", "2");
    await until(() => counts.runs === 2);
    await turns();
    await put("1", 10);
    await turns();
    assert.equal(counts.runs, 2);
    await put("2", 20);
    await until(() => data(live)[0] === 20);
    assert.deepEqual(counts, { runs: 3, results: 2 }); // the second run had an equal result
  });

  test("does not wait for reads whose results are not awaited, nor follow them", async (t) => {
    let now = performance.now();
    t.mock.method(performance, "now", () => (now += 10)); // each page is read in its own task
    const rows = Array.from({ length: 5000 }, (_, i) => ["upsert", lamp(`${i}`, i)] as const);
    await lamps.bulk(rows);
    const { live, counts } = observe((read) => {
      void read.entities(lamps).catch(() => {});
      return "first";
    });
    assert.equal(await live.ready, "first");
    await turns();
    await put("1", 7);
    await turns();
    assert.deepEqual(counts, { runs: 1, results: 1 });
  });

  test("gives a run the same objects for what has not changed", async () => {
    for (const key of ["1", "2"]) await put(key, 1);
    await putRoom("attic", "1");
    const { live } = observe(async (read) => ({
      lamps: await read.entities(lamps),
      same: await read.entities(lamps),
      rooms: await read.entities(rooms),
    }));
    const first = await live.ready;
    assert.equal(first.lamps, first.same);
    await put("2", 2);
    await until(() => data(live) !== first);
    assert.equal(data(live).rooms, first.rooms);
    assert.notEqual(data(live).lamps, first.lamps);
    assert.equal(data(live).lamps[0], first.lamps[0]);
    assert.equal(first.lamps[1]?.stock, 1);
  });

  test("gives a run the same objects through a new handle with the same resolver", async () => {
    await put("1", 1);
    const resolver: Resolver<{ twice: number }> = {
      discriminator: () => "lamp",
      schemas: { lamp: ({ stock }) => ({ twice: Number(stock) * 2 }) },
    };
    const { live } = observe(async (read) => ({
      count: await read.count(rooms),
      lamps: await read.entities(store.table<{ twice: number }>("lamps", { resolver })),
    }));
    const first = await live.ready;
    await putRoom("attic", "1");
    await until(() => data(live).count === 1);
    assert.equal(data(live).lamps, first.lamps);
  });

  test("does not let a function change what it has read", async () => {
    for (const key of ["1", "2"]) await put(key, 1);
    const sort = async (read: Reader) => ((await read.entities(lamps)) as unknown as Lamp[]).sort();
    const { live } = observe(sort);
    await assert.rejects(live.ready, TypeError);
    const { live: other } = observe(async (read) => [...(await read.entities(lamps))].reverse());
    await other.ready;
    await put("3", 2);
    await until(() => data(other).length === 3);
    assert.deepEqual(
      data(other).map(({ rowKey }) => rowKey),
      ["3", "2", "1"],
    );
  });

  test("shows an equal result as the same object, without calling listeners", async () => {
    await put("1", 1);
    let results: unknown[] = [];
    const { live, counts } = observe(async (read) => {
      await read.entities(lamps);
      return results.shift();
    });
    const cycle = () => {
      const one: Record<string, unknown> = { name: "one" };
      one["self"] = one;
      return one;
    };
    const equal = () => [
      [],
      { a: [1, { b: "text" }], none: undefined, zero: 0 },
      [new Date(5), new Uint8Array([1, 2])],
      cycle(),
      null,
    ];
    class Lamp {
      stock = 1;
    }
    const different: [unknown, unknown][] = [
      [[], {}],
      [{ a: undefined }, { b: undefined }],
      [{ a: {} }, { a: undefined }],
      [[1, 2], [1]],
      [new Date(5), new Date(6)],
      [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
      [new Map(), new Map()],
      [new DataView(new ArrayBuffer(1)), new DataView(new ArrayBuffer(1))],
      [new Lamp(), new Lamp()],
      [new Array(2), []],
      [cycle(), { name: "one", self: {} }],
      [{ a: 1 }, 1],
      [0, -0],
    ];
    const pairs = equal().map((value, i) => [value, equal()[i]]);
    results = [...pairs, ...different].flat();
    const [first] = results;
    assert.equal(await live.ready, first);
    for (let run = 2; results.length > 0; ++run) {
      const before = { snapshot: live.getSnapshot(), results: counts.results };
      const [next] = results;
      await put("1", run);
      await until(() => counts.runs === run);
      await turns();
      const isSame = run <= 2 * pairs.length && run % 2 === 0;
      assert.equal(live.getSnapshot() === before.snapshot, isSame, `run ${run}`);
      assert.equal(counts.results, before.results + (isSame ? 0 : 1));
      if (!isSame) assert.equal(data(live), next);
    }
  });

  test("keeps bytes that are equal to those before", async () => {
    const bytes = () => new Uint8Array(8 << 20);
    const { live, counts } = observe(async (read) => {
      await read.count(lamps);
      return bytes();
    });
    const first = await live.ready;
    await put("1", 1);
    await until(() => counts.runs === 2);
    await turns();
    assert.equal(data(live), first);
  });

  test("runs once for many commits of a task", async () => {
    const { live, counts } = observe((read) => read.entities(lamps));
    await live.ready;
    for (let i = 0; i < 200; ++i) await put(String(i), i); // deferred: there is no other task
    await until(() => data(live).length === 200);
    assert.equal(counts.runs, 2);
  });

  test("has no deltas, and can be iterated", async () => {
    await put("1", 1);
    const live = store.observe((read) => read.count(lamps));
    live.onDelta(() => assert.fail("a delta"));
    const seen: number[] = [];
    for await (const count of live) {
      seen.push(count);
      if (count === 3) break;
      await put(`${count + 1}`, 1);
    }
    assert.deepEqual(seen, [1, 2, 3]);
  });

  test("reads with the options of live queries, and with resolvers", async () => {
    for (const key of ["1", "2", "3"]) await put(key, 1);
    const resolved = store.table<{ twice: number }>("lamps", {
      resolver: {
        discriminator: () => "lamp",
        schemas: { lamp: ({ stock }) => ({ twice: Number(stock) * 2 }) },
      },
    });
    const { live, counts } = observe(async (read) => {
      const from = { partitionKey: "desk", rowKey: "2" };
      return {
        selected: await read.entities(lamps, {
          queryOptions: { select: ["stock"] },
          limit: 1,
          from,
        }),
        resolved: (await read.entities(resolved)).map(({ twice }) => twice),
        one: (await read.entity(resolved, "desk", "1"))?.twice,
        plain: (await read.entity(lamps, "desk", "1"))?.stock,
      };
    });
    const { selected, ...others } = await live.ready;
    assert.deepEqual(Object.keys(selected[0] ?? {}), ["etag", "stock"]);
    assert.deepEqual(others, { resolved: [2, 2, 2], one: 2, plain: 1 });
    await put("1", 5);
    await until(() => data(live).one === 10);
    assert.deepEqual(data(live).resolved, [10, 2, 2]);
    assert.equal(counts.runs, 2);
  });
});

describe("a run of an observed query", () => {
  test("reads one version, and is dropped if that changes", async () => {
    await put("1", 1);
    await putRoom("attic", "1");
    const outcomes: string[] = [];
    let running = 0;
    let slow: (() => void) | undefined;
    const { live, counts } = observe(async (read) => {
      assert.equal(++running, 1, "runs overlap");
      try {
        const stock = (await read.entity(lamps, "desk", "1"))?.stock;
        if (counts.runs === 1)
          await new Promise<void>((resolve) => {
            slow = resolve;
          });
        const other = (await read.entity(lamps, "desk", "2"))?.stock;
        outcomes.push(`${stock} ${other}`);
        return `${stock} ${other}`;
      } catch (error) {
        outcomes.push((error as Error).name);
        throw error;
      } finally {
        running -= 1;
      }
    });
    await until(() => slow !== undefined);
    const write = (stock: number) =>
      lamps.submitTransaction(["1", "2"].map((key) => ["upsert", lamp(key, stock)] as const));
    await write(2);
    await write(3);
    await turns();
    assert.deepEqual(counts, { runs: 1, results: 0 }); // the next run waits for this one
    slow?.();
    assert.equal(await live.ready, "3 3");
    assert.deepEqual(outcomes, ["AbortError", "3 3"]);
    assert.deepEqual(counts, { runs: 2, results: 1 });
  });

  test("goes on if something changes that it has not read yet", async () => {
    await put("1", 1);
    let slow: (() => void) | undefined;
    const { live, counts } = observe(async (read) => {
      const first = await read.entity(lamps, "desk", "1");
      await new Promise<void>((resolve) => {
        slow = resolve;
      });
      return `${first?.stock} ${(await read.entity(lamps, "desk", "2"))?.stock}`;
    });
    await until(() => slow !== undefined);
    await put("2", 2);
    await turns();
    slow?.();
    assert.equal(await live.ready, "1 2");
    assert.equal(counts.runs, 1);
  });

  test("is dropped with its error if what it has read changes", async () => {
    await put("1", 1);
    let slow: (() => void) | undefined;
    const { live, counts } = observe(async (read) => {
      const count = await read.count(lamps);
      if (count === 2) return count;
      await new Promise<void>((resolve) => {
        slow = resolve;
      });
      throw new Error("of an old version");
    });
    await until(() => slow !== undefined);
    await put("2", 1);
    slow?.();
    assert.equal(await live.ready, 2);
    assert.deepEqual(counts, { runs: 2, results: 1 });
  });

  test("keeps what it has read for the next run, so that many writes cannot delay it", async (t) => {
    const { LiveConnection } = await import(
      new URL("dist/client/live-connection.js", packageFolder).href
    );
    const { mock } = t.mock.method(LiveConnection.prototype, "openQuery");
    for (let i = 0; i < 5; ++i) await put(`${i}`, i);
    const depth = 5;
    const { live } = observe(async (read) => {
      let sum = 0;
      for (let i = 0; i < depth; ++i) sum += (await read.entity(lamps, "desk", `${i}`))?.stock ?? 0;
      return sum;
    });
    await live.ready;
    let writes = 0;
    let results = 0;
    live.subscribe(() => {
      results += 1;
    });
    while (results < 20 && writes < 1000) {
      await put(`${writes % depth}`, ++writes);
      await turn();
    }
    assert(results === 20, `${results} results, ${writes} writes`);
    assert.equal(mock.callCount(), depth); // nothing was read again
  });

  test("reads no error of an older version while rows are being read", async (t) => {
    const later = store.table<Lamp>("later");
    await later.createTable();
    const rows = Array.from({ length: 3500 }, (_, i) => ["upsert", lamp(`${i}`, i)] as const);
    await later.bulk(rows);
    await put("1", 2);
    const snapshot = await store.snapshot();
    await later.deleteTable();
    await put("1", 1);
    const { live } = observe(async (read) => {
      const count = (list: readonly unknown[]) => `${list.length} rows`;
      const found = await read.entities(later).then(count, (error) => error.code);
      return `${found}, stock ${(await read.entity(lamps, "desk", "1"))?.stock}`;
    });
    assert.equal(await live.ready, "TableNotFound, stock 1");
    const seen: unknown[] = [];
    live.subscribe(() => seen.push(live.getSnapshot().data));
    let now = performance.now();
    t.mock.method(performance, "now", () => (now += 10)); // each page is read in its own task
    await store.restore(snapshot);
    await until(() => seen.at(-1) === "3500 rows, stock 2");
    assert.deepEqual(seen, ["3500 rows, stock 2"]);
  });

  test("keeps what the last result was made of, also while runs are dropped", async () => {
    for (const key of ["1", "2"]) await put(key, 1);
    await putRoom("attic", "1");
    const gates: (() => void)[] = [];
    const pause = () => new Promise<void>((resolve) => gates.push(resolve));
    const { live, counts } = observe(async (read) => {
      const stock = (await read.entity(lamps, "desk", "1"))?.stock;
      if (counts.runs === 3) await pause();
      const all = await read.entities(rooms);
      if (counts.runs === 2) await pause();
      return { stock, all };
    });
    const first = await live.ready;
    await put("1", 2);
    await until(() => gates.length === 1);
    await put("1", 3); // run 2 has read all, run 3 only the lamp
    gates[0]?.();
    await until(() => gates.length === 2);
    await put("1", 4);
    gates[1]?.();
    await until(() => data(live).stock === 4);
    assert.deepEqual(counts, { runs: 4, results: 2 });
    assert.equal(data(live).all, first.all);
  });

  test("cannot read after it has ended", async () => {
    let kept: Reader | undefined;
    const { live } = observe((read) => {
      kept = read;
      return read.count(lamps);
    });
    await live.ready;
    await assert.rejects((kept as Reader).count(lamps), code("AbortError"));
    live.close();
    await assert.rejects((kept as Reader).count(lamps), code("AbortError"));
  });
});

describe("an observed query fails", () => {
  test("with the error of its function, until what it has read changes", async () => {
    const { live } = observe(async (read) => {
      const count = await read.count(lamps);
      if (count === 0) throw new RangeError("none");
      if (count === 1) throw "text";
      return count;
    });
    await assert.rejects(live.ready, RangeError);
    assert.equal(live.getSnapshot().data, undefined);
    await put("1", 1);
    await until(() => live.getSnapshot().error?.message === "text");
    await put("2", 1);
    await until(() => live.getSnapshot().status === "ready");
    assert.equal(data(live), 2);
    const { live: sync } = observe(() => {
      throw new RangeError("at once");
    });
    await assert.rejects(sync.ready, RangeError);
  });

  test("without unhandled rejections of the reads that it did not await", async (t) => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", listener);
    t.after(() => process.off("unhandledRejection", listener));
    await put("1", 1);
    let pause: (() => void) | undefined;
    const { live, counts } = observe(async (read) => {
      const lampCount = await read.count(lamps);
      if (counts.runs === 1)
        await new Promise<void>((resolve) => {
          pause = resolve;
        });
      const [one, other] = [read.count(rooms), read.count(lamps)];
      return [lampCount, await one, await other];
    });
    await until(() => pause !== undefined);
    await put("2", 1);
    pause?.();
    assert.deepEqual(await live.ready, [2, 0, 2]);
    const closed = observe(async (read) => {
      const [one, other] = [read.entities(lamps), read.entities(rooms)];
      closed.live.close();
      return [await one, await other];
    });
    await assert.rejects(closed.live.ready, code("AbortError"));
    await turns();
    assert.deepEqual(unhandled, []);
  });

  test("if it throws a value that has no text", async () => {
    const { live } = observe(async (read) => {
      if ((await read.count(lamps)) === 0) throw Object.create(null);
      return "one";
    });
    await assert.rejects(live.ready, Error);
    await put("1", 1);
    await until(() => live.getSnapshot().data === "one");
  });

  test("not if two results cannot be compared", async () => {
    const result = (name: string) => ({
      name,
      get stock() {
        throw new Error("not known");
      },
    });
    const { live } = observe(async (read) => result(`${await read.count(lamps)}`));
    assert.equal((await live.ready).name, "0");
    await put("1", 1);
    await until(() => data(live).name === "1");
  });

  test("while there is no table, unless it expects that", async () => {
    const later = store.table<Lamp>("later");
    const { live } = observe((read) => read.entities(later));
    const { live: tolerant } = observe((read) => read.count(later).catch(() => -1));
    await assert.rejects(live.ready, code("TableNotFound"));
    assert.equal(await tolerant.ready, -1);
    await later.createTable();
    await until(() => live.getSnapshot().status === "ready" && data(tolerant) === 0);
    await later.createEntity({ partitionKey: "p", rowKey: "1", name: "a", stock: 1 });
    await until(() => data(live).length === 1 && data(tolerant) === 1);
    await later.deleteTable();
    await until(() => live.getSnapshot().status === "error" && data(tolerant) === -1);
  });

  test("if a read is wrong, and follows its other reads", async () => {
    const other = await openStore({ persistence: "memory" });
    const foreign = other.table<Lamp>("lamps");
    const wrong: [(read: Reader) => Promise<unknown>, string][] = [
      [(read) => read.entities(lamps, { queryOptions: { filter: "stock eq" } }), "InvalidInput"],
      [(read) => read.entities(lamps, { limit: 0 }), "ValidationFailed"],
      [(read) => read.entities(lamps, { limit: 5n } as never), "ValidationFailed"],
      [(read) => read.entities(lamps, { top: 5 } as never), "ValidationFailed"],
      [(read) => read.count(lamps, { limit: 5 } as never), "ValidationFailed"],
      [(read) => read.entity(lamps, "desk", undefined as never), "Error"],
      [(read) => read.entities(foreign), "ValidationFailed"],
      [(read) => read.count("lamps" as never), "ValidationFailed"],
      [(read) => read.entity(undefined as never, "desk", "1"), "ValidationFailed"],
    ];
    for (const [query, expected] of wrong) {
      const { live, counts } = observe(async (read) => {
        if ((await read.count(lamps, { queryOptions: { filter: "stock eq 7" } })) > 0)
          return "seven";
        return await query(read);
      });
      await assert.rejects(live.ready, code(expected));
      await put("7", 7);
      await until(() => live.getSnapshot().data === "seven");
      assert.equal(counts.runs, 2);
      await lamps.deleteEntity("desk", "7");
      await until(() => live.getSnapshot().status === "error");
      live.close();
    }
    await assert.rejects(store.observe("query" as never).ready, code("ValidationFailed"));
    await other.close();
  });

  test("if the options of a read are wrong that another read has, too", async () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const wrong = [
      { limit: Number.NaN },
      { limit: Number.POSITIVE_INFINITY },
      { limit: null },
      { from: null },
      { queryOptions: { filter: null } },
      { queryOptions: { filter: cycle } },
    ];
    for (const options of wrong) {
      const { live } = observe(async (read) => [
        await read.entities(lamps),
        await read.entities(lamps, options as never),
      ]);
      await assert.rejects(live.ready, code("ValidationFailed"));
      live.close();
    }
  });

  test("if a resolver does, until another run", async () => {
    await put("13", 13);
    const unlucky = store.table<{ stock: number }>("lamps", {
      resolver: {
        discriminator: () => "lamp",
        schemas: {
          lamp: ({ stock }) => {
            if (stock === 13) throw new Error("unlucky");
            return { stock: Number(stock) };
          },
        },
      },
    });
    const { live } = observe(async (read) => {
      await read.count(rooms);
      return (await read.entities(unlucky)).length;
    });
    await assert.rejects(live.ready, /unlucky/);
    await put("13", 12);
    await putRoom("attic", "1");
    await until(() => live.getSnapshot().status === "ready");
    assert.equal(data(live), 1);
  });
});

describe("an observed query ends", () => {
  test("not when its function rejects because another store is closed", async () => {
    const other = await openStore({ persistence: "memory" });
    const elsewhere = other.table("lamps");
    await other.close();
    const live = store.observe(async (read) => {
      if ((await read.count(lamps)) === 1) await elsewhere.getEntity("desk", "1");
      return "nothing";
    });
    const iterating = (async () => {
      for await (const _ of live) await put("1", 1);
    })();
    await assert.rejects(iterating, code("StoreClosed"));
    await put("2", 1);
    await until(() => live.getSnapshot().status === "ready");
  });

  test("when it is closed, also during a run or before the first", async () => {
    await put("1", 1);
    const early = observe((read) => read.count(lamps));
    early.live.close();
    await assert.rejects(early.live.ready, code("AbortError"));
    await turns();
    assert.equal(early.counts.runs, 0);

    const outcomes: string[] = [];
    let slow: (() => void) | undefined;
    const { live, counts } = observe(async (read) => {
      const count = await read.count(lamps);
      if (count === 2)
        await new Promise<void>((resolve) => {
          slow = resolve;
        });
      return await read.entities(lamps).catch((error: Error) => {
        outcomes.push(error.name);
        throw error;
      });
    });
    await live.ready;
    await put("2", 1);
    await until(() => slow !== undefined);
    live.close();
    slow?.();
    await put("3", 1);
    await turns();
    assert.deepEqual([outcomes, counts.runs], [["AbortError"], 2]);
    assert.equal(data(live).length, 1); // the last result
  });

  test("when the store is closed, even if it reads nothing", async () => {
    const own = await openStore({ persistence: "memory" });
    const table = own.table<Lamp>("lamps");
    await table.createTable();
    const constant = own.observe(() => 5);
    const count = own.observe((read) => read.count(table));
    let outcome = "";
    let hasRead = false;
    const waiting = own.observe(async (read) => {
      await read.count(table);
      hasRead = true;
      while (outcome === "") {
        await turn();
        await read.count(table).catch((error) => {
          outcome = error.code;
        });
      }
    });
    const iterating = (async () => {
      for await (const _ of count);
      return "ended";
    })();
    assert.deepEqual([await constant.ready, await count.ready], [5, 0]);
    await until(() => hasRead);
    await own.close();
    assert.equal(await iterating, "ended");
    await until(() => outcome !== "");
    assert.equal(outcome, "StoreClosed");
    for (const live of [constant, count, waiting]) code("StoreClosed")(live.getSnapshot().error);
    assert.deepEqual([constant.getSnapshot().data, count.getSnapshot().data], [5, 0]);
    await assert.rejects(own.observe(() => 5).ready, code("StoreClosed"));
  });
});

describe("explain() of a live query", () => {
  test("counts the rows, and warns if each write is tested", async () => {
    for (const key of ["1", "2", "3"]) await put(key, Number(key));
    await put("1", 1, "floor");
    const warned = async (live: LiveQuery<unknown>) => {
      const { rowsWatched, warnings } = await live.explain();
      for (const { message, help } of warnings) assert(message.includes("lamps") && help !== "");
      return [rowsWatched, ...warnings.map(({ code }) => code)];
    };
    const filtered = (filter: string) => ({ queryOptions: { filter } });
    const all = lamps.live();
    assert.deepEqual(await warned(all), [4, "EveryWriteTested"]);
    assert.deepEqual(await warned(lamps.live(filtered("stock gt 1"))), [2, "EveryWriteTested"]);
    assert.deepEqual(await warned(lamps.live({ limit: 1 })), [1, "EveryWriteTested"]);
    assert.deepEqual(await warned(lamps.liveCount(filtered("stock gt 2"))), [
      1,
      "EveryWriteTested",
    ]);
    assert.deepEqual(await warned(lamps.live(filtered("PartitionKey eq 'desk'"))), [3]);
    assert.deepEqual(await warned(lamps.live(filtered("PartitionKey gt 'e'"))), [1]);
    const from = { partitionKey: "desk", rowKey: "3" };
    assert.deepEqual(await warned(lamps.live({ from })), [2]);
    assert.deepEqual(await warned(lamps.liveEntity("desk", "1")), [1]);
    assert.deepEqual(await warned(lamps.liveEntity("desk", "none")), [0]);
    await put("4", 4);
    assert.deepEqual(await warned(all), [5, "EveryWriteTested"]);
    all.close();
    assert.deepEqual(await warned(all), [0]);
  });

  test("sums the reads of an observed query", async () => {
    for (const key of ["1", "2"]) await put(key, 1);
    await putRoom("attic", "1");
    const observed = store.observe(async (read) => [
      await read.entities(lamps),
      await read.count(lamps),
      await read.entity(rooms, "home", "attic"),
    ]);
    const { rowsWatched, warnings } = await observed.explain();
    assert.deepEqual([rowsWatched, warnings.length], [5, 1]);
    observed.close();
    assert.deepEqual(await observed.explain(), { rowsWatched: 0, warnings: [] });
  });

  test("rejects with the error of the query", async () => {
    const wrong = lamps.live({ queryOptions: { filter: "stock eq" } });
    await assert.rejects(wrong.explain(), code("InvalidInput"));
    const later = store.table<Lamp>("later").live();
    await assert.rejects(later.explain(), code("TableNotFound"));
    await store.table("later").createTable();
    await until(() => later.getSnapshot().status === "ready");
    assert.equal((await later.explain()).rowsWatched, 0);
  });
});
