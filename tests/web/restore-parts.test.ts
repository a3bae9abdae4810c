// Tests that a restore stores the file's rows as they arrive, and that the store's content changes
// only when the whole file is valid: after a crash at any storage call, with a failing storage, and
// with another owner in between.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { Store } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { openHost } from "./support/open-host.ts";
import { openStore } from "./support/package.ts";

const modes = ["replace", "merge"] as const;
const text = "x".repeat(30_000);
const memoryLimit = 200_000; // less than a part, so that all parts are loaded again

type Files = Map<string, Uint8Array>;

async function openOn(
  files: Files,
): Promise<{ store: Store; storage: ControlledStorage; close(): Promise<void> }> {
  const storage = new ControlledStorage(new MemoryStorage(files));
  const host = await openHost({ engine: await createEngine(), storage, memoryLimit });
  const store = new StoreHandle("test", host);
  return { store, storage, close: () => store.close() };
}

// A snapshot whose rows take several parts.
async function largeFile(): Promise<Uint8Array<ArrayBuffer>> {
  await using store = await openStore({ persistence: "memory" });
  for (const name of ["large", "small"]) await store.serviceClient().createTable(name);
  await store.table("small").createEntity({ partitionKey: "p", rowKey: "r" });
  const table = store.table("large");
  for (let n = 0; n < 30; ++n)
    await table.createEntity({ partitionKey: `p${n % 3}`, rowKey: `${n}`, n, text });
  return (await store.snapshot()) as Uint8Array<ArrayBuffer>;
}

async function rowsOf(store: Store): Promise<string> {
  const rows: string[] = [];
  for await (const { name = "" } of store.serviceClient().listTables()) {
    rows.push(name);
    for await (const row of store.tableClient(name).listEntities())
      rows.push(`${row.partitionKey}/${row.rowKey}`);
  }
  return rows.join();
}

async function withOldContent(): Promise<Files> {
  const files: Files = new Map();
  const { store, close } = await openOn(files);
  await store.table("old").createTable();
  await store.table("old").createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
  await store.compact();
  await store.table("old").createEntity({ partitionKey: "p", rowKey: "s", n: 2 });
  await close();
  return files;
}

const partsIn = (files: Files) => [...files.keys()].filter((name) => name.startsWith("part-"));

// Changes a byte in the rows of each part.
function damageParts(files: Files): void {
  for (const name of partsIn(files)) {
    const bytes = (files.get(name) as Uint8Array).slice();
    bytes[100] = (bytes[100] as number) ^ 1;
    files.set(name, bytes);
  }
}

// Opens the files and returns the rows. Afterwards no part is left that the store does not use.
async function reopened(files: Files): Promise<string> {
  const { store, close } = await openOn(files);
  const rows = await rowsOf(store);
  await store.compact();
  const { ok, orphans } = await store.verify();
  assert.equal(ok, true);
  assert.equal(orphans, 0);
  await close();
  return rows;
}

describe("a restore", () => {
  test("accepts a stream with chunks of every size", async () => {
    await using source = await openStore({ persistence: "memory" });
    await source.table("people").createTable();
    await source.table("people").createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
    await source.table("people").createEntity({ partitionKey: "q", rowKey: "r", n: 2 });
    const file = await source.snapshot();
    await using target = await openStore({ persistence: "memory" });
    for (let size = 1; size <= file.length; ++size) {
      let at = 0;
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.enqueue(file.slice(at, at + size));
          at += size;
          if (at >= file.length) controller.close();
        },
      });
      const mode = modes[size % 2];
      assert.deepEqual(await target.restore(stream, { mode }), { tables: 1, entities: 2 });
      if (mode === "replace") assert.deepEqual(await target.snapshot(), file);
    }
  });

  test("ends at once when the source continues after the end of the file", async () => {
    const file = await largeFile();
    const { store, close } = await openOn(await withOldContent());
    let chunks = 0;
    const endless = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          controller.enqueue(chunks++ === 0 ? file : new Uint8Array(1000));
          if (chunks === 50) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    await assert.rejects(store.restore(endless), { code: "Corrupted" });
    assert.equal(chunks, 2);
    await close();
  });

  for (const mode of modes) {
    test(`(${mode}) leaves the old or the new content after a crash at any call`, async () => {
      const file = await largeFile();
      const files = await withOldContent();
      const before = await reopened(new Map(files));
      const { store, storage, close } = await openOn(files);
      const states: Files[] = [];
      storage.auto = false;
      let done = false;
      const restoring = store.restore(file, { mode }).finally(() => {
        done = true;
      });
      const next = async () => {
        while (!done && storage.waiting === 0) await new Promise(setImmediate);
        return storage.waiting === 0 ? undefined : await storage.next();
      };
      for (let call = await next(); call !== undefined; call = await next()) {
        states.push(new Map(files));
        await call.succeed();
      }
      await restoring;
      storage.auto = true;
      const after = await rowsOf(store);
      assert.notEqual(after, before);
      await close();
      states.push(new Map(files));
      const found: string[] = [];
      for (const state of states) found.push(await reopened(state));
      const isAllowed = (rows: string) =>
        rows === before || rows === after || (mode === "merge" && rows.startsWith("large"));
      assert.deepEqual(
        found.filter((rows) => !isAllowed(rows)),
        [],
      );
      // The calls before the first one that may change the content.
      const parts = storage.calls
        .filter(({ name }) => name !== "claim")
        .findIndex(({ name }) => name !== "putPart");
      assert.equal(parts >= 4, true, `${parts} parts`);
      assert.deepEqual(new Set(found.slice(0, parts)), new Set([before]));
      assert.equal(found.at(-1), after);
    });

    test(`(${mode}) deletes its parts after damage, an error of the source, or quota`, async () => {
      const file = await largeFile();
      const files = await withOldContent();
      const { store, storage, close } = await openOn(files);
      const content = await store.snapshot();
      const parts = partsIn(files);
      const damaged = file.slice();
      damaged[file.length - 20] = (damaged[file.length - 20] as number) ^ 1;
      await assert.rejects(store.restore(damaged, { mode }), { code: "Corrupted" });
      assert.deepEqual(partsIn(files), parts);
      let read = 0;
      const broken = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (read > file.length / 2) controller.error(new Error("unplugged"));
          else controller.enqueue(file.slice(read, read + 50_000));
          read += 50_000;
        },
      });
      await assert.rejects(store.restore(broken, { mode }), { message: "unplugged" });
      assert.deepEqual(partsIn(files), parts);
      storage.failsParts = true;
      await assert.rejects(store.restore(file, { mode }), { code: "QuotaExceeded" });
      storage.failsParts = false;
      assert.deepEqual(partsIn(files), parts);
      assert.equal(
        storage.calls.some(({ name }) => name === "deleteParts"),
        true,
      );
      assert.deepEqual(await store.snapshot(), content);
      // Nothing is left over from the attempts that failed.
      await store.restore(file, { mode });
      await store.compact();
      assert.equal((await store.verify()).orphans, 0);
      await close();
    });

    test(`(${mode}) that another owner overtakes changes nothing`, async () => {
      const file = await largeFile();
      const files = await withOldContent();
      const before = await reopened(new Map(files));
      const first = await openOn(files);
      first.storage.auto = false;
      const rejected = assert.rejects(first.store.restore(file, { mode }), { code: "StoreLocked" });
      for (let puts = 0; puts < 2; ) {
        const call = await first.storage.next();
        if (call.name === "putPart") ++puts;
        await call.succeed();
      }
      const second = await openOn(files);
      const call = await first.storage.next();
      first.storage.auto = true;
      await call.succeed();
      await rejected;
      await first.close().catch(() => {});
      assert.equal(await rowsOf(second.store), before);
      await second.store.compact();
      assert.equal((await second.store.verify()).orphans, 0);
      await second.close();
    });
  }

  test("ends when the store closes, although its source is silent", async () => {
    const file = await largeFile();
    const files = await withOldContent();
    const before = await reopened(files);
    const { store, close } = await openOn(files);
    let isCancelled = false;
    const silent = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(file.slice(0, 700_000)),
      cancel() {
        isCancelled = true;
      },
    });
    const partsBefore = partsIn(files).length;
    const rejected = assert.rejects(store.restore(silent), { code: "StoreClosed" });
    const next = assert.rejects(store.restore(file), { code: "StoreClosed" });
    while (partsIn(files).length === partsBefore) await new Promise((r) => setTimeout(r, 5));
    await close();
    await Promise.all([rejected, next]);
    assert.ok(isCancelled);
    assert.equal(await reopened(files), before);
  });

  test("runs beside writes and checkpoints, and after another restore", async () => {
    const file = await largeFile();
    const files = await withOldContent();
    const { store, close } = await openOn(files);
    let at = 0;
    const slow = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await store.table("old").upsertEntity({ partitionKey: "w", rowKey: `${at}`, text });
        await store.compact();
        controller.enqueue(file.slice(at, at + 100_000));
        at += 100_000;
        if (at >= file.length) controller.close();
      },
    });
    const both = await Promise.all([
      store.restore(slow, { mode: "replace" }),
      store.restore(file, { mode: "merge" }),
    ]);
    assert.deepEqual(both, [
      { tables: 2, entities: 31 },
      { tables: 2, entities: 31 },
    ]);
    assert.equal((await store.stats()).rows, 31);
    await store.compact();
    assert.deepEqual((await store.verify()).damage, []);
    assert.equal((await store.verify()).orphans, 0);
    await close();
    assert.equal((await reopened(files)).split(",").length, 33);
  });
});

describe("a restore that replaces", () => {
  test("does not delete the parts of a snapshot that begins while it commits", async () => {
    const file = await largeFile();
    const files: Files = new Map();
    const first = await openOn(files);
    await first.store.restore(file);
    await first.close();
    const { store, storage, close } = await openOn(files);
    storage.auto = false;
    const restoring = store.restore(file);
    let call = await storage.next();
    for (; call.name !== "commitManifest"; call = await storage.next()) await call.succeed();
    const taking = store.snapshot();
    await new Promise(setImmediate);
    storage.auto = true;
    await call.succeed();
    await restoring;
    assert.deepEqual(await taking, file);
    assert.equal(store.status.state, "open");
    assert.deepEqual(store.status.damage, []);
    await close();
  });

  test("rejects if a read finds damage while the file is read", async () => {
    const file = await largeFile();
    const files: Files = new Map();
    const first = await openOn(files);
    await first.store.restore(file);
    await first.close();
    damageParts(files);
    const { store, close } = await openOn(files);
    let read = false;
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (read) return controller.close();
          read = true;
          controller.enqueue(file);
          await assert.rejects(rowsOf(store), { code: "Corrupted" });
        },
      },
      { highWaterMark: 0 },
    );
    await assert.rejects(store.restore(stream), { code: "Corrupted" });
    assert.equal(store.status.state, "read-only");
    await close();
  });

  test("keeps writes that wait to be stored if the claim at opening failed", async () => {
    const file = await largeFile();
    const files: Files = new Map();
    const storage = new ControlledStorage(new MemoryStorage(files));
    storage.failing = "quota";
    const engine = await createEngine();
    const host = await openHost({ engine, storage, deferredDelayMs: 10_000 });
    const store = new StoreHandle("test", host);
    storage.failing = undefined;
    await store.serviceClient().createTable("old", { durability: "deferred" });
    storage.auto = false;
    let restored = false;
    const restoring = store.restore(file, { mode: "merge" }).finally(() => {
      restored = true;
    });
    const writing = store.table("old").createEntity({ partitionKey: "p", rowKey: "r" });
    while (!restored) {
      if (storage.waiting > 0) await (await storage.next()).succeed();
      else await new Promise(setImmediate);
    }
    await restoring;
    storage.auto = true;
    await writing;
    const rows = await rowsOf(store);
    assert.equal(rows.includes("old,p/r"), true, rows);
    await store.close();
    assert.equal(await reopened(files), rows);
  });
});
