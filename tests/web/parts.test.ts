// Tests loading parts on demand: parts stay in storage until they are needed, and memory use stays
// limited.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { odata } from "../../web/src/filter/odata.ts";
import { logTooLargeError } from "../../web/src/host/limited-recovery.ts";
import { recover } from "../../web/src/host/log-recovery.ts";
import { verify } from "../../web/src/host/verify.ts";
import { accountFromOptions } from "../../web/src/rest/account.ts";
import { type OnPart, StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { StoreWarning } from "../../web/src/types.ts";
import { createEngine, type DeferredModuleName, type Engine } from "../../web/src/wasm/engine.ts";
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
  engine: Engine | undefined; // of the store that was opened last

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
    this.engine = engine;
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

  get memoryBytes(): number {
    return this.engine?.memoryBytes ?? 0;
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

  test("is counted in the memory of a few parts", async () => {
    const bench = await Bench.filled();
    const limit = 3_000_000;
    const store = await bench.open(limit);
    const table = store.table("rows");
    for (let i = 0; i < rows; i += 10) await table.upsertEntity(entity(i), "Replace");
    await store.flush();
    let peak = 0;
    const load = bench.engine?.loadPart.bind(bench.engine);
    Object.assign(bench.engine as Engine, {
      loadPart(id: number, bytes: Uint8Array | undefined) {
        load?.(id, bytes);
        peak = Math.max(peak, bench.memoryBytes);
      },
    });
    assert.equal((await store.stats()).rows, rows);
    assert.ok(peak > limit / 4 && peak < 1.5 * limit, `${peak}`);
    assert.ok(bench.memoryBytes <= limit);
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

// A checkpoint that merges changes into a damaged part would store the part without its rows, and
// delete the damaged file.
describe("a checkpoint of changes in a damaged part", () => {
  async function damaged(): Promise<{ bench: Bench; before: Map<string, Uint8Array> }> {
    const bench = await scattered();
    for (const name of bench.parts().slice(30)) {
      const bytes = bench.files.get(name) as Uint8Array;
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
    }
    return { bench, before: new Map(bench.files) };
  }

  // Checks that everything is there that was there before. Claims and parts may be added.
  function checkUnchanged({ files }: Bench, before: Map<string, Uint8Array>): void {
    for (const [name, bytes] of before) assert.deepEqual(files.get(name), bytes, name);
  }

  test("fails, and no file is removed", async () => {
    const { bench, before } = await damaged();
    const store = await bench.open(3_000_000);
    await assert.rejects(store.compact(), { code: "Corrupted" });
    assert.ok(bench.storage.calls.some(({ name }) => name === "putPart"));
    assert.equal(store.status.state, "read-only");
    await assert.rejects(store.compact(), { code: "Corrupted" });
    await store.close();
    checkUnchanged(bench, before);
  });

  test("fails if a read finds the damage while another part is stored", async () => {
    const { bench, before } = await damaged();
    const store = await bench.open();
    bench.storage.auto = false;
    const compacting = store.compact();
    let call = await bench.storage.next();
    for (; call.name !== "putPart"; call = await bench.storage.next()) await call.succeed();
    bench.storage.auto = true;
    // The checkpoint then finds all changed parts in memory, without the rows that were damaged.
    for (const changed of [400, 450, 499]) {
      const read = store.table("rows").getEntity("p", rowKey(changed));
      await assert.rejects(read, { code: /Corrupted|ResourceNotFound/ });
    }
    const rejected = assert.rejects(compacting, { code: "Corrupted" });
    await call.succeed();
    await rejected;
    await store.close();
    checkUnchanged(bench, before);
  });

  test("fails if a read finds damage before the manifest is stored", async () => {
    const bench = await scattered();
    const before = new Map(bench.files);
    const store = await bench.open();
    const { storage } = bench;
    storage.auto = false;
    const compacting = store.compact();
    let call = await storage.next();
    for (; call.name !== "putPart"; call = await storage.next()) await call.succeed();
    const read = storage.readParts.bind(storage);
    storage.readParts = (ids, part) => read(ids, (id) => part(id, Uint8Array.of(1)));
    const reading = store.table("rows").getEntity("p", rowKey(475)); // in an unchanged part
    const damaged = await storage.next();
    storage.readParts = read;
    const engine = bench.engine as Engine;
    const finish = engine.finishCheckpoint.bind(engine);
    const finishing = new Promise<void>((resolve) => {
      engine.finishCheckpoint = (...limits) => {
        resolve();
        return finish(...limits);
      };
    });
    storage.auto = true;
    const outcomes = Promise.allSettled([compacting, reading]);
    await call.succeed();
    await finishing;
    await damaged.succeed();
    const codes = (await outcomes).map((o) => (o.status === "rejected" ? o.reason.code : "none"));
    assert.deepEqual(codes, ["Corrupted", "Corrupted"]);
    await store.close();
    checkUnchanged(bench, before);
  });
});

describe("a store larger than its memory", () => {
  test("runs checkpoints without a pause while changes fill memory", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] }); // a pause would last forever
    const bench = await Bench.filled();
    const store = await bench.open(3_000_000);
    const table = store.table("rows");
    for (let i = 0; i < rows; ++i) {
      await table.updateEntity({ partitionKey: "p", rowKey: rowKey(i), n: i + rows }, "Merge");
    }
    const { calls } = bench.storage;
    assert.ok(calls.some(({ name }) => name === "commitManifest"));
    assert.equal(await count(store, `n ge ${rows}`), rows);
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

  test("reads rows whose neighbours are written as soon as their part is loaded", async () => {
    const bench = await Bench.filled();
    const store = await bench.open(3_000_000);
    assert.equal(await count(store), rows); // fills memory
    const table = store.table("rows");
    const read = bench.storage.readParts.bind(bench.storage);
    let next = 0;
    const writing: Promise<unknown>[] = [];
    bench.storage.readParts = async (ids, part) => {
      await read(ids, part);
      const neighbour = { ...entity(next + 1), n: -1 };
      writing.push(table.upsertEntity(neighbour, "Replace", { durability: "deferred" }));
      await turn(); // before the read goes on
    };
    for (; next < rows; next += 13)
      assert.equal((await table.getEntity("p", rowKey(next))).n, next);
    bench.storage.readParts = read;
    assert.ok(writing.length > 10);
    await Promise.all(writing);
    await store.close();
  });

  // Reads made together run before memory is trimmed, and then wait for parts.
  test("reads rows together, while other reads end and neighbours are written", async () => {
    const bench = await Bench.filled();
    const store = await bench.open(3_000_000);
    const table = store.table("rows");
    const read = bench.storage.readParts.bind(bench.storage);
    for (let turns = 0; turns < 24; ++turns) {
      assert.equal(await count(store), rows); // fills memory
      const [first, second] = [13 * (turns % 4) + 5, 120 + 13 * (turns % 8)];
      let together: Promise<unknown> | undefined;
      const writing: Promise<unknown>[] = [];
      bench.storage.readParts = async (ids, part) => {
        await read(ids, part);
        if (together === undefined) {
          together = (async () => {
            for (let i = 0; i < turns; ++i) await null;
            const reads = [first, second].map((i) => table.getEntity("p", rowKey(i)));
            for (const row of reads) await row;
          })();
          return;
        }
        const neighbour = { ...entity(second + 1), n: -1 };
        writing.push(table.upsertEntity(neighbour, "Replace", { durability: "deferred" }));
        await turn(); // before the read goes on
      };
      await table.getEntity("p", rowKey(first));
      await turn();
      await together;
      bench.storage.readParts = read;
      await Promise.all(writing);
      await store.flush();
    }
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

describe("memory of parts", () => {
  test("stays within the limit while calls read many parts at once", async () => {
    const bench = await Bench.filled();
    const memoryLimit = 2_000_000;
    const store = await bench.open(memoryLimit);
    const engine = bench.engine as Engine;
    const loadPart = engine.loadPart.bind(engine);
    let most = 0;
    engine.loadPart = (id, bytes) => {
      loadPart(id, bytes);
      most = Math.max(most, engine.memoryBytes);
    };
    const table = store.table("rows");
    const reads = Array.from({ length: rows / 10 }, (_, i) => table.getEntity("p", rowKey(i * 10)));
    assert.deepEqual(
      (await Promise.all(reads)).map(({ n }) => n),
      reads.map((_, i) => i * 10),
    );
    assert.ok(most > memoryLimit / 2 && most <= memoryLimit, `${most} bytes`);
    await store.close();
  });

  test("has no copy of a part's file once the part is loaded or stored", async () => {
    const bench = await Bench.filled();
    const files: Uint8Array[] = []; // those that the host and the storage passed to each other
    class RecordingStorage extends MemoryStorage {
      override putPart(id: number, bytes: Uint8Array): Promise<void> {
        files.push(bytes);
        return super.putPart(id, bytes);
      }
      override readParts(ids: readonly number[], part: OnPart): Promise<void> {
        return super.readParts(ids, (id, bytes) => {
          if (bytes !== undefined) files.push(bytes);
          part(id, bytes);
        });
      }
    }
    const engine = await createEngine();
    const storage = new RecordingStorage(bench.files);
    const store = new StoreHandle("parts", await openHost({ name: "parts", engine, storage }));
    assert.equal(await count(store), rows);
    const loaded = files.length;
    await store.table("rows").updateEntity(entity(1));
    await store.compact();
    assert.ok(loaded >= 36 && files.length > loaded, `${loaded}, ${files.length} files`);
    assert.ok(files.every(({ length }) => length === 0));
    await store.close();
  });
});

describe("verifying", () => {
  test("limits the memory of parts, and searches none to unload while segments are read", async () => {
    const bench = await Bench.filled();
    const store = await bench.open();
    await store.table("rows").createEntity(entity(rows));
    await store.flush();
    const engine = bench.engine as Engine;
    let limit = 0;
    const limits = { parts: new Set<number>(), segments: new Set<number>() };
    const createEmptyEngine = async () => {
      const second = await engine.createEmptyEngine();
      const { loadPart, replaySegment, setMemoryLimit } = second;
      return Object.assign(second, {
        setMemoryLimit(bytes: number) {
          limit = bytes;
          setMemoryLimit.call(second, bytes);
        },
        loadPart(...part: Parameters<typeof loadPart>) {
          limits.parts.add(limit);
          loadPart.apply(second, part);
        },
        replaySegment(...segment: Parameters<typeof replaySegment>) {
          limits.segments.add(limit);
          replaySegment.apply(second, segment);
        },
      });
    };
    const loadDeferredModule = (name: DeferredModuleName) => engine.loadDeferredModule(name);
    const observed = { createEmptyEngine, loadDeferredModule, verify: () => engine.verify() };
    const { storage } = bench;
    const environment = { recover, logTooLargeError };
    const options = { name: "parts", engine: observed, storage, memoryLimit: 0 };
    const { ok } = await verify({ ...options, ...environment });
    assert.equal(ok, true);
    assert.deepEqual([[...limits.parts], [...limits.segments]], [[4 * 1024 ** 2], [0]]);
    await store.close();
  });
});

describe("a snapshot of a store larger than its memory", () => {
  test("needs the memory of a few parts, although every row count is unknown", async () => {
    const bench = await Bench.filled();
    const limit = 2_000_000;
    const store = await bench.open(limit);
    const table = store.table("rows");
    for (let i = 0; i < rows; i += 10) await table.upsertEntity(entity(i), "Replace");
    await store.flush();
    let peak = 0;
    const read = bench.storage.readParts.bind(bench.storage);
    bench.storage.readParts = (ids, part) => {
      peak = Math.max(peak, bench.memoryBytes);
      return read(ids, part);
    };
    const snapshot = await store.snapshot();
    assert.ok(peak > 0 && peak < 1.7 * limit, `${peak}`);
    const other = await new Bench().open();
    await other.restore(snapshot);
    assert.equal(await count(other), rows);
    await Promise.all([store.close(), other.close()]);
  });

  test("can be restored while rows are read", async () => {
    const empty = await new Bench().open();
    await empty.table("rows").createTable();
    const snapshot = await empty.snapshot();
    const bench = await Bench.filled();
    const store = await bench.open(3_000_000);
    const { storage } = bench;
    storage.auto = false;
    const restoring = store.restore(snapshot);
    let call = await storage.next();
    for (; call.name !== "commitManifest"; call = await storage.next()) await call.succeed();
    const reading = store
      .table("rows")
      .getEntity("p", rowKey(3))
      .catch((error: { statusCode?: number }) => error.statusCode);
    for (let turns = 0; turns < 20 && storage.waiting === 0; ++turns) await turn();
    const committing = call.succeed(); // removes the part that the read needed before
    if (storage.waiting > 0) await (await storage.next()).succeed(); // before the host hears of it
    await committing;
    storage.auto = true;
    while (storage.waiting > 0) await (await storage.next()).succeed();
    await restoring;
    assert.equal(await reading, 404);
    assert.equal(store.status.state, "open");
    await Promise.all([store.close(), empty.close()]);
  });
});

describe("writing more than fits in memory", () => {
  const limit = 2_000_000;

  // Runs `write` for many transactions of one megabyte in all, and returns the largest memory use.
  async function peakWhileWriting(
    bench: Bench,
    transactions: number,
    write: (i: number) => Promise<unknown>,
  ): Promise<number> {
    let peak = 0;
    for (let i = 0; i < transactions; ++i) {
      await write(i);
      peak = Math.max(peak, bench.memoryBytes);
    }
    return peak;
  }

  for (const durability of ["strict", "deferred"] as const) {
    test(`stays near the limit, ${durability}`, async () => {
      const bench = new Bench();
      const store = await bench.open(limit);
      const table = store.table("rows", { durability });
      await table.createTable();
      const peak = await peakWhileWriting(bench, 50, (i) =>
        table.submitTransaction(
          Array.from({ length: 10 }, (_, k) => ["create", entity(10 * i + k)]),
        ),
      );
      assert.ok(peak < 1.5 * limit, `${peak}`);
      assert.equal(await count(store), 500);
      await store.close();
      const again = await bench.open(limit);
      assert.equal(await count(again), 500);
      assert.equal((await again.verify()).ok, true);
      await again.close();
    });
  }

  test("upserts at random load no part, and stay near the limit", async () => {
    const bench = await Bench.filled();
    const store = await bench.open(limit);
    const table = store.table("rows");
    const peak = await peakWhileWriting(bench, 300, (i) =>
      table.upsertEntity({ ...entity((i * 137) % rows), n: -1 - i }, "Replace"),
    );
    assert.ok(peak < 1.5 * limit, `${peak}`);
    assert.equal(await count(store, "n lt 0"), 300);
    assert.equal(await count(store), rows);
    await store.close();
    const again = await bench.open(limit);
    assert.equal(await count(again, "n lt 0"), 300);
    await again.close();
  });

  test("writes made while memory is full wait for the checkpoint, and keep their order", async () => {
    const bench = new Bench();
    const store = await bench.open(limit);
    const table = store.table("rows", { durability: "deferred" });
    await table.createTable();
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 400 }, (_, i) =>
        table.createEntity(entity(i)).then(() => order.push(i)),
      ),
    );
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    assert.equal(await count(store), 400);
    await store.close();
  });

  test("is possible with a limit that even an empty store exceeds", async () => {
    const bench = new Bench();
    const store = await bench.open(1000);
    const table = store.table("rows");
    await table.createTable();
    await Promise.all(Array.from({ length: 40 }, (_, i) => table.createEntity(entity(i))));
    for (let i = 40; i < 60; ++i) await table.createEntity(entity(i));
    assert.equal(await count(store), 60);
    await store.close();
  });

  test("does not hold back a flush when it is refused", async () => {
    const bench = new Bench();
    const store = await bench.open(limit);
    const table = store.table("rows");
    await table.createTable();
    bench.storage.failsParts = true;
    let isRefused = false;
    for (let i = 0; i < 300 && !isRefused; ++i) {
      const writing = table.createEntity(entity(i));
      const flushing = store.flush();
      await writing.catch(() => {
        isRefused = true;
      });
      await flushing;
    }
    assert.ok(isRefused);
    bench.storage.failsParts = false;
    await store.close();
  });

  test("is not refused if a checkpoint fails whose copies of changed rows filled memory", async () => {
    const bench = new Bench();
    const store = await bench.open(limit);
    const table = store.table("rows");
    await table.createTable();
    const putPart = bench.storage.putPart.bind(bench.storage);
    let fail = () => {};
    const began = new Promise<void>((begin) => {
      bench.storage.putPart = () => {
        begin();
        return new Promise((_, reject) => {
          fail = () => reject(new StorageError("quota", "injected: quota"));
        });
      };
    });
    for (let i = 0; i < 55; ++i) await table.createEntity(entity(i)); // about half of the limit
    await began;
    let waiting: Promise<unknown> | undefined;
    for (let i = 0; i < 55 && waiting === undefined; ++i) {
      const writing = table.upsertEntity({ ...entity(i), n: -1 - i }, "Replace");
      const isDone = await Promise.race([writing.then(() => true), sleep(200, false)]);
      if (!isDone) waiting = writing;
    }
    assert.ok(waiting, "memory is full");
    assert.equal(await Promise.race([waiting, sleep(1000, "still waiting")]), "still waiting");
    bench.storage.putPart = putPart;
    fail();
    await waiting;
    assert.deepEqual(
      bench.warnings.map(({ code }) => code),
      ["CheckpointFailed"],
    );
    await store.close();
  });

  test("is refused while checkpoints fail, and accepted again when they succeed", async () => {
    const bench = new Bench();
    const store = await bench.open(limit);
    const table = store.table("rows");
    await table.createTable();
    bench.storage.failsParts = true;
    let refused: unknown;
    for (let i = 0; i < 200 && refused === undefined; ++i) {
      await table.createEntity(entity(i)).catch((error: unknown) => {
        refused = error;
      });
    }
    assert.equal((refused as { code?: string }).code, "QuotaExceeded");
    assert.ok(bench.memoryBytes < 1.5 * limit);
    bench.storage.failsParts = false;
    for (let i = 200; i < 400; ++i) await table.createEntity(entity(i));
    await store.close();
  });
});
