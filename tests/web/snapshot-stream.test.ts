// Tests store.snapshotStream(): the same bytes as snapshot(), one chunk at a time, in every kind of
// host; and that streams, restores and explain() need little memory, whatever the store's size.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { mockStore } from "../../web/src/testing/index.ts";
import type { Host } from "../../web/src/transport.ts";
import type { OpenOptions, Store } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { wasmWithMaxPages } from "./support/limited-memory.ts";
import { openHost } from "./support/open-host.ts";
import { openStore } from "./support/package.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { simulatedTest } from "./support/simulated-test.ts";

let root: string;
let folders = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(() => rm(root, { recursive: true, maxRetries: 5 }));

const text = "x".repeat(5000);
const inMemory = () => openStore({ persistence: "memory" });
const inFiles = (options: OpenOptions = {}) =>
  openStore({
    persistence: "file",
    path: join(root, String(++folders)),
    durability: "relaxed",
    ...options,
  });

async function fill(store: Store, rows: number): Promise<Store> {
  const table = store.table("people");
  await table.createTable();
  const actions = Array.from(
    { length: rows },
    (_, n) =>
      ["upsert", { partitionKey: `p${Math.floor(n / 1000)}`, rowKey: `${n}`, n, text }] as const,
  );
  await table.bulk(actions.map(([kind, row]) => [kind, row]));
  return store;
}

async function collected(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream as ReadableStream<BufferSource>).arrayBuffer());
}

describe("a snapshot as a stream", () => {
  test("has the bytes of snapshot(), in several chunks", async () => {
    for (const store of [await inMemory(), await inFiles(), await mockStore()]) {
      await fill(store, 500);
      const file = await store.snapshot();
      let chunks = 0;
      for await (const chunk of store.snapshotStream()) {
        assert.equal(chunk.length < 600_000, true);
        ++chunks;
      }
      assert.equal(chunks >= 5, true, `${chunks}`);
      assert.deepEqual(await collected(store.snapshotStream()), file);
      const copy = await inMemory();
      await copy.restore(store.snapshotStream());
      assert.deepEqual(await copy.snapshot(), file);
      await Promise.all([store.close(), copy.close()]);
    }
  });

  test("reads a chunk only when it is requested, and ends when it is cancelled", async () => {
    let made = 0;
    let ended = 0;
    const host = {
      async *snapshotChunks() {
        try {
          for (;;) yield Uint8Array.of(++made);
        } finally {
          ++ended;
        }
      },
    } as unknown as Host;
    const reader = new StoreHandle("test", host).snapshotStream().getReader();
    await new Promise(setImmediate);
    assert.equal(made, 0);
    await reader.read();
    await new Promise(setImmediate);
    assert.equal(made, 1);
    assert.deepEqual((await reader.read()).value, Uint8Array.of(2));
    assert.equal(made, 2);
    await reader.cancel();
    assert.equal(ended, 1);
    const unread = new StoreHandle("test", host).snapshotStream();
    await unread.cancel();
    assert.equal(made, 2);
  });

  test("has the content of its first read, beside writes, checkpoints and other streams", async () => {
    const store = await fill(await inFiles({ memoryLimit: 1_000_000 }), 500);
    const file = await store.snapshot();
    const readers = [store.snapshotStream().getReader(), store.snapshotStream().getReader()];
    const parts: Uint8Array[][] = [[], []];
    for (let done = false; !done; ) {
      for (const [i, reader] of readers.entries()) {
        const next = await reader.read();
        done = next.done;
        if (next.value !== undefined) parts[i]?.push(next.value);
      }
      const n = (parts[0]?.length ?? 0) * 97;
      await store.table("people").upsertEntity({ partitionKey: "p0", rowKey: `${n}`, n: -1 });
      await store.compact();
    }
    for (const part of parts) assert.deepEqual(new Uint8Array(Buffer.concat(part)), file);
    await store.table("people").deleteEntity("p0", "1");
    await store.compact();
    assert.equal((await store.verify()).orphans, 0);
    await store.close();
  });

  test("releases the store's old parts when it is cancelled", async () => {
    const store = await fill(await inFiles(), 500);
    await store.compact();
    const reader = store.snapshotStream().getReader();
    await reader.read();
    const write = (n: number) =>
      store.table("people").upsertEntity({ partitionKey: "p0", rowKey: "1", n });
    await write(-1);
    await store.compact();
    assert.equal((await store.verify()).orphans > 0, true);
    await reader.cancel();
    await write(-2);
    await store.compact();
    assert.equal((await store.verify()).orphans, 0);
    await store.close();
  });

  test("does not keep the store from restoring, and outlives it", async () => {
    const store = await fill(await inFiles({ memoryLimit: 500_000 }), 500);
    const file = await store.snapshot();
    const other = await inMemory();
    const reader = store.snapshotStream().getReader();
    const chunks = [(await reader.read()).value as Uint8Array];
    await store.restore(other.snapshotStream());
    assert.equal((await store.stats()).rows, 0);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
    }
    assert.deepEqual(new Uint8Array(Buffer.concat(chunks)), file);
    await store.compact();
    await Promise.all([store.close(), other.close()]);
  });

  test("fails when the store closes", async () => {
    const store = await fill(await inMemory(), 200);
    const reader = store.snapshotStream().getReader();
    const unread = store.snapshotStream();
    await reader.read();
    await store.close();
    await assert.rejects(reader.read(), { name: "StoreError", code: "StoreClosed" });
    await assert.rejects(collected(unread), { name: "StoreError", code: "StoreClosed" });
  });

  test("fails if a read finds damage in rows that it has not read yet", async () => {
    const files = new Map<string, Uint8Array>();
    // With a lower limit, the part would be unloaded, and loaded again.
    const open = async () => {
      const [engine, storage] = [await createEngine(), new MemoryStorage(files)];
      return new StoreHandle("test", await openHost({ engine, storage, memoryLimit: 50_000_000 }));
    };
    const filled = await fill(await inMemory(), 500);
    const stored = await open();
    await stored.restore(filled.snapshotStream());
    await Promise.all([stored.close(), filled.close()]);
    const parts = [...files.keys()].filter((name) => name.startsWith("part-")).sort();
    const last = parts.at(-1) as string;
    const bytes = (files.get(last) as Uint8Array).slice();
    bytes[1000] = (bytes[1000] as number) ^ 1;
    files.set(last, bytes);
    const store = await open();
    const chunks = store.snapshotStream().getReader();
    await chunks.read();
    await assert.rejects(store.table("people").getEntity("p0", "99"), { code: "Corrupted" });
    await assert.rejects(
      async () => {
        while (!(await chunks.read()).done);
      },
      { name: "StoreError", code: "Corrupted" },
    );
    await store.close();
  });
});

describe("tabs that share a store", () => {
  simulatedTest("stream it from any of them, and restore streams", async () => {
    const origin = new Origin();
    const owner = new StoreHandle("shop", await new Tab(origin).open());
    const follower = new StoreHandle("shop", await new Tab(origin).open());
    await fill(owner, 300);
    const file = await owner.snapshot();
    assert.deepEqual(await collected(follower.snapshotStream()), file);
    assert.deepEqual(await collected(owner.snapshotStream()), file);
    const cancelled = follower.snapshotStream().getReader();
    await cancelled.read();
    await cancelled.cancel();
    await owner.table("people").deleteEntity("p0", "1");
    const report = await follower.restore(new Blob([file as Uint8Array<ArrayBuffer>]).stream());
    assert.deepEqual(report, { tables: 1, entities: 300 });
    assert.deepEqual(await follower.snapshot(), file);
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("unplugged")),
    });
    await assert.rejects(follower.restore(broken), { message: "unplugged" });
    assert.deepEqual(await owner.snapshot(), file);
    await follower.close();
    await owner.close();
  });

  simulatedTest("end a stream when the owner changes, but take snapshot() again", async () => {
    const origin = new Origin();
    const a = new Tab(origin);
    const first = new StoreHandle("shop", await a.open());
    const follower = new StoreHandle("shop", await new Tab(origin).open());
    await fill(first, 300);
    const file = await first.snapshot();
    const reader = follower.snapshotStream().getReader();
    await reader.read();
    let pulled = 0;
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (++pulled === 3) a.kill();
          controller.enqueue(file.slice(pulled * 1000 - 1000, pulled * 1000));
        },
      },
      { highWaterMark: 0 },
    );
    const restoring = assert.rejects(follower.restore(stream), { code: "ConnectionLost" });
    const taking = follower.snapshot();
    await restoring;
    await assert.rejects(
      async () => {
        while (!(await reader.read()).done);
      },
      { code: "ConnectionLost" },
    );
    assert.deepEqual(await taking, file);
    assert.deepEqual(await follower.snapshot(), file);
    await follower.close();
  });

  simulatedTest("close while a restore waits for a stream that is silent", async () => {
    const origin = new Origin();
    for (const isOwner of [true, false]) {
      const other = new StoreHandle("shop", await new Tab(origin).open());
      const store = isOwner ? other : new StoreHandle("shop", await new Tab(origin).open());
      let isCancelled = false;
      const silent = new ReadableStream<Uint8Array>({
        cancel() {
          isCancelled = true;
        },
      });
      const rejected = assert.rejects(store.restore(silent), { code: "StoreClosed" });
      await other.flush();
      await store.close();
      await rejected;
      assert.ok(isCancelled);
      await other.close();
    }
  });
});

describe("with a memory limit far below the store's size", () => {
  const rows = 12_000; // 60 MB
  const memoryLimit = 2_000_000;
  const pages = 800; // 50 MB of wasm memory, of which the module takes 16 MB

  test("streams, restores and explain() need little memory", async () => {
    const wasm = await wasmWithMaxPages(pages);
    const open = () => inFiles({ memoryLimit, wasm });
    const store = await fill(await open(), rows);
    const plan = await store.table("people").explain({ queryOptions: { filter: "n ge 6000" } });
    assert.equal(plan.rowsRead, rows);
    assert.equal(plan.rowsReturned, rows / 2);
    assert.equal(plan.serviceRoundTrips, rows / 1000);
    const plans = await Promise.all(
      [1, 2, 3].map((n) =>
        store.table("people").explain({ queryOptions: { filter: `n lt ${n}` } }),
      ),
    );
    assert.deepEqual(
      plans.map(({ rowsRead, rowsReturned }) => [rowsRead, rowsReturned]),
      [1, 2, 3].map((n) => [rows, n]),
    );
    const other = await open();
    for (const mode of ["replace", "merge"] as const) {
      const report = await other.restore(store.snapshotStream(), { mode });
      assert.deepEqual(report, { tables: 1, entities: rows });
      assert.equal((await other.stats()).rows, rows);
    }
    let bytes = 0;
    for await (const chunk of other.snapshotStream()) bytes += chunk.length;
    assert.equal(bytes > rows * text.length, true);
    await Promise.all([store.close(), other.close()]);
  });
});
