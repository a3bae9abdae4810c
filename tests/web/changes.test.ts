// Tests the change feed with an engine in this thread.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ChangeBatch, ChangeFeed, Store, Table } from "../../web/src/types.ts";
import { openStore } from "./support/package.ts";

let store: Store;
let lamps: Table;

beforeEach(async () => {
  store = await openStore({ persistence: "memory", durability: "deferred" });
  lamps = store.table("lamps");
  await lamps.createTable();
});
afterEach(() => store.close());

const put = (rowKey: string, stock = 1, partitionKey = "desk") =>
  lamps.upsertEntity({ partitionKey, rowKey, stock }, "Replace");

// Closes the store, and reads what is left in the feed.
async function readAll(feed: ChangeFeed): Promise<ChangeBatch[]> {
  await store.close();
  const batches: ChangeBatch[] = [];
  for await (const batch of feed) batches.push(batch);
  return batches;
}

async function read(feed: ChangeFeed, count: number): Promise<ChangeBatch[]> {
  const batches: ChangeBatch[] = [];
  while (batches.length < count) {
    const { done, value } = await feed.next();
    if (done) break;
    batches.push(value);
  }
  return batches;
}

const texts = ({ changes, tables = [] }: ChangeBatch) => [
  ...changes.map(({ table, op, partitionKey, rowKey, after, before }) =>
    [table, op, partitionKey, rowKey, after?.stock, before?.stock].join(" "),
  ),
  ...tables.map(({ table, op }) => `${op} ${table}`),
];

function code(expected: string) {
  return (error: unknown) => {
    assert.equal((error as { code?: string }).code, expected);
    return true;
  };
}

describe("the change feed", () => {
  test("has a batch for each commit, in order", async () => {
    const feed = store.changes();
    await feed.ready;
    const beginning = Date.now();
    void put("1");
    void put("1", 2);
    await lamps.submitTransaction([
      ["delete", { partitionKey: "desk", rowKey: "1" }],
      ["create", { partitionKey: "desk", rowKey: "2", stock: 3 }],
    ]);
    await store.table("floor").createTable();
    await lamps.deleteTable();
    const batches = await readAll(feed);
    assert.deepEqual(batches.map(texts), [
      ["lamps insert desk 1 1 "],
      ["lamps update desk 1 2 "],
      ["lamps delete desk 1  ", "lamps insert desk 2 3 "],
      ["create floor"],
      ["delete lamps"],
    ]);
    const numbers = batches.map(({ sequence }) => sequence);
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => (numbers[0] as bigint) + BigInt(i)),
    );
    for (const { at, origin } of batches) {
      assert.equal(origin, "local");
      assert(Math.abs(at.getTime() - beginning) < 60_000);
    }
    assert(!("tables" in (batches[0] as object)));
  });

  test("has the whole entities, after and before the change", async () => {
    await put("1", 1);
    const before = await lamps.getEntity("desk", "1");
    const feed = store.changes({ before: true });
    await feed.ready;
    await put("1", 2);
    const after = await lamps.getEntity("desk", "1");
    await lamps.deleteEntity("desk", "1");
    const [update, removal, ...others] = await readAll(feed);
    assert.deepEqual(others, []);
    assert.deepEqual(update?.changes[0]?.before, before);
    assert.deepEqual(update?.changes[0]?.after, after);
    assert.deepEqual(removal?.changes[0]?.before, after);
    assert.equal(removal?.changes[0]?.after, undefined);
  });

  test("has the text and the type of each property, if it wants that", async () => {
    const feeds = [store.changes(), store.changes({ disableTypeConversion: true, before: true })];
    for (const feed of feeds) await feed.ready;
    const live = lamps.live();
    await live.ready;
    const time = { value: "2026-01-02T03:04:05.1234567Z", type: "DateTime" } as const;
    const [whole, large] = [{ value: 3, type: "Double" } as const, 9007199254740993n];
    const key = { partitionKey: "desk", rowKey: "1" };
    await lamps.upsertEntity({ ...key, stock: 1, whole, large, time });
    await lamps.deleteEntity("desk", "1");
    await put("2");
    const [converted, typed] = await Promise.all(feeds.map((feed) => read(feed, 3)));
    const entity = converted?.[0]?.changes[0]?.after;
    assert.deepEqual([entity?.["whole"], entity?.["large"]], [3, large]);
    const { etag, timestamp, ...properties } = typed?.[0]?.changes[0]?.after ?? {};
    assert.deepEqual(properties, {
      ...key,
      stock: { value: "1", type: "Int32" },
      whole: { value: "3", type: "Double" },
      large: { value: "9007199254740993", type: "Int64" },
      time,
    });
    assert.deepEqual([etag, timestamp], [entity?.etag, entity?.timestamp]);
    assert.deepEqual(typed?.[1]?.changes[0]?.before, { ...properties, etag, timestamp });
    assert.equal(live.getSnapshot().data?.[0]?.["stock"], 1);
    live.close();
  });

  test("knows the position after which another feed continues", async () => {
    const feed = store.changes({ tables: ["chairs"] });
    assert.equal(feed.position, undefined);
    const all = store.changes();
    await Promise.all([feed.ready, all.ready]);
    const began = all.position ?? 0n;
    assert.equal<bigint | undefined>(feed.position, began);
    const strict = store.table("lamps", { durability: "strict" });
    for (const rowKey of ["1", "2"]) await strict.createEntity({ partitionKey: "desk", rowKey });
    await read(all, 1);
    assert.equal(all.position, began + 1n); // a batch waits
    const [second] = await read(all, 1);
    assert.equal(all.position, second?.sequence);
    // It has returned nothing.
    assert.equal<bigint | undefined>(feed.position, second?.sequence);
  });

  test("is limited to tables, keys and a filter", async () => {
    const floor = store.table("floor");
    await floor.createTable();
    const feeds = [
      store.changes({ tables: ["FLOOR"] }),
      store.changes({ partitionKey: "desk" }),
      store.changes({ partitionKey: "desk", rowKey: { from: "2", to: "4" } }),
      store.changes({ filter: "stock gt 5" }),
    ];
    for (const feed of feeds) await feed.ready;
    for (const row of ["1", "2", "3", "4"]) await put(row, Number(row) * 2);
    await put("1", 1, "desktop");
    await floor.upsertEntity({ partitionKey: "f", rowKey: "1", stock: 7 });
    await put("4", 0); // the filter matches the entity before
    const rows = async (feed: ChangeFeed) =>
      (await readAll(feed)).flatMap(({ changes }) => changes.map(({ rowKey }) => rowKey));
    assert.deepEqual(await Promise.all(feeds.map(rows)), [
      ["1"], // in the table
      ["1", "2", "3", "4", "4"], // in the partition
      ["2", "3"], // between the row keys
      ["3", "4", "1", "4"], // matching
    ]);
  });

  test("has what REST, imports and merged snapshots write", async () => {
    await put("1", 1);
    const snapshot = await store.snapshot();
    const feed = store.changes();
    await feed.ready;
    await store.fetch(
      `https://default.table.core.windows.net/lamps(PartitionKey='desk',RowKey='1')`,
      {
        method: "DELETE",
        headers: { "If-Match": "*" },
      },
    );
    await store.import('{"PartitionKey":"desk","RowKey":"9","stock":9}', {
      table: "lamps",
      format: "ndjson",
    });
    await store.restore(snapshot, { mode: "merge" });
    const batches = await readAll(feed);
    assert.deepEqual(batches.map(texts), [
      ["lamps delete desk 1  "],
      ["lamps insert desk 9 9 "],
      ["lamps insert desk 1 1 "],
    ]);
    assert.deepEqual(
      batches.map(({ origin }) => origin),
      ["local", "local", "restore"],
    );
  });

  test("ends when it is left, aborted or the store closes", async () => {
    const own = await openStore({ persistence: "memory" });
    const table = own.table("lamps");
    await table.createTable();
    const left = own.changes();
    await left.ready;
    const entity = { partitionKey: "p", rowKey: "1" };
    setTimeout(() => void table.createEntity(entity));
    for await (const { changes } of left) {
      assert.equal(changes.length, 1);
      break;
    }
    assert.deepEqual(await left.next(), { done: true, value: undefined });

    const abort = new AbortController();
    const aborted = own.changes({ signal: abort.signal });
    const pending = aborted.next();
    await aborted.ready;
    abort.abort();
    await assert.rejects(pending, { name: "AbortError" });
    assert.deepEqual(await aborted.next(), { done: true, value: undefined });
    const late = own.changes({ signal: abort.signal });
    await assert.rejects(late.next(), { name: "AbortError" });

    const open = own.changes();
    await open.ready;
    await table.deleteEntity("p", "1");
    await own.close();
    assert.equal((await open.next()).value?.changes.length, 1);
    assert.deepEqual(await open.next(), { done: true, value: undefined });
    await assert.rejects(own.changes().next(), code("StoreClosed"));
  });

  test("is truncated if the reader is too slow, and never slows a writer", async () => {
    const slow = store.changes();
    const fast = store.changes();
    await Promise.all([slow.ready, fast.ready]);
    for (let i = 0; i < 1000; ++i) await put(String(i));
    const keys = (batches: readonly ChangeBatch[]) =>
      batches.map(({ changes }) => changes[0]?.rowKey);
    assert.deepEqual(keys(await read(slow, 1)), ["0"]);
    const early = await read(fast, 500);
    await put("1000"); // the slow reader has 1000 batches again
    await put("1001");
    await store.flush(); // in memory, there is no log then
    const all = Array.from({ length: 1002 }, (_, i) => String(i));
    assert.deepEqual(keys(await read(slow, 1000)), all.slice(1, 1001));
    await assert.rejects(slow.next(), code("FeedTruncated"));
    assert.deepEqual(await slow.next(), { done: true, value: undefined });
    assert.deepEqual(keys([...early, ...(await readAll(fast))]), all);
  });

  test("ends if it is aborted while it is being opened", async () => {
    const abort = new AbortController();
    const feed = store.changes({ signal: abort.signal });
    abort.abort();
    await assert.rejects(feed.ready, { name: "AbortError" });
    await assert.rejects(feed.next(), { name: "AbortError" });
    assert.deepEqual(await feed.next(), { done: true, value: undefined });
  });

  test("has a group of more rows than a function has arguments", async () => {
    const rowCount = 90_000; // two rows for each change
    const partitions = Array.from({ length: rowCount / 100 }, (_, i) => `p${i}`);
    const strict = store.table("lamps", { durability: "strict" });
    const write = () =>
      Promise.all(
        partitions.map((partitionKey) => {
          const rows = Array.from({ length: 100 }, (_, i) => ({ partitionKey, rowKey: String(i) }));
          return strict.submitTransaction(rows.map((row) => ["upsert", row] as const));
        }),
      );
    await write();
    const feed = store.changes({ before: true });
    await feed.ready;
    await write();
    let count = 0;
    for (const { changes } of await readAll(feed)) {
      assert(changes.every(({ before }) => before !== undefined));
      count += changes.length;
    }
    assert.equal(count, rowCount);
  });

  test("has what is written once it is ready, though writes are being stored all the time", async (t) => {
    const path = mkdtempSync(join(tmpdir(), "entitable-feed-"));
    t.after(() => rmSync(path, { recursive: true }));
    await store.close();
    store = await openStore({ persistence: "file", path, durability: "strict" });
    lamps = store.table("lamps");
    await lamps.createTable();
    const earlier = store.changes();
    await earlier.ready;
    let written = 0;
    let isOver = false;
    const writeOn = async () => {
      while (!isOver) await put(String(++written));
    };
    const writers = [writeOn(), writeOn(), writeOn()];
    for (let round = 0; round < 10; ++round) {
      const feed = store.changes();
      await feed.ready;
      const isListed = new Set<string>();
      for await (const { rowKey } of lamps.listEntities()) isListed.add(rowKey as string);
      const [batch] = await read(feed, 1);
      const rowKey = Number(batch?.changes[0]?.rowKey);
      for (let row = 1; row < rowKey; ++row) assert(isListed.has(String(row)), `row ${row}`);
      await feed.return?.();
    }
    isOver = true;
    await Promise.all(writers);
    const all = Array.from({ length: written }, (_, i) => [`lamps insert desk ${i + 1} 1 `]);
    assert.deepEqual((await readAll(earlier)).map(texts), all);
  });

  test("has all transactions of one turn, however much they replace", async () => {
    const text = "é".repeat(30_000);
    const texts = Object.fromEntries(Array.from({ length: 14 }, (_, i) => [`text${i}`, text]));
    const write = (stock: number, more: Record<string, string> = {}) =>
      lamps.submitTransaction(
        ["1", "2", "3", "4"].map(
          (rowKey) =>
            ["upsert", { partitionKey: "desk", rowKey, stock, ...more }, "Merge"] as const,
        ),
      );
    await write(0, texts);
    const feed = store.changes();
    await feed.ready;
    const transactions = Array.from({ length: 12 }, (_, i) => write(i + 1));
    await Promise.all(transactions);
    assert.equal((await readAll(feed)).length, transactions.length);
  });

  test("is truncated by what it cannot list", async () => {
    await put("1");
    const snapshot = await store.snapshot();
    const feed = store.changes();
    await feed.ready;
    await store.restore(snapshot);
    await assert.rejects(feed.next(), code("FeedTruncated"));
  });

  test("has the options that it was opened with", async () => {
    const tables = ["lamps"];
    const rowKey = { from: "2", to: "4" };
    const options = { tables, partitionKey: "desk", rowKey, filter: "stock eq 1" };
    const feed = store.changes(options);
    tables[0] = "others";
    rowKey.from = "3";
    options.partitionKey = "shelf";
    options.filter = "stock eq 2";
    await feed.ready;
    for (const key of ["1", "2", "3", "4"]) await put(key);
    const batches = await readAll(feed);
    assert.deepEqual(
      batches.map(({ changes }) => changes[0]?.rowKey),
      ["2", "3"],
    );
  });

  test("rejects wrong options", async () => {
    const wrong = (options: object) => store.changes(options).next();
    await assert.rejects(wrong({ filter: "stock eq" }), code("InvalidInput"));
    await assert.rejects(wrong({ table: "lamps" }), code("ValidationFailed"));
    await assert.rejects(wrong({ rowKey: { from: "1" } }), code("ValidationFailed"));
    const feed = store.changes({ filter: "stock eq" });
    await assert.rejects(feed.ready, code("InvalidInput"));
  });

  test("rejects options of a wrong type, which harm no other reader", async () => {
    const live = lamps.liveCount();
    await live.ready;
    const wrong: Record<string, unknown>[] = [
      { filter: null },
      { filter: 5 },
      { tables: null },
      { tables: "lamps" },
      { tables: ["lamps", 5] },
      { partitionKey: 5 },
      { partitionKey: null },
      { partitionKey: "desk", rowKey: "1" },
      { partitionKey: "desk", rowKey: null },
      { partitionKey: "desk", rowKey: { from: 1 } },
      { partitionKey: "desk", rowKey: { to: null } },
    ];
    for (const options of wrong) {
      const feed = store.changes(options);
      await assert.rejects(feed.ready, code("ValidationFailed"), JSON.stringify(options));
      await assert.rejects(feed.next(), { name: "StoreError", hint: /For example/ });
    }
    await put("1");
    assert.equal(live.getSnapshot().data, 1);
    assert.equal((await lamps.live().ready).length, 1);
  });
});
