// Tests opening, closing, deleting and listing stores, in memory and in a simulated IndexedDB.
// tests/browser uses a real one.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import "fake-indexeddb/auto";
import { forceCloseDatabase } from "fake-indexeddb";
import type { OpenOptions, StoreWarning } from "../../web/src/types.ts";
import { collectGarbage } from "./support/collect-garbage.ts";
import { deleteStore, listStores, openStore } from "./support/package.ts";
import { until } from "./support/until.ts";

const key = { partitionKey: "p", rowKey: "r" };
let stores = 0;
const newName = () => `store-${++stores}`;

function closed(error: unknown): boolean {
  const { name, code } = error as { name: string; code: string };
  assert.deepEqual([name, code], ["StoreError", "StoreClosed"]);
  return true;
}

describe("a store in memory", () => {
  test("frees its memory when it is closed and no longer referenced", async (t) => {
    const instantiate = WebAssembly.instantiate;
    let memory: WebAssembly.Memory | undefined;
    // Replaced by hand: a mock of the test runner would keep the calls' results, and with them the
    // memory.
    WebAssembly.instantiate = (async (module: WebAssembly.Module, imports: WebAssembly.Imports) => {
      const instance = await instantiate(module, imports);
      for (const value of Object.values(instance.exports)) {
        if (value instanceof WebAssembly.Memory) memory = value;
      }
      return instance;
    }) as typeof instantiate;
    t.after(() => {
      WebAssembly.instantiate = instantiate;
    });
    const used = async () => {
      const store = await openStore({ persistence: "memory" });
      const table = store.table("people");
      await table.createTable();
      await table.createEntity(key);
      await table.getEntity("p", "r");
      await store.close();
      const buffer = new WeakRef((memory as WebAssembly.Memory).buffer);
      memory = undefined;
      return buffer;
    };
    const buffer = await used();
    await until(() => {
      collectGarbage();
      return buffer.deref() === undefined;
    });
  });

  test("has one handle of a table without options", async () => {
    await using store = await openStore({ persistence: "memory" });
    assert.equal(store.table("people"), store.table("people"));
    assert.notEqual(store.table("people"), store.table("others"));
    const options = { durability: "strict" } as const;
    assert.notEqual(store.table("people", options), store.table("people"));
    assert.notEqual(store.tableClient("people"), store.table("people"));
  });

  test("is separate from other stores, and ends with close()", async () => {
    const a = await openStore({ persistence: "memory", name: "same" });
    const b = await openStore({ persistence: "memory", name: "same" });
    await a.table("people").createTable();
    await assert.rejects(b.table("people").getEntity("p", "r"), { code: "TableNotFound" });
    assert.equal(a.status.persistence, "memory");
    await a.close();
    await b.close();
    assert(!(await listStores()).some(({ name }) => name === "same"));
  });

  test("accepts writes of every durability", async () => {
    await using store = await openStore({ persistence: "memory" });
    const table = store.table("people");
    await table.createTable();
    for (const durability of ["strict", "relaxed", "deferred"] as const) {
      await table.upsertEntity({ ...key, durability }, "Merge", { durability });
    }
    await store.flush();
    assert.equal(store.status.pendingBytes, 0);
  });
});

describe("a store in IndexedDB", () => {
  test("has its data after closing and reopening", async () => {
    const name = newName();
    const first = await openStore({ name, persistence: "indexeddb" });
    assert.deepEqual(
      [first.name, first.status.state, first.status.persistence, first.status.owner],
      [name, "open", "indexeddb", "self"],
    );
    const table = first.table("people");
    await table.createTable();
    const { etag } = await table.createEntity({
      ...key,
      big: 2n ** 60n,
      bytes: new Uint8Array([1]),
    });
    await first.close();
    const second = await openStore({ name, persistence: "indexeddb" });
    const entity = await second.table("people").getEntity("p", "r");
    assert.deepEqual([entity.etag, entity.big], [etag, 2n ** 60n]);
    await second.close();
  });

  test("is opened while the module is downloaded, and released if the download fails", async () => {
    const name = newName();
    await (await openStore({ name })).close();
    const wasm = new TransformStream<Uint8Array, Uint8Array>();
    const opening = openStore({ name, wasm: new Response(wasm.readable) });
    const failed = assert.rejects(opening, { code: "WasmLoadFailed" });
    const real = indexedDB.open;
    try {
      await new Promise<void>((resolve) => {
        indexedDB.open = (...args: Parameters<typeof real>) => {
          const request = real.apply(indexedDB, args);
          request.addEventListener("success", () => resolve());
          return request;
        };
      });
    } finally {
      indexedDB.open = real;
    }
    await wasm.writable.close(); // a response without content
    await failed;
    await deleteStore(name);
  });

  test("has all of its data after a thousand commits and their checkpoints", async () => {
    const name = newName();
    const store = await openStore({ name, durability: "relaxed" });
    const table = store.table("many");
    await table.createTable();
    for (let i = 0; i < 1000; ++i) {
      await table.upsertEntity({ partitionKey: `p${i % 7}`, rowKey: `r${i % 300}`, i });
    }
    const before = await rowsOf(table);
    for (let waits = 0; (await store.stats()).segments >= 256; ++waits) {
      assert(waits < 100, "there was a pause");
      await sleep(50);
    }
    await store.close();
    const again = await openStore({ name });
    assert.deepEqual(await rowsOf(again.table("many")), before);
    assert.equal((await again.stats()).rows, before.length);
    await again.close();
  });

  test("keeps deferred writes that were flushed, or pending when it was closed", async () => {
    const name = newName();
    const store = await openStore({ name, durability: "deferred", deferredDelayMs: 1000 });
    const table = store.table("people");
    await table.createTable();
    await table.createEntity(key);
    assert(store.status.pendingBytes > 0);
    await store.flush();
    assert.equal(store.status.pendingBytes, 0);
    await table.createEntity({ ...key, rowKey: "s" });
    await store.close();
    const again = await openStore({ name });
    assert.equal((await rowsOf(again.table("people"))).length, 2);
    await again.close();
  });

  test("reports what it stored", async () => {
    await using store = await openStore({ name: newName() });
    const seen: Date[] = [];
    store.on("persisted", ({ at }) => seen.push(at));
    await store.table("people").createTable();
    assert.deepEqual(seen, [store.status.lastPersistedAt]);
  });

  test("continues when its connection is lost", async () => {
    const name = newName();
    const real = indexedDB.open;
    const databases: IDBDatabase[] = [];
    indexedDB.open = function (...args: Parameters<IDBFactory["open"]>) {
      const request = real.apply(this, args);
      request.addEventListener("success", () => databases.push(request.result));
      return request;
    };
    const store = await openStore({ name });
    indexedDB.open = real;
    const table = store.table("people");
    await table.createTable();
    let reopened = 0;
    store.on("reopened", () => {
      reopened += 1;
    });
    forceCloseDatabase(databases.at(-1) as never);
    await table.createEntity(key);
    assert.equal(reopened, 1);
    await store.close();
    const again = await openStore({ name });
    await again.table("people").getEntity("p", "r");
    await again.close();
  });

  test("whose database is deleted keeps reading and rejects writes", async () => {
    const name = newName();
    const store = await openStore({ name });
    const table = store.table("people");
    await table.createTable();
    await table.createEntity(key);
    await new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase(`/entitable/${name}`);
      request.onsuccess = resolve;
      request.onerror = reject;
    });
    await assert.rejects(table.createEntity({ ...key, rowKey: "s" }), { code: "ConnectionLost" });
    assert.equal(store.status.state, "read-only");
    await table.getEntity("p", "r");
    await store.close();
  });

  test("opened read-only rejects writes", async () => {
    const name = newName();
    const writer = await openStore({ name });
    await writer.table("people").createTable();
    await writer.close();
    const reader = await openStore({ name, readOnly: true });
    assert.equal(reader.status.state, "read-only");
    await assert.rejects(reader.table("people").createEntity(key), { code: "NotSupported" });
    await assert.rejects(reader.table("people").getEntity("p", "r"), { code: "ResourceNotFound" });
    await reader.close();
  });

  test("with a damaged segment opens read-only and reports the damage", async () => {
    const name = newName();
    const store = await openStore({ name });
    const table = store.table("people");
    await table.createTable();
    await table.createEntity(key);
    await table.createEntity({ ...key, rowKey: "s" });
    await store.close();
    await damage(`/entitable/${name}`, "wal-0000000000000004");
    const warnings: StoreWarning[] = [];
    const again = await openStore({ name, onWarning: (warning) => warnings.push(warning) });
    assert.equal(again.status.state, "read-only");
    assert.equal(again.status.damage[0]?.file, "wal-0000000000000004");
    assert(warnings.some(({ code }) => code === "Damaged"));
    assert.equal((await rowsOf(again.table("people"))).length, 1);
    await assert.rejects(again.table("people").createEntity({ ...key, rowKey: "t" }), {
      name: "StoreError",
      code: "Corrupted",
    });
    await again.close();
  });
});

describe("an exclusive store", () => {
  test("waits for the previous holder to close", async () => {
    const name = newName();
    const first = await openStore({ name, tabs: "exclusive" });
    for (const tabs of ["exclusive", "shared"] as const) {
      const second = openStore({ name, tabs });
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (tabs === "exclusive") await first.close();
      await (await second).close();
    }
  });

  test("is rejected after 3 seconds with StoreLocked, and so is deleting it", async () => {
    const name = newName();
    const locked = { name: "StoreError", code: "StoreLocked" };
    for (const [first, second] of [
      ["exclusive", "exclusive"],
      ["exclusive", "shared"],
      ["shared", "exclusive"],
    ] as const) {
      const store = await openStore({ name, tabs: first });
      const started = performance.now();
      await Promise.all([
        assert.rejects(openStore({ name, tabs: second }), locked),
        assert.rejects(deleteStore(name), locked),
      ]);
      const waited = performance.now() - started;
      assert(waited > 2900 && waited < 6000, `${waited} ms`);
      await store.table("people").createTable();
      await store.close();
    }
  });

  test("can stop waiting when its signal is aborted", async () => {
    const name = newName();
    const first = await openStore({ name, tabs: "exclusive" });
    const abort = new AbortController();
    const second = openStore({ name, signal: abort.signal });
    abort.abort();
    await assert.rejects(second, { name: "AbortError" });
    await assert.rejects(openStore({ name, signal: AbortSignal.abort() }), { name: "AbortError" });
    await first.close();
    await (await openStore({ name, tabs: "exclusive" })).close(); // no lock is left
  });
});

describe("close", () => {
  test("rejects every later call with StoreClosed, also on handles", async () => {
    const store = await openStore({ name: newName() });
    const table = store.table("people");
    await table.createTable();
    const last = table.createEntity(key);
    await store.close();
    await last; // calls before close() are completed
    await store.close();
    assert.equal(store.status.state, "closed");
    const calls = [
      () => table.createTable(),
      () => table.deleteTable(),
      () => table.createEntity(key),
      () => table.getEntity("p", "r"),
      () => table.listEntities().next(),
      () => table.listEntities().byPage().next(),
      () => table.updateEntity(key),
      () => table.upsertEntity(key),
      () => table.deleteEntity("p", "r"),
      () => table.submitTransaction([["create", key]]),
      () => table.explain(),
      () => store.tableClient("people").getEntity("p", "r"),
      () => store.serviceClient().createTable("x"),
      () => store.serviceClient().listTables().next(),
      () => store.flush(),
      () => store.stats(),
    ];
    for (const call of calls) await assert.rejects(call(), closed, String(call));
  });

  test("is called by `await using`", async () => {
    const name = newName();
    {
      await using store = await openStore({ name });
      await store.table("people").createTable();
    }
    await (await openStore({ name })).close();
  });
});

describe("listStores and deleteStore", () => {
  test("a deleted store is gone; deleting a missing store succeeds", async () => {
    const name = newName();
    const store = await openStore({ name });
    await store.table("people").createTable();
    await store.close();
    assert(
      (await listStores()).some((info) => info.name === name && info.persistence === "indexeddb"),
    );
    await deleteStore(name);
    assert(!(await listStores()).some((info) => info.name === name));
    await deleteStore(name);
    const again = await openStore({ name });
    await assert.rejects(again.table("people").getEntity("p", "r"), { code: "TableNotFound" });
    await again.close();
  });

  test("stores in memory are neither listed nor deleted", async () => {
    assert.deepEqual(await listStores({ persistence: "memory" }), []);
    await deleteStore("anything", { persistence: "memory" });
  });
});

describe("invalid options", () => {
  const invalid = { name: "StoreError", code: "ValidationFailed" };
  const bad: OpenOptions[] = [
    { name: "" },
    { name: "a/b" },
    { name: "ü" },
    { name: ".." },
    { name: "." },
    { name: "x".repeat(64) },
    { persistence: "disk" as "memory" },
    { durability: "sync" as "strict" },
    { deferredDelayMs: -1 },
    { deferredDelayMs: 1001 },
    { deferredDelayMs: Number.NaN },
    "shop" as OpenOptions, // would open the default store if it were accepted
    null as unknown as OpenOptions,
    { requestPersistence: "yes" as "never" },
    { memory: true } as OpenOptions,
  ];
  for (const options of bad) {
    test(JSON.stringify(options), () => assert.rejects(openStore(options), invalid));
  }

  test("a name of 63 characters is valid", async () => {
    const name = "a".repeat(63);
    await (await openStore({ name })).close();
    await deleteStore(name);
    await assert.rejects(deleteStore("a/b"), invalid);
  });
});

test("a warning listener that throws does not prevent opening and closing", async (t) => {
  const runners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  t.after(() => {
    for (const runner of runners) process.on("unhandledRejection", runner);
  });
  const reported = new Promise<Error>((resolve) => {
    process.once("unhandledRejection", (error) => resolve(error as Error));
  });
  const name = newName();
  const written = await openStore({ name });
  await written.table("people").createTable();
  await written.close();
  await damage(`/entitable/${name}`, "wal-0000000000000001");
  const onWarning = () => {
    throw new Error("listener");
  };
  const store = await openStore({ name, onWarning });
  assert.equal(store.status.state, "read-only");
  assert.equal((await reported).message, "listener");
  await store.close();
  await deleteStore(name);
});

describe("without IndexedDB", () => {
  async function without<T>(run: () => Promise<T>): Promise<T> {
    const real = globalThis.indexedDB;
    delete (globalThis as { indexedDB?: IDBFactory }).indexedDB;
    try {
      return await run();
    } finally {
      globalThis.indexedDB = real;
    }
  }

  test('"auto" opens in memory, with a warning; "indexeddb" rejects', () =>
    without(async () => {
      const warnings: StoreWarning[] = [];
      const store = await openStore({ onWarning: (warning) => warnings.push(warning) });
      assert.equal(store.status.persistence, "memory");
      assert.deepEqual(
        warnings.map(({ code }) => code),
        ["PersistenceUnavailable"],
      );
      await store.close();
      const unavailable = { name: "StoreError", code: "PersistenceUnavailable" };
      await assert.rejects(openStore({ persistence: "indexeddb" }), unavailable);
      await assert.rejects(listStores({ persistence: "indexeddb" }), unavailable);
      await assert.rejects(deleteStore("x", { persistence: "indexeddb" }), unavailable);
      assert.deepEqual(await listStores(), []);
    }));

  test("also if only the first call fails, as in private windows of older Firefox", async () => {
    const real = indexedDB.open;
    const failWith = (name: string) => {
      indexedDB.open = () => {
        const request = Object.assign(new EventTarget(), { error: new DOMException("no", name) });
        setTimeout(() => request.dispatchEvent(new Event("error")), 1);
        return request as unknown as IDBOpenDBRequest;
      };
    };
    try {
      failWith("InvalidStateError");
      const store = await openStore();
      assert.equal(store.status.persistence, "memory");
      await store.close();
    } finally {
      indexedDB.open = real;
    }
  });

  test("a database that cannot be opened is an error, and no lock is left", async () => {
    const name = newName();
    const request = indexedDB.open(`/entitable/${name}`, 22); // as a later version of IDBFS would
    await new Promise((resolve) => {
      request.onsuccess = resolve;
    });
    request.result.close();
    await assert.rejects(openStore({ name }), (error: Error & { code: string }) => {
      assert.deepEqual(
        [error.code, (error.cause as Error).name],
        ["PersistenceUnavailable", "VersionError"],
      );
      return true;
    });
    await deleteStore(name);
  });

  test("forbidden IndexedDB counts as missing; a failure is an error", async () => {
    const real = indexedDB.open;
    const failWith = (name: string) => {
      indexedDB.open = () => {
        throw new DOMException("no", name);
      };
    };
    try {
      failWith("SecurityError");
      const store = await openStore();
      assert.equal(store.status.persistence, "memory");
      await store.close();
      failWith("UnknownError");
      await assert.rejects(openStore(), { code: "PersistenceUnavailable" });
    } finally {
      indexedDB.open = real;
    }
    await (await openStore()).close(); // no lock is left
  });
});

test("the given clock sets timestamps", async () => {
  const at = new Date("2030-01-02T03:04:05.678Z");
  await using store = await openStore({
    persistence: "memory",
    clock: { now: () => at.getTime() },
  });
  const table = store.table("people");
  await table.createTable();
  const { date } = await table.createEntity(key);
  assert.deepEqual(date, at);
  assert.match(String((await table.getEntity("p", "r")).timestamp), /^2030-01-02T03:04:05\.678/);
});

async function rowsOf(table: { listEntities(): AsyncIterable<object> }): Promise<object[]> {
  const rows: object[] = [];
  for await (const row of table.listEntities()) rows.push(row);
  return rows;
}

// Flips one bit in the middle of a file.
async function damage(database: string, file: string): Promise<void> {
  const open = indexedDB.open(database);
  await new Promise((resolve, reject) => {
    open.onsuccess = resolve;
    open.onerror = reject;
  });
  const tx = open.result.transaction("FILE_DATA", "readwrite");
  const files = tx.objectStore("FILE_DATA");
  const get = files.get(`${database}/${file}`);
  get.onsuccess = () => {
    const entry = get.result as { contents: Uint8Array };
    const middle = entry.contents.length >> 1;
    entry.contents[middle] = (entry.contents[middle] ?? 0) ^ 1;
    files.put(entry, `${database}/${file}`);
  };
  await new Promise((resolve) => {
    tx.oncomplete = resolve;
  });
  open.result.close();
}
