// Tests store.snapshot() and store.restore(): between stores of every kind, with damaged files,
// with a failing storage, and in tabs that share a store.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { OpenOptions, Store } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { openHost } from "./support/open-host.ts";
import { openStore } from "./support/package.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { simulatedTest } from "./support/simulated-test.ts";

let root: string;
let folders = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(() => rm(root, { recursive: true }));

const inMemory = () => openStore({ persistence: "memory" });
const inFiles = (path: string, options: OpenOptions = {}) =>
  openStore({ persistence: "file", path, durability: "relaxed", ...options });
const newPath = () => join(root, String(++folders));

async function fill(store: Store, rows = 30): Promise<Store> {
  await store.serviceClient().createTable("people");
  await store.serviceClient().createTable("Zoo");
  const table = store.table("people");
  const writes = Array.from({ length: rows }, (_, n) =>
    table.createEntity({ partitionKey: `p${n % 3}`, rowKey: `r${n}`, n, big: 2n ** 60n }),
  );
  await Promise.all(writes);
  return store;
}

async function contentOf(store: Store): Promise<unknown[]> {
  const content: unknown[] = [];
  for await (const { name = "" } of store.serviceClient().listTables()) {
    content.push(name);
    for await (const entity of store.tableClient(name).listEntities()) content.push(entity);
  }
  return content;
}

describe("a snapshot", () => {
  test("restores to an equal store, whose snapshot has the same bytes", async () => {
    const source = await fill(await inMemory());
    const url = "http://127.0.0.1:10002/default/people?comp=acl";
    const body =
      '<?xml version="1.0"?><SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>';
    assert.equal((await source.fetch(url, { method: "PUT", body })).status, 204);
    const file = await source.snapshot();
    assert.equal(new TextDecoder().decode(file.subarray(0, 8)), "entitabs");
    const path = newPath();
    for (const target of [await inMemory(), await inFiles(path)]) {
      await target.table("old").createTable();
      await target.table("old").createEntity({ partitionKey: "p", rowKey: "gone" });
      assert.deepEqual(await target.restore(file), { tables: 2, entities: 30 });
      assert.deepEqual(await contentOf(target), await contentOf(source));
      assert.match(await (await target.fetch(url)).text(), /<Permission>r</);
      assert.deepEqual(await target.snapshot(), file);
      // The restored store accepts writes.
      const { etag } = await target.table("people").getEntity("p0", "r0");
      await target
        .table("people")
        .updateEntity({ partitionKey: "p0", rowKey: "r0", n: -1 }, "Merge", {
          etag: etag as string,
        });
      assert.equal((await target.verify()).ok, true);
      await target.close();
    }
    const again = await inFiles(path);
    assert.equal((await again.table("people").getEntity("p0", "r0")).n, -1);
    assert.equal((await again.stats()).rows, 30);
    await again.compact();
    assert.equal((await again.verify()).ok, true);
    await again.close();
    await source.close();
  });

  test("comes as bytes, a view, a Blob, or a stream", async () => {
    const source = await fill(await inMemory(), 2000);
    const file = (await source.snapshot()) as Uint8Array<ArrayBuffer>;
    const wider = new Uint8Array(file.length + 10);
    wider.set(file, 5);
    const sources = [
      file,
      file.buffer.slice(0, file.length),
      wider.subarray(5, 5 + file.length),
      new DataView(wider.buffer, 5, file.length),
      new Blob([file]),
      new Blob([file]).stream(),
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < file.length; at += 1000) {
            controller.enqueue(file.subarray(at, at + 1000));
          }
          controller.close();
        },
      }),
    ];
    for (const from of sources) {
      const target = await inMemory();
      assert.deepEqual(await target.restore(from), { tables: 2, entities: 2000 });
      assert.deepEqual(await target.snapshot(), file);
      await target.close();
    }
    await source.close();
  });

  test("contains deferred writes, and the state when it was requested", async () => {
    const store = await openStore({ persistence: "file", path: newPath(), durability: "deferred" });
    await fill(store);
    const taking = store.snapshot();
    const both = await Promise.all([taking, store.snapshot()]);
    assert.deepEqual(both[0], both[1]);
    const other = await inMemory();
    assert.equal((await other.restore(both[0])).entities, 30);
    await other.close();
    await store.close();
  });
});

describe("restoring", () => {
  test("invalid data of any kind rejects and changes nothing", async () => {
    const source = await inMemory();
    await source.table("people").createTable();
    await source.table("people").createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
    const file = await source.snapshot();
    const target = await fill(await inMemory());
    const content = await target.snapshot();
    for (let at = 0; at < file.length; ++at) {
      const mode = at % 2 === 0 ? "replace" : "merge";
      const cut = target.restore(file.slice(0, at), { mode });
      await assert.rejects(cut, { name: "StoreError", code: "Corrupted" });
      const flipped = file.slice();
      flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
      await assert.rejects(target.restore(flipped, { mode }), { code: "Corrupted" }, `byte ${at}`);
    }
    const longer = new Blob([file as Uint8Array<ArrayBuffer>, "x"]);
    await assert.rejects(target.restore(longer), { code: "Corrupted", hint: /snapshot\(\) wrote/ });
    const invalid = { code: "ValidationFailed" };
    for (const wrong of ["text", 5, null, {}, new Blob(["x"]).stream().getReader()]) {
      await assert.rejects(target.restore(wrong as Blob), invalid);
    }
    await assert.rejects(target.restore(file, { mode: "add" as "merge" }), invalid);
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("unplugged")),
    });
    await assert.rejects(target.restore(broken), { message: "unplugged" });
    assert.deepEqual(await target.snapshot(), content);
    await target.close();
    await source.close();
    await assert.rejects(target.restore(file), { code: "StoreClosed" });
    await assert.rejects(target.snapshot(), { code: "StoreClosed" });
  });

  test("into memory keeps everything there, whatever the limit", async () => {
    const source = await inMemory();
    await source.serviceClient().createTable("large");
    const text = "x".repeat(30_000);
    const entities = Array.from({ length: 60 }, (_, n) => ({
      partitionKey: "p",
      rowKey: `${n}`,
      text,
    }));
    await Promise.all(entities.map((entity) => source.tableClient("large").createEntity(entity)));
    const store = await openStore({ persistence: "memory", memoryLimit: 1 });
    await store.restore(await source.snapshot());
    assert.deepEqual(await contentOf(store), await contentOf(source));
    assert.deepEqual(store.status.damage, []);
    await Promise.all([source.close(), store.close()]);
  });

  test("that merges keeps existing rows, and survives reopening", async () => {
    const source = await fill(await inMemory(), 500);
    const path = newPath();
    const target = await inFiles(path);
    await target.table("People").createTable();
    await target.table("People").createEntity({ partitionKey: "mine", rowKey: "r" });
    await target.table("People").createEntity({ partitionKey: "p0", rowKey: "r0", n: -1 });
    const file = new Blob([(await source.snapshot()) as Uint8Array<ArrayBuffer>]);
    assert.deepEqual(await target.restore(file, { mode: "merge" }), { tables: 2, entities: 500 });
    assert.equal((await target.stats()).rows, 501);
    assert.equal((await target.table("people").getEntity("p0", "r0")).n, 0);
    const content = await contentOf(target);
    await target.close();
    const again = await inFiles(path);
    assert.deepEqual(await contentOf(again), content);
    assert.deepEqual(again.status.damage, []);
    await again.close();
    await source.close();
  });

  test("concurrent writes come before it or after it, and none after it is lost", async () => {
    const source = await fill(await inMemory(), 3000);
    const file = await source.snapshot();
    const path = newPath();
    for (const durability of ["relaxed", "deferred"] as const) {
      const store = await inFiles(path, { durability });
      await store.restore(file);
      const table = store.table("people");
      let done = false;
      let after: number | undefined; // the first write that began after the restore had ended
      let n = 0;
      const restoring = store.restore(file).then(() => {
        done = true;
        after = n;
      });
      while (!done || n < (after ?? 0) + 20) {
        await table.upsertEntity({ partitionKey: "w", rowKey: String(n), n });
        ++n;
        await new Promise(setImmediate);
      }
      await restoring;
      await store.close();
      const again = await inFiles(path);
      const found: number[] = [];
      const filter = "PartitionKey eq 'w'";
      for await (const row of again
        .table<{ n: number }>("people")
        .listEntities({ queryOptions: { filter } })) {
        found.push(row.n);
      }
      found.sort((a, b) => a - b);
      const first = found[0] as number;
      assert.deepEqual(
        found,
        Array.from({ length: n - first }, (_, i) => first + i),
      );
      assert.equal(first <= (after as unknown as number), true);
      await again.close();
    }
    await source.close();
  });
});

// ---- A bad storage ------------------------------------------------------------------------------

class Bench {
  readonly files = new Map<string, Uint8Array>();
  storage = new ControlledStorage(new MemoryStorage(this.files));
  fail = false; // whether every storage call fails

  async open(): Promise<Store> {
    this.storage = new ControlledStorage(new MemoryStorage(this.files));
    if (this.fail) this.storage.failing = "quota";
    const engine = await createEngine();
    const host = await openHost({ engine, storage: this.storage, persisted: false });
    return new StoreHandle("test", host);
  }
}

describe("restoring, when the storage fails", () => {
  test("leaves the old content, now and after reopening, whichever call fails", async () => {
    const source = await fill(await inMemory());
    const file = await source.snapshot();
    for (const failure of ["quota", "aborted"] as const) {
      for (const name of ["putPart", "commitManifest"] as const) {
        const bench = new Bench();
        const store = await bench.open();
        await store.table("old").createTable();
        await store.table("old").createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
        const content = await contentOf(store);
        bench.storage.auto = false;
        const rejected = assert.rejects(store.restore(file), (error) => {
          return error instanceof StorageError && error.failure === failure;
        });
        const writing = store.table("old").upsertEntity({ partitionKey: "q", rowKey: "later" });
        for (;;) {
          const call = await bench.storage.next();
          if (call.name === name) {
            bench.storage.auto = true; // later removals of orphans do not wait for the test
            await call.fail(failure);
            break;
          }
          await call.succeed();
        }
        await rejected;
        await writing;
        await store.table("old").deleteEntity("q", "later");
        assert.deepEqual(await contentOf(store), content);
        assert.deepEqual((await store.verify()).damage, []);
        await store.close();
        const again = await bench.open();
        assert.deepEqual(await contentOf(again), content);
        assert.deepEqual(await again.restore(file), { tables: 2, entities: 30 });
        assert.deepEqual(await contentOf(again), await contentOf(source));
        await again.close();
      }
    }
    await source.close();
  });

  test("with an unknown outcome, repeats the call until the outcome is known", async () => {
    const source = await fill(await inMemory());
    const bench = new Bench();
    const store = await bench.open();
    bench.storage.auto = false;
    const restoring = store.restore(await source.snapshot());
    for (;;) {
      const call = await bench.storage.next();
      if (call.name === "commitManifest") {
        await call.storeAndFail("unknown");
        break;
      }
      await call.succeed();
    }
    bench.storage.auto = true;
    await restoring;
    assert.deepEqual(await contentOf(store), await contentOf(source));
    await store.close();
    const again = await bench.open();
    assert.deepEqual(await contentOf(again), await contentOf(source));
    await again.close();
    await source.close();
  });

  test("claims a log that was opened without a claim, before anything is replaced", async () => {
    const source = await fill(await inMemory());
    const file = await source.snapshot();
    const bench = new Bench();
    bench.fail = true;
    const store = await bench.open();
    await assert.rejects(store.restore(file), { code: "QuotaExceeded" });
    assert.deepEqual([...bench.files.keys()], []);
    bench.storage.failing = undefined;
    await store.restore(file);
    assert.deepEqual(
      bench.storage.calls.map(({ name }) => name),
      ["claim", "claim", "claim", "putPart", "commitManifest"],
    );
    assert.deepEqual(await contentOf(store), await contentOf(source));
    await store.close();
    await source.close();
  });
});

// ---- Tabs ---------------------------------------------------------------------------------------

describe("tabs that share a store", () => {
  simulatedTest("take and restore it in any of them", async () => {
    const origin = new Origin();
    const owner = new StoreHandle("shop", await new Tab(origin).open());
    const follower = new StoreHandle("shop", await new Tab(origin).open());
    await fill(owner);
    const file = await follower.snapshot();
    assert.deepEqual(file, await owner.snapshot());
    await follower.table("people").deleteEntity("p0", "r0");
    const blob = new Blob([file as Uint8Array<ArrayBuffer>]);
    assert.deepEqual(await follower.restore(blob), { tables: 2, entities: 30 });
    assert.deepEqual(await follower.snapshot(), file);
    await follower.table("people").deleteEntity("p0", "r0");
    await follower.restore(file, { mode: "merge" });
    assert.equal((await owner.stats()).rows, 30);
    await assert.rejects(follower.restore(new Uint8Array(5)), {
      name: "StoreError",
      code: "Corrupted",
    });
    await follower.close();
    await owner.close();
  });

  simulatedTest("restore it once even if the owner dies at any step", async () => {
    const source = await fill(await inMemory());
    const file = await source.snapshot();
    for (let steps = 0; steps < 24; ++steps) {
      const origin = new Origin();
      const a = new Tab(origin);
      const first = new StoreHandle("shop", await a.open());
      const follower = new StoreHandle("shop", await new Tab(origin).open());
      await fill(first, 3);
      const restoring = follower.restore(file);
      for (let step = 0; step < steps; ++step) await new Promise(setImmediate);
      a.kill();
      assert.deepEqual(await restoring, { tables: 2, entities: 30 });
      assert.deepEqual(await follower.snapshot(), file);
      assert.equal((await follower.verify()).ok, true);
      await follower.close();
    }
    await source.close();
  });
});
