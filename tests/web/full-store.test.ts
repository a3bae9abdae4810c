// Tests that a store in files on a full disk can be emptied: deletes, compact() and opening use the
// reserve (web/src/host/space-reserve.ts).

import assert from "node:assert/strict";
import { appendFileSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { inspect } from "node:util";
import { accountFromOptions } from "../../web/src/rest/account.ts";
import { openFileStore } from "../../web/src/storage/file-stores.ts";
import { NodeFilesStorage } from "../../web/src/storage/node-files.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { type FileSystem, realFileSystem } from "./support/intercepted-fs.ts";
import { openHost } from "./support/open-host.ts";
import { budgetedFileSystem, mountSmallDisk, unmount } from "./support/small-disk.ts";
import { loadAll } from "./support/storage-contract.ts";
import { until } from "./support/until.ts";

const smallDiskBytes = 6 * 1024 * 1024;
const largeDiskBytes = 16 * 1024 * 1024;

let root: string;
let folders = 0;
const mounted: string[] = [];
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(async () => {
  for (const folder of mounted) unmount(folder);
  await rm(root, { recursive: true });
});

interface Disk {
  folder: string;
  fs: FileSystem;
}

async function newFolder(): Promise<string> {
  const folder = join(root, String(++folders));
  await mkdir(folder);
  return folder;
}

async function budgetedDisk(bytes = smallDiskBytes): Promise<Disk> {
  const folder = await newFolder();
  return { folder, fs: budgetedFileSystem(folder, bytes) };
}

// A disk that is really full. Undefined without the right to mount it.
async function realDisk(bytes = smallDiskBytes): Promise<Disk | undefined> {
  const folder = await newFolder();
  if (!mountSmallDisk(folder, bytes)) return undefined;
  mounted.push(folder);
  return { folder, fs: realFileSystem };
}

async function open({ folder, fs }: Disk): Promise<StoreHandle> {
  const engine = await createEngine();
  engine.configureAccount(accountFromOptions({}, "full"), undefined);
  const storage = await NodeFilesStorage.open(folder, fs);
  const host = await openHost({ engine, storage, persistence: "file", durability: "relaxed" });
  return new StoreHandle("full", host);
}

const isFull = { name: "StoreError", code: "QuotaExceeded", hint: /deletes and compact\(\)/ };
const keyOf = (n: number) => ({ partitionKey: "p", rowKey: String(n).padStart(5, "0") });

// Writes rows of each of the sizes until the disk is full, from number `rows` on. Resolves to the
// number of rows.
async function fill(store: StoreHandle, rows = 0): Promise<number> {
  const table = store.table("rows");
  if (rows === 0) await table.createTable();
  for (const size of [20_000, 200]) {
    for (;;) {
      const noise = crypto.getRandomValues(new Uint8Array(size));
      try {
        await table.createEntity({ ...keyOf(rows), noise });
        rows += 1;
      } catch (error) {
        assert.equal((error as { code?: string }).code, "QuotaExceeded", inspect(error));
        break;
      }
    }
  }
  await assert.rejects(table.createEntity({ ...keyOf(rows), one: 1 }), isFull);
  return rows;
}

// Fills the disk with parts: compacts whenever it is full, until no more fits.
async function fillWithParts(store: StoreHandle): Promise<number> {
  for (let rows = await fill(store); ; ) {
    await store.compact();
    const more = await fill(store, rows);
    if (more - rows < 40) return more;
    rows = more;
  }
}

const ways: Record<string, (store: StoreHandle, rows: number) => Promise<void>> = {
  async "one row after the other"(store, rows) {
    for (let n = 0; n < rows; ++n) await store.table("rows").deleteEntity("p", keyOf(n).rowKey);
  },
  async "all rows at once, and other writes"(store, rows) {
    const table = store.table("rows");
    const deleting = Array.from({ length: rows }, (_, n) =>
      table.deleteEntity("p", keyOf(n).rowKey),
    );
    const creating = table.createEntity({ ...keyOf(rows), noise: new Uint8Array(60_000) });
    const created = creating.then(
      () => "created",
      (error: { code?: string }) => error.code,
    );
    await Promise.all(deleting);
    assert.match(String(await created), /created|QuotaExceeded/);
    await table.deleteEntity("p", keyOf(rows).rowKey).catch(() => {});
  },
  async deferred(store, rows) {
    const options = { durability: "deferred" } as const;
    const table = store.table("rows");
    for (let n = 0; n < rows; ++n) await table.deleteEntity("p", keyOf(n).rowKey, options);
    await store.flush();
  },
  async "in transactions"(store, rows) {
    const deletes = Array.from({ length: rows }, (_, n) => ["delete", keyOf(n)] as const);
    for (let n = 0; n < rows; n += 100) {
      await store.table("rows").submitTransaction(deletes.slice(n, n + 100) as never);
    }
  },
  async "the table"(store) {
    await store.table("rows").deleteTable();
  },
};

async function requireEmptied(store: StoreHandle): Promise<void> {
  await store.compact();
  const table = store.table("rows");
  await table.createTable();
  for await (const row of table.listEntities()) assert.fail(row.rowKey);
  for (let n = 0; n < 20; ++n)
    await table.createEntity({
      ...keyOf(n),
      noise: crypto.getRandomValues(new Uint8Array(60_000)),
    });
}

for (const [name, newDisk] of Object.entries({ budgetedDisk, realDisk })) {
  describe(`a store on a full disk (${name})`, () => {
    for (const [way, remove] of Object.entries(ways)) {
      test(`can be emptied: ${way}`, async (t) => {
        const disk = await newDisk();
        if (disk === undefined) return t.skip("no right to mount a file system");
        const store = await open(disk);
        const rows = await fill(store);
        await remove(store, rows);
        await requireEmptied(store);
        await store.close();
      });

      test(`can be emptied after it was opened again: ${way}`, async (t) => {
        const disk = await newDisk();
        if (disk === undefined) return t.skip("no right to mount a file system");
        const first = await open(disk);
        const rows = await fill(first);
        await first.close();
        const store = await open(disk);
        await remove(store, rows);
        await requireEmptied(store);
        await store.close();
      });
    }

    // One row of each part is deleted, so the checkpoint must write all parts again, which is more
    // than the reserve holds.
    test("can be compacted though all of its parts have changed", async (t) => {
      const disk = await newDisk(largeDiskBytes);
      if (disk === undefined) return t.skip("no right to mount a file system");
      const first = await open(disk);
      await fillWithParts(first);
      const rowsOf = async (store: StoreHandle) => {
        const keys: string[] = [];
        for await (const { rowKey } of store.table("rows").listEntities())
          keys.push(rowKey as string);
        return keys;
      };
      const rows = await rowsOf(first);
      await first.close();
      const store = await open(disk);
      const { reserve = Number.NaN } = (await store.stats()).storage ?? {};
      assert.ok(reserve < largeDiskBytes / 2, `${reserve}`);
      const deleted = rows.filter((_, n) => n % 10 === 5);
      for (const key of deleted) await store.table("rows").deleteEntity("p", key);
      await store.compact();
      const { segments } = await store.stats();
      assert.ok(segments <= 1, `${segments}`);
      const left = rows.filter((_, n) => n % 10 !== 5);
      assert.deepEqual(await rowsOf(store), left);
      const noise = crypto.getRandomValues(new Uint8Array(20_000));
      for (let n = 0; n < deleted.length / 2; ++n)
        await store.table("rows").createEntity({ partitionKey: "q", rowKey: String(n), noise });
      await store.close();
      const again = await open(disk);
      assert.equal((await rowsOf(again)).length, left.length + Math.ceil(deleted.length / 2));
      await again.close();
    });

    test("has a reserve again once it is open", async (t) => {
      const disk = await newDisk();
      if (disk === undefined) return t.skip("no right to mount a file system");
      const first = await open(disk);
      await fill(first);
      await first.close();
      const reserveFiles = () =>
        readdirSync(disk.folder).filter((file) => file.startsWith("tmp-reserve-"));
      const before = reserveFiles();
      assert.ok(before.length > 0);
      for (const file of before) await rm(join(disk.folder, file));
      const store = await open(disk);
      await until(() => reserveFiles().length > 0);
      await store.close();
    });

    test("says how much is held back, and gives it back when it is empty", async (t) => {
      const disk = await newDisk();
      if (disk === undefined) return t.skip("no right to mount a file system");
      const store = await open(disk);
      const reserved = async () => (await store.stats()).storage?.reserve ?? Number.NaN;
      const reserveFiles = async () =>
        (await readdir(disk.folder)).filter((file) => file.startsWith("tmp-reserve-")).length;
      assert.equal(await reserved(), 0);
      await fill(store);
      assert.ok((await reserved()) >= 1024 * 1024);
      assert.equal(await reserved(), (await reserveFiles()) * 256 * 1024);
      await store.table("rows").deleteTable();
      await store.compact();
      await store.flush();
      await store.close();
      assert.equal(await reserveFiles(), 0);
    });
  });
}

test("opening a folder on a full disk leaves the reserve of the process that has it open", async (t) => {
  const disk = await realDisk();
  if (disk === undefined) return t.skip("no right to mount a file system");
  const options = { path: disk.folder, name: "shop", waitMs: 0 };
  const owner = await openFileStore(options);
  await loadAll(owner.storage);
  await owner.storage.claim(1, new Uint8Array(1));
  assert.equal(await owner.storage.reserve.resize(2), 2);
  const fillDisk = () =>
    appendFileSync(join(disk.folder, "ballast"), new Uint8Array(smallDiskBytes));
  assert.throws(fillDisk, { code: "ENOSPC" });
  await assert.rejects(openFileStore(options), { code: "StoreLocked" });
  assert.equal(await owner.storage.reserve.size(), 2);
  await owner.storage.close();
  owner.lock.release();
});

test("a folder can be locked although its disk has not a byte left", async (t) => {
  const disk = await realDisk();
  if (disk === undefined) return t.skip("no right to mount a file system");
  const options = { path: disk.folder, name: "shop", waitMs: 0 };
  const first = await openFileStore(options);
  await loadAll(first.storage);
  await first.storage.claim(1, new Uint8Array(1));
  assert.equal(await first.storage.reserve.resize(2), 2);
  await first.storage.close();
  first.lock.release();
  const ballast = join(disk.folder, "ballast");
  const fillDisk = () => appendFileSync(ballast, new Uint8Array(smallDiskBytes));
  assert.throws(fillDisk, { code: "ENOSPC" });
  const second = await openFileStore(options);
  assert.equal(await second.storage.reserve.size(), 1);
  await second.storage.close();
  second.lock.release();
  assert.throws(fillDisk, { code: "ENOSPC" });
  const third = await openFileStore(options); // uses the last entry
  await third.storage.close();
  third.lock.release();
  assert.throws(fillDisk, { code: "ENOSPC" });
  await assert.rejects(openFileStore(options), { code: "PersistenceUnavailable" });
  const files = await readdir(join(disk.folder, "shop"));
  assert.deepEqual(
    files.filter((file) => file === "lock" || file.startsWith("tmp-")),
    [],
  );
});
