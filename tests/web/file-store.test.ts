// Tests stores in files, opened as users open them in Node.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { OpenOptions, Store, StoreWarning } from "../../web/src/types.ts";
import { deleteStore, listStores, openStore } from "./support/package.ts";

let root: string;
let folders = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(() => rm(root, { recursive: true }));

const newPath = () => join(root, String(++folders));
const key = { partitionKey: "p", rowKey: "r" };
const inFiles = (path: string, options: OpenOptions = {}) =>
  openStore({ persistence: "file", path, ...options });

// Opening waits for three seconds. On a busy machine, the store may take longer to close.
async function openOnceClosed(path: string): Promise<Store> {
  for (;;) {
    try {
      return await inFiles(path);
    } catch (error) {
      if ((error as { code?: string }).code !== "StoreLocked") throw error;
    }
  }
}

async function rowsOf(path: string): Promise<number[]> {
  const store = await inFiles(path);
  const rows: number[] = [];
  for await (const { n } of store.table<{ n: number }>("log").listEntities()) rows.push(n);
  await store.close();
  return rows;
}

describe("a store of files", () => {
  for (const durability of ["strict", "relaxed", "deferred"] as const) {
    test(`${durability}: has its data after closing and reopening`, async () => {
      const path = newPath();
      const store = await inFiles(path, { durability, name: "shop" });
      const { persistence, persisted } = store.status;
      assert.deepEqual([persistence, persisted], ["file", true]);
      await store.table("log").createTable();
      await store.table("log").createEntity({ ...key, big: 2n ** 60n });
      await store.close();
      assert.deepEqual(
        await readdir(join(path, "shop")),
        ["manifest-0000000000000001", ...[1, 2, 3].map((n) => `wal-000000000000000${n}`)].slice(
          0,
          durability === "deferred" ? 3 : 4,
        ),
      );
      const again = await inFiles(path, { name: "shop" });
      assert.equal((await again.table("log").getEntity("p", "r")).big, 2n ** 60n);
      await again.close();
    });
  }

  test("is kept short by checkpoints", async () => {
    const path = newPath();
    const store = await inFiles(path, { durability: "relaxed" });
    const table = store.table("log");
    await table.createTable();
    for (let n = 0; n < 600; ++n) await table.upsertEntity({ ...key, rowKey: String(n % 3), n });
    await store.close();
    const files = await readdir(join(path, "default"));
    assert(files.includes("manifest-0000000000000002"), files.join());
    // Checkpoints run during the writes; on a busy machine they take long.
    assert(files.length < 600, `${files.length} files`);
    assert.deepEqual((await rowsOf(path)).sort(), [597, 598, 599]);
  });

  test("can be open once, in any process", async () => {
    const path = newPath();
    const store = await inFiles(path);
    const began = Date.now();
    await assert.rejects(inFiles(path), { name: "StoreError", code: "StoreLocked" });
    assert(Date.now() - began > 2500, "it is waited for");
    const next = openOnceClosed(path);
    await store.close();
    await (await next).close();
  });

  test("opening can be aborted while another process has the store", async () => {
    const path = newPath();
    const store = await inFiles(path);
    await assert.rejects(inFiles(path, { signal: AbortSignal.timeout(20) }), {
      name: "AbortError",
    });
    await store.close();
  });

  test("opens read-only if it is damaged, and reports what is missing", async () => {
    const path = newPath();
    const store = await inFiles(path);
    const table = store.table("log");
    await table.createTable();
    await table.createEntity({ ...key, n: 1 });
    await store.close();
    await writeFile(join(path, "default/wal-0000000000000003"), "damaged");
    const warnings: StoreWarning[] = [];
    const damaged = await inFiles(path, { onWarning: (warning) => warnings.push(warning) });
    assert.equal(damaged.status.state, "read-only");
    assert.equal(damaged.status.damage[0]?.file, "wal-0000000000000003");
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ["Damaged"],
    );
    await assert.rejects(damaged.table("log").createEntity(key), { code: "Corrupted" });
    await damaged.close();
    assert.equal((await readdir(join(path, "default"))).length, 4, "nothing was removed");
  });

  test("opens a folder of the first layout, and continues it", async () => {
    const path = newPath();
    const layout = new URL("../testdata/folder/v1/", import.meta.url);
    await cp(layout, join(path, "default"), { recursive: true });
    assert.deepEqual(await rowsOf(path), [0, 1, 2, 3, 4]);
    const store = await inFiles(path);
    assert.deepEqual(store.status.damage, []);
    await store.table("log").createEntity({ partitionKey: "p", rowKey: "5", n: 5 });
    await store.compact();
    await store.close();
    const names = await readdir(join(path, "default"));
    const old = ["manifest", "part-0000000000000001", "wal-0000000000000007"];
    assert.deepEqual(
      names.filter((name) => old.includes(name)),
      [],
    );
    assert.deepEqual(await rowsOf(path), [0, 1, 2, 3, 4, 5]);
  });

  test("loses nothing that was acknowledged when its process is killed", async () => {
    for (const durability of ["strict", "relaxed"]) {
      const path = newPath();
      const child = fork(new URL("support/file-writer.ts", import.meta.url), [path, durability]);
      const acknowledged: number[] = [];
      await new Promise<void>((resolve) => {
        child.on("message", (n: number) => {
          acknowledged.push(n);
          if (acknowledged.length === 100) child.kill("SIGKILL");
        });
        child.on("exit", () => resolve());
      });
      const rows = await rowsOf(path); // the dead process's lock does not block opening
      assert.deepEqual(
        rows,
        Array.from(rows, (_, i) => i),
      );
      assert(rows.length >= acknowledged.length, `${rows.length} of ${acknowledged.length}`);
    }
  });
});

describe("the stores of a folder", () => {
  test("are listed and deleted", async () => {
    const path = newPath();
    const location = { persistence: "file", path } as const;
    assert.deepEqual(await listStores(location), []);
    for (const name of ["b", "a"]) await (await inFiles(path, { name })).close();
    const listed = ["a", "b"].map((name) => ({ name, persistence: "file" }));
    assert.deepEqual(await listStores(location), listed);
    await deleteStore("a", location);
    await deleteStore("a", location);
    assert.deepEqual(await listStores(location), listed.slice(1));
    assert.deepEqual(await readdir(path), ["b"]);
  });

  test("need a path, and other stores reject one", async () => {
    const invalid = { name: "StoreError", code: "ValidationFailed" };
    await assert.rejects(openStore({ persistence: "file" }), invalid);
    await assert.rejects(openStore({ persistence: "file", path: "" }), invalid);
    await assert.rejects(openStore({ path: newPath() }), invalid);
    await assert.rejects(listStores({ persistence: "file" }), invalid);
    await assert.rejects(deleteStore("a", { persistence: "memory", path: "x" }), invalid);
  });

  test("are available in Node only", async () => {
    const { process } = globalThis;
    const unavailable = { name: "StoreError", code: "PersistenceUnavailable" };
    const location = { persistence: "file", path: newPath() } as const;
    Object.defineProperty(globalThis, "process", { value: undefined, configurable: true });
    try {
      await assert.rejects(openStore(location), unavailable);
      await assert.rejects(listStores(location), unavailable);
      await assert.rejects(deleteStore("a", location), unavailable);
    } finally {
      Object.defineProperty(globalThis, "process", { value: process, configurable: true });
    }
  });

  test("must be in a folder that can be used", async () => {
    const path = newPath();
    await mkdir(path);
    await writeFile(join(path, "default"), "in the way");
    await assert.rejects(inFiles(path), { name: "StoreError", code: "PersistenceUnavailable" });
  });
});
