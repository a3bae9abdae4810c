// Tests loading parts on demand: parts stay in storage until they are needed, and memory use stays
// limited.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { odata } from "../../web/src/data-tables/odata.ts";
import { accountFromOptions } from "../../web/src/rest/account.ts";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { StoreWarning } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { openHost } from "./support/open-host.ts";

const text = "x".repeat(20_000);
const rowKey = (i: number) => String(i).padStart(6, "0");
const entity = (i: number) => ({ partitionKey: "p", rowKey: rowKey(i), n: i, text });
const rows = 500; // about 10 MB

class Bench {
  readonly files = new Map<string, Uint8Array>();
  readonly warnings: StoreWarning[] = [];
  storage = new ControlledStorage(new MemoryStorage(this.files));

  // A store whose log consists of about forty parts.
  static async filled(): Promise<Bench> {
    const bench = new Bench();
    const store = await bench.open();
    const table = store.table("rows");
    await table.createTable();
    for (let i = 0; i < rows; i += 50) {
      const group = Array.from({ length: 50 }, (_, k) => ["create", entity(i + k)] as const);
      await table.submitTransaction(group.map(([action, e]) => [action, e]));
    }
    await store.compact();
    await store.close();
    assert.ok(bench.parts().length >= 36);
    return bench;
  }

  parts(): string[] {
    return [...this.files.keys()].filter((name) => name.startsWith("part-")).sort();
  }

  segments(): number {
    return [...this.files.keys()].filter((name) => name.startsWith("wal-")).length;
  }

  async open(memoryLimit = 0): Promise<StoreHandle> {
    this.storage = new ControlledStorage(new MemoryStorage(this.files));
    const engine = await createEngine();
    engine.configureAccount(accountFromOptions({}, "parts"), undefined);
    const host = await openHost({
      name: "parts",
      engine,
      storage: this.storage,
      durability: "relaxed",
      deferredDelayMs: 1,
      memoryLimit,
      onWarning: (warning) => this.warnings.push(warning),
    });
    return new StoreHandle("parts", host);
  }

  get reads(): number {
    return this.storage.calls.filter(({ name }) => name === "readParts").length;
  }
}

async function count(store: StoreHandle, filter?: string): Promise<number> {
  let n = 0;
  const queryOptions = filter === undefined ? {} : { filter };
  for await (const row of store.table("rows").listEntities({ queryOptions })) {
    assert.equal((row as { text?: string }).text, text);
    n += 1;
  }
  return n;
}

describe("opening", () => {
  test("reads no part; reading a row loads one", async () => {
    const bench = await Bench.filled();
    const store = await bench.open();
    assert.equal(bench.reads, 0);
    assert.ok((await store.stats()).memoryBytes < 50_000);
    assert.equal((await store.stats()).rows, rows);
    const table = store.table("rows");
    assert.equal((await table.getEntity("p", rowKey(250))).n, 250);
    assert.equal(bench.reads, 1);
    const { memoryBytes } = await store.stats();
    assert.ok(memoryBytes > 100_000 && memoryBytes < 400_000);
    assert.equal((await table.getEntity("p", rowKey(250))).n, 250);
    assert.equal(bench.reads, 1, "it is there now");
    assert.equal(await count(store), rows);
    assert.ok(bench.reads < 6, "a scan reads ahead");
    await store.close();
  });

  test("concurrent reads of one part load it once", async () => {
    const bench = await Bench.filled();
    const store = await bench.open();
    const table = store.table("rows");
    const found = await Promise.all(
      [250, 250, 250, 250].map((i) => table.getEntity("p", rowKey(i))),
    );
    assert.deepEqual(
      found.map(({ n }) => n),
      [250, 250, 250, 250],
    );
    assert.equal(bench.reads, 1);
    await assert.rejects(table.getEntity("p", "zzz"), { code: "ResourceNotFound" });
    await store.close();
  });

  test("both entry points wait for the parts that they need", async () => {
    const bench = await Bench.filled();
    const store = await bench.open();
    const base = "https://parts.table.core.windows.net";
    const accept = { accept: "application/json;odata=nometadata" };
    const got = await store.fetch(`${base}/rows(PartitionKey='p',RowKey='${rowKey(300)}')`, {
      headers: accept,
    });
    assert.equal(((await got.json()) as { n: number }).n, 300);
    const merged = await store.fetch(`${base}/rows(PartitionKey='p',RowKey='${rowKey(100)}')`, {
      method: "PATCH",
      headers: { ...accept, "content-type": "application/json", "if-match": "*" },
      body: JSON.stringify({ n: -1 }),
    });
    assert.equal(merged.status, 204);
    const row = await store.table("rows").getEntity("p", rowKey(100));
    assert.deepEqual([row.n, row.text], [-1, text]);
    const { rowsRead } = await store.table("rows").explain();
    assert.equal(rowsRead, rows);
    await store.close();
  });
});

// Changes every fiftieth row, inserts one row and deletes two, so that changes are scattered over
// many parts.
async function scatter(bench: Bench): Promise<void> {
  const store = await bench.open();
  const table = store.table("rows");
  for (let i = 0; i < rows; i += 50) {
    await table.updateEntity({ partitionKey: "p", rowKey: rowKey(i), n: -i - 1 }, "Merge");
  }
  await table.deleteEntity("p", rowKey(7));
  await table.createEntity(entity(rows));
  await table.deleteEntity("p", rowKey(8));
  await store.close();
}

const scattered = async (): Promise<Bench> => {
  const bench = await Bench.filled();
  await scatter(bench);
  assert.ok(bench.segments() > 10);
  return bench;
};

async function checkScattered(store: StoreHandle): Promise<void> {
  const table = store.table("rows");
  assert.equal(await count(store), rows - 1);
  assert.equal(await count(store, "n lt 0"), rows / 50);
  assert.equal((await table.getEntity("p", rowKey(100))).n, -101);
  assert.equal((await table.getEntity("p", rowKey(rows))).n, rows);
  await assert.rejects(table.getEntity("p", rowKey(7)), { code: "ResourceNotFound" });
  assert.equal((await store.stats()).rows, rows - 1);
}

describe("a log of scattered changes", () => {
  test("is opened without the parts that it changed; reading a row loads one", async () => {
    const bench = await scattered();
    const store = await bench.open();
    assert.equal(bench.reads, 0);
    assert.equal((await store.table("rows").getEntity("p", rowKey(100))).n, -101);
    assert.equal(bench.reads, 1);
    await checkScattered(store);
    await store.close();
  });

  test("is counted exactly, by reading the changed parts once", async () => {
    const bench = await scattered();
    const store = await bench.open();
    assert.equal((await store.stats()).rows, rows - 1);
    const { reads } = bench;
    assert.ok(reads > 0);
    assert.equal((await store.stats()).rows, rows - 1);
    assert.equal(bench.reads, reads);
    await store.close();
  });

  test("stays within the memory limit", async () => {
    const bench = await scattered();
    const store = await bench.open(3_000_000);
    assert.equal((await store.stats()).rows, rows - 1);
    await checkScattered(store);
    assert.ok((await store.stats()).memoryBytes <= 3_000_000);
    await store.close();
  });

  test("accepts further changes, and the next opening reads all of them", async () => {
    const bench = await scattered();
    const store = await bench.open();
    const table = store.table("rows");
    await assert.rejects(table.createEntity(entity(rows)), { code: "EntityAlreadyExists" });
    await table.createEntity(entity(7));
    await table.deleteEntity("p", rowKey(9));
    await store.close();
    const again = await bench.open();
    assert.equal((await again.table("rows").getEntity("p", rowKey(7))).n, 7);
    assert.equal(await count(again), rows - 1);
    await again.close();
  });

  test("is shortened by a checkpoint, which reads the changed parts", async () => {
    const bench = await scattered();
    const store = await bench.open(3_000_000);
    await store.compact();
    assert.equal(bench.segments(), 0);
    await checkScattered(store);
    await store.close();
    const again = await bench.open();
    assert.equal((await again.stats()).rows, rows - 1);
    assert.equal(bench.reads, 0);
    await checkScattered(again);
    await again.close();
  });

  test("is kept while its parts cannot be read", async () => {
    const bench = await scattered();
    const store = await bench.open();
    bench.storage.failing = "aborted";
    await assert.rejects(store.compact(), { code: "ConnectionLost" });
    await assert.rejects(store.stats(), { code: "ConnectionLost" });
    bench.storage.failing = undefined;
    await checkScattered(store);
    await store.compact();
    assert.equal(bench.segments(), 0);
    await checkScattered(store);
    await store.close();
  });

  test("waits for a snapshot that begins while its parts are read", async () => {
    const bench = await scattered();
    const store = await bench.open();
    bench.storage.auto = false;
    const compacting = store.compact();
    const reading = await bench.storage.next();
    assert.equal(reading.name, "readParts");
    const snapshot = store.snapshot();
    bench.storage.auto = true;
    await reading.succeed();
    await compacting;
    await snapshot;
    assert.equal(bench.segments(), 0);
    await checkScattered(store);
    await store.close();
  });
});

describe("writing", () => {
  test("loads the parts that it changes, and keeps the order of the calls", async () => {
    const bench = await Bench.filled();
    const store = await bench.open();
    const table = store.table("rows");
    const update = (i: number, n: number) =>
      table.updateEntity({ partitionKey: "p", rowKey: rowKey(i), n }, "Merge");
    const writes = [update(10, -1), update(490, -2), update(10, -3)];
    await assert.rejects(table.createEntity(entity(200)), { code: "EntityAlreadyExists" });
    await Promise.all(writes);
    assert.equal((await table.getEntity("p", rowKey(10))).n, -3);
    assert.equal((await table.getEntity("p", rowKey(490))).text, text);
    await store.close();
    const again = await bench.open();
    assert.ok(bench.reads <= 1, "opening reads the parts that segments change");
    assert.equal((await again.table("rows").getEntity("p", rowKey(490))).n, -2);
    assert.equal((await again.stats()).rows, rows);
    assert.equal((await again.verify()).ok, true);
    await again.close();
  });

  test("is rejected if its part cannot be read, and the other writes are not", async () => {
    const bench = await Bench.filled();
    const store = await bench.open();
    const table = store.table("rows");
    await table.getEntity("p", rowKey(10));
    bench.storage.failing = "aborted";
    const merge = (i: number) =>
      table.updateEntity({ partitionKey: "p", rowKey: rowKey(i), n: -1 }, "Merge", {
        durability: "deferred",
      });
    const [first, second] = await Promise.allSettled([merge(10), merge(490)]);
    assert.equal(first.status, "fulfilled");
    assert.ok(second.status === "rejected" && second.reason instanceof StorageError);
    bench.storage.failing = undefined;
    await merge(490);
    await store.close();
  });
});

describe("a part that is damaged", () => {
  test("rejects the call that needs it, and the store is read-only from then on", async () => {
    const bench = await Bench.filled();
    const store = await bench.open();
    const damaged = bench.parts()[4] as string;
    const bytes = bench.files.get(damaged) as Uint8Array;
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
    const statuses: string[] = [];
    store.on("status", ({ state }) => statuses.push(state));
    const found: number[] = [];
    let rejected = 0;
    for (let i = 0; i < rows; i += 3) {
      await store
        .table("rows")
        .getEntity("p", rowKey(i))
        .then(
          () => found.push(i),
          (error) => {
            if (rejected++ === 0) assert.equal(error.code, "Corrupted");
            else assert.equal(error.code, "ResourceNotFound");
          },
        );
    }
    assert.ok(rejected > 1 && rejected < 10, String(rejected));
    assert.deepEqual(statuses, ["read-only"]);
    assert.equal(store.status.damage[0]?.file, damaged);
    assert.deepEqual(
      bench.warnings.map(({ code }) => code),
      ["Damaged"],
    );
    await assert.rejects(store.table("rows").createEntity(entity(9999)), { code: "Corrupted" });
    assert.ok((await count(store)) > rows / 2);
    await store.close();
    assert.ok(bench.files.has(damaged), "nothing is removed");
  });

  test("or missing is detected on opening", async () => {
    const bench = await Bench.filled();
    const missing = bench.parts()[4] as string;
    bench.files.delete(missing);
    const store = await bench.open();
    assert.equal(store.status.state, "read-only");
    assert.deepEqual(
      store.status.damage.map(({ file }) => file),
      [missing],
    );
    assert.ok((await count(store)) > rows / 2);
    await store.close();
  });
});

describe("a store larger than its memory", () => {
  test("lets checkpoints finish first while memory is full", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const bench = await Bench.filled();
    const limit = 3_000_000;
    const store = await bench.open(limit);
    const table = store.table("rows");
    const { storage } = bench;
    for (let i = 0; i < 260; ++i) {
      await table.updateEntity({ partitionKey: "p", rowKey: rowKey(i % 40), n: i }, "Merge");
    }
    storage.auto = false;
    for (let ticks = 0; ticks < 2; ++ticks) t.mock.timers.tick(100); // a pause in the writes
    const part = await storage.next();
    assert.equal(part.name, "putPart");
    storage.auto = true;
    await table.updateEntity({ partitionKey: "p", rowKey: rowKey(0), n: 0 }, "Merge");
    for (let i = 0; i < rows; i += 10) await table.getEntity("p", rowKey(i));
    assert.ok((await store.stats()).memoryBytes > limit);
    await part.succeed();
    for (let turns = 0; turns < 100; ++turns) await turn();
    assert.equal(storage.calls.filter(({ name }) => name === "commitManifest").length, 1);
    assert.ok((await store.stats()).memoryBytes <= limit);
    await store.close();
  });

  test("returns everything, in shorter pages, and accepts writes everywhere", async () => {
    const bench = await Bench.filled();
    const limit = 3_000_000;
    const store = await bench.open(limit);
    assert.equal(await count(store, odata`n ge 0`), rows);
    assert.ok((await store.stats()).memoryBytes <= limit);
    const table = store.table("rows");
    for (let i = 0; i < rows; i += 7) {
      await table.updateEntity({ partitionKey: "p", rowKey: rowKey(i), n: i + 1000 }, "Merge");
    }
    await store.compact();
    assert.ok((await store.stats()).memoryBytes <= limit);
    assert.equal(await count(store, odata`n ge 1000`), Math.ceil(rows / 7));
    assert.equal(await count(store), rows);
    assert.equal((await store.verify()).ok, true);
    await store.close();
  });

  test("has a snapshot of all rows, also during writes", async () => {
    const bench = await Bench.filled();
    const store = await bench.open(3_000_000);
    const taking = store.snapshot();
    await store.table("rows").deleteEntity("p", rowKey(499));
    const compacting = store.compact();
    const snapshot = await taking;
    await compacting;
    const other = await new Bench().open();
    await other.restore(snapshot);
    assert.equal(await count(other), rows);
    assert.equal(await count(store), rows - 1);
    await store.restore(snapshot, { mode: "merge" });
    assert.equal(await count(store), rows);
    await Promise.all([store.close(), other.close()]);
  });
});
