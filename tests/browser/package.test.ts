// Tests the built package in real Chromium with real IndexedDB: reloads, tabs, killed browsers, a
// strict Content-Security-Policy.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";
import { storageContract } from "../web/support/storage-contract.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { staging } from "./support/package-site.ts";
import { type Site, type SiteOptions, serve } from "./support/server.ts";

type Package = typeof import("../../web/src/index.ts");

const fixture = (name: string) => fileURLToPath(new URL(`fixture/${name}`, import.meta.url));

let profile: Profile;
let site: Site;
let context: BrowserContext;
const scripts = new Map<string, string>(); // by path
const problems: string[] = [];

before(async () => {
  profile = await newProfile();
  context = await profile.open();
  await context.addInitScript(offerPackage);
  scripts.set("/contract.js", await bundle(fixture("contract-page.ts")));
  site = await serve(staging, {
    headers: {
      "content-security-policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'",
    },
    override: beside,
  });
});

after(async () => {
  await context.close();
  await site.close();
  await profile.remove();
});

// Returns responses that the sites serve in addition to the package.
function beside(path: string): ReturnType<NonNullable<SiteOptions["override"]>> {
  if (path === "/") return { body: "<!doctype html><title>entitable</title>" };
  if (path === "/favicon.ico") return { status: 204, body: "" };
  const script = scripts.get(path);
  return script === undefined ? undefined : { type: "text/javascript", body: script };
}

async function bundle(entry: string): Promise<string> {
  const built = await build({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    write: false,
    external: ["node:*"],
  });
  return built.outputFiles[0]?.text ?? "";
}

async function newPage(): Promise<Page> {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => problems.push(message.text()));
  await page.goto(site.url);
  return page;
}

// A function of the page. Functions that are passed to evaluate() run in the page and cannot use
// variables of this file.
declare function entitable(): Promise<Package>;

// Runs in each page before its own scripts.
function offerPackage(): void {
  (globalThis as { entitable?: unknown }).entitable = () => import("/dist/index.js" as string);
}

describe("in Chromium", () => {
  test("IndexedDB keeps the storage contract", async () => {
    const page = await newPage();
    const { ran, failures } = await page.evaluate(async () => {
      const { runContract } = await import("/contract.js" as string);
      return await runContract("/dist/wasm/entitable.wasm");
    });
    assert.deepEqual(failures, []);
    assert.deepEqual(
      ran,
      storageContract.map(({ name }) => name),
    );
    await page.close();
  });

  test("a store has values of every type after a reload", async () => {
    const page = await newPage();
    await page.evaluate(async () => {
      const { openStore, edm } = await entitable();
      const store = await openStore({ name: "reload" });
      const table = store.table("values");
      await table.createTable();
      await table.createEntity({
        partitionKey: "p",
        rowKey: "r",
        text: "ü 😀",
        big: 2n ** 60n,
        when: new Date("2024-02-29T12:34:56.789Z"),
        bytes: Uint8Array.from([0, 255]),
        id: edm.guid("8aa7e6c1-27a4-4b6f-8f2b-2f0f4a4f9a11"),
        whole: edm.double(3),
        yes: true,
      });
    });
    await page.reload(); // the store is not closed; the browser releases the page's lock
    const entity = await page.evaluate(async () => {
      const { openStore } = await entitable();
      await using store = await openStore({ name: "reload" });
      const read = await store.table("values").getEntity("p", "r", { disableTypeConversion: true });
      const { etag, timestamp, ...rest } = read;
      return { status: { ...store.status }, rest };
    });
    assert.equal(entity.status.persistence, "indexeddb");
    assert.deepEqual(entity.rest, {
      partitionKey: "p",
      rowKey: "r",
      text: { type: "String", value: "ü 😀" },
      big: { type: "Int64", value: String(2n ** 60n) },
      when: { type: "DateTime", value: "2024-02-29T12:34:56.789Z" },
      bytes: { type: "Binary", value: "AP8=" },
      id: { type: "Guid", value: "8aa7e6c1-27a4-4b6f-8f2b-2f0f4a4f9a11" },
      whole: { type: "Double", value: "3" },
      yes: { type: "Boolean", value: "true" },
    });
    await page.close();
  });

  test("deferred writes are stored when the page is left", async () => {
    const page = await newPage();
    await page.evaluate(async () => {
      const { openStore } = await entitable();
      const store = await openStore({
        name: "left",
        durability: "deferred",
        deferredDelayMs: 1000,
      });
      const table = store.table("clicks");
      await table.createTable({ durability: "strict" });
      for (let i = 0; i < 50; ++i) await table.createEntity({ partitionKey: "p", rowKey: `${i}` });
      if (store.status.pendingBytes === 0) throw new Error("nothing is pending");
    });
    await page.reload();
    assert.equal(await countOf(page, "left", "clicks"), 50);
    await page.close();
  });

  test("a second tab of an exclusive store waits, gets StoreLocked, and opens when the first closes", async () => {
    const first = await newPage();
    await first.evaluate(async () => {
      const { openStore } = await entitable();
      (globalThis as { kept?: unknown }).kept = await openStore({
        name: "tabs",
        tabs: "exclusive",
      });
    });
    const second = await newPage();
    const failure = await second.evaluate(async () => {
      const { openStore } = await entitable();
      const started = performance.now();
      const error = await openStore({ name: "tabs", tabs: "exclusive" }).catch((e) => e);
      return { code: error.code, name: error.name, waited: performance.now() - started };
    });
    assert.deepEqual([failure.name, failure.code], ["StoreError", "StoreLocked"]);
    assert(failure.waited > 2900 && failure.waited < 10_000, `${failure.waited} ms`);
    const opening = second.evaluate(async () => {
      const { openStore } = await entitable();
      await (await openStore({ name: "tabs", tabs: "exclusive" })).close();
      return "opened";
    });
    await first.close(); // without closing the store
    assert.equal(await opening, "opened");
    await second.close();
  });

  test("checkpoints shorten the log, and the store opens again", async () => {
    const page = await newPage();
    const written = await page.evaluate(async () => {
      const { openStore } = await entitable();
      const store = await openStore({ name: "checkpoints", durability: "relaxed" });
      const table = store.table("rows");
      await table.createTable();
      for (let i = 0; i < 600; ++i) {
        await table.upsertEntity({ partitionKey: `p${i % 5}`, rowKey: `r${i % 200}`, i });
      }
      const rows: unknown[] = [];
      for await (const { partitionKey, rowKey, i } of table.listEntities())
        rows.push([partitionKey, rowKey, i]);
      for (let waits = 0; waits < 1200; ++waits) {
        if ((await store.stats()).segments < 256) break; // a checkpoint has shortened it in a pause
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return rows;
    });
    await page.reload();
    const files = await filesOf(page, "checkpoints");
    const names = files.map(({ name }) => name);
    assert(names.includes("manifest"));
    assert(names.some((name) => name.startsWith("part-")));
    assert(names.filter((name) => name.startsWith("wal-")).length < 400, names.join());
    const read = await page.evaluate(async () => {
      const { openStore } = await entitable();
      await using store = await openStore({ name: "checkpoints" });
      const rows: unknown[] = [];
      for await (const { partitionKey, rowKey, i } of store.table("rows").listEntities()) {
        rows.push([partitionKey, rowKey, i]);
      }
      return rows;
    });
    assert.deepEqual(read, written);
    await page.close();
  });

  test("another Emscripten program reads the files through IDBFS", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "entitable-idbfs-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const output = join(folder, "reader.mjs");
    const flags =
      "-O1 --no-entry -lidbfs.js -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web -sSINGLE_FILE " +
      "-sDYNAMIC_EXECUTION=0 -sEXPORTED_RUNTIME_METHODS=FS,IDBFS,ccall";
    execFileSync("emcc", [fixture("idbfs-reader.c"), ...flags.split(" "), "-o", output]);
    scripts.set("/reader.mjs", readFileSync(output, "utf8"));
    const page = await newPage();
    const files = await filesOf(page, "checkpoints");
    // The strict policy forbids the data: URL that the single-file build uses.
    await page.goto("about:blank");
    const open = await serve(staging, { override: beside });
    t.after(() => open.close());
    // Another origin has its own IndexedDB. The entries are copied there unchanged.
    await page.goto(open.url);
    const listing = await page.evaluate(async (entries) => {
      const { default: createModule } = await import("/reader.mjs" as string);
      const module = await createModule();
      const mount = "/entitable/checkpoints";
      module.FS.mkdirTree(mount);
      module.FS.mount(module.IDBFS, {}, mount);
      const database: IDBDatabase = await new Promise((resolve, reject) =>
        module.IDBFS.getDB(mount, (error: unknown, db: IDBDatabase) =>
          error ? reject(error) : resolve(db),
        ),
      );
      const writing = database.transaction("FILE_DATA", "readwrite");
      for (const { name, mode, contents } of entries) {
        const value = { timestamp: new Date(), mode, contents: Uint8Array.from(contents) };
        writing.objectStore("FILE_DATA").put(value, `${mount}/${name}`);
      }
      await new Promise((resolve) => {
        writing.oncomplete = resolve;
      });
      await new Promise<void>((resolve, reject) =>
        module.FS.syncfs(true, (error: unknown) => (error ? reject(error) : resolve())),
      );
      return module.ccall("read_folder", "string", ["string"], [mount]) as string;
    }, files);
    const expected = files.map(({ name, contents }) => {
      const sum = contents.reduce((total, byte) => total + byte, 0);
      return `${name} ${contents.length} ${sum}`;
    });
    assert.deepEqual(listing.trim().split("\n").sort(), expected.sort());
    await page.close();
  });

  test("deleteStore and listStores", async () => {
    const page = await newPage();
    const seen = await page.evaluate(async () => {
      const { openStore, deleteStore, listStores } = await entitable();
      await (await openStore({ name: "shortLived" })).close();
      const before = await listStores();
      await deleteStore("shortLived");
      return [before, await listStores()].map((list) =>
        list.some(({ name }) => name === "shortLived"),
      );
    });
    assert.deepEqual(seen, [true, false]);
    await page.close();
  });

  test("if the browser forbids storage, a store is in memory, with a warning", async () => {
    const sandbox = await serve(staging, {
      headers: {
        "content-security-policy": "sandbox allow-scripts",
        // a sandboxed page has an opaque origin, so every request is cross-origin
        "access-control-allow-origin": "*",
      },
      override: beside,
    });
    const page = await context.newPage();
    await page.goto(sandbox.url);
    const seen = await page.evaluate(async () => {
      const { openStore }: Package = await import("/dist/index.js" as string);
      const warnings: string[] = [];
      const store = await openStore({ onWarning: ({ code }) => warnings.push(code) });
      await store.table("people").createTable();
      const error = await openStore({ persistence: "indexeddb" }).catch(
        (error: { code: string }) => error.code,
      );
      return [store.status.persistence, warnings, error];
    });
    assert.deepEqual(seen, ["memory", ["PersistenceUnavailable"], "PersistenceUnavailable"]);
    await page.close();
    await sandbox.close();
  });

  test("Chromium disables all features that Playwright disables", () => {
    const line = readFileSync(`/proc/${browserProcess(profile.folder)}/cmdline`, "utf8");
    const [theirs, ours, ...more] = [...line.matchAll(/--disable-features=([^ \0]*)/g)].map(
      ([, names = ""]) => new Set(names.split(",")),
    );
    assert(theirs !== undefined && ours !== undefined && more.length === 0, line);
    assert.deepEqual(
      [...theirs].filter((name) => !ours.has(name)),
      [],
    );
  });

  test("no page printed or threw anything", () => {
    assert.deepEqual(problems, []);
  });
});

describe("a browser that is killed while writing", () => {
  for (const durability of ["strict", "relaxed", "deferred"] as const) {
    test(`${durability}: the stored rows are a prefix${durability === "deferred" ? "" : " with every acknowledged write"}`, async (t) => {
      const own = await newProfile();
      let killed = await own.open();
      t.after(async () => {
        await killed.close().catch(() => {});
        await own.remove();
      });
      const page = await killed.newPage();
      let acknowledged = -1;
      await page.exposeFunction("report", (i: number) => {
        acknowledged = i;
      });
      await page.addInitScript(offerPackage);
      await page.goto(site.url);
      const writing = page.evaluate(async (level) => {
        const { openStore } = await entitable();
        const store = await openStore({ name: "killed", durability: level, deferredDelayMs: 20 });
        const table = store.table("rows");
        await table.createTable({ durability: "strict" });
        for (let i = 0; ; ++i) {
          await table.createEntity({ partitionKey: "p", rowKey: String(i).padStart(8, "0"), i });
          // Reported before the next write begins, so that the browser may be killed between two
          // writes.
          await (globalThis as unknown as { report(i: number): Promise<void> }).report(i);
        }
      }, durability);
      writing.catch(() => {}); // rejects when the browser is killed
      while (acknowledged < 200) await new Promise((resolve) => setTimeout(resolve, 5));
      process.kill(browserProcess(own.folder), "SIGKILL");
      await writing.catch(() => {});
      await killed.close().catch(() => {});
      const known = acknowledged;

      killed = await own.open();
      const again = await killed.newPage();
      await again.addInitScript(offerPackage);
      await again.goto(site.url);
      const found = await again.evaluate(async () => {
        const { openStore } = await entitable();
        await using store = await openStore({ name: "killed" });
        const numbers: number[] = [];
        for await (const { i } of store.table("rows").listEntities()) numbers.push(Number(i));
        return { numbers, state: store.status.state };
      });
      assert.equal(found.state, "open");
      assert.deepEqual(found.numbers, [...found.numbers.keys()], "a prefix, without a gap");
      if (durability !== "deferred")
        assert(found.numbers.length > known, `${found.numbers.length} of ${known + 1}`);
    });
  }
});

// Returns the id of the browser's process. Chromium's profile contains it: SingletonLock ->
// <host>-<pid>.
function browserProcess(folder: string): number {
  const target = readlinkSync(join(folder, "SingletonLock"));
  return Number(target.slice(target.lastIndexOf("-") + 1));
}

async function countOf(page: Page, store: string, table: string): Promise<number> {
  return await page.evaluate(
    async ([storeName, tableName]) => {
      const { openStore } = await entitable();
      await using opened = await openStore({ name: storeName as string });
      let count = 0;
      for await (const _ of opened.table(tableName as string).listEntities()) ++count;
      return count;
    },
    [store, table],
  );
}

interface StoredFile {
  name: string;
  mode: number;
  contents: number[];
}

// Reads the files in the store's database, without the package.
async function filesOf(page: Page, store: string): Promise<StoredFile[]> {
  return await page.evaluate(async (name) => {
    const folder = `/entitable/${name}`;
    const open = indexedDB.open(folder);
    await new Promise((resolve) => {
      open.onsuccess = resolve;
    });
    const files = open.result.transaction("FILE_DATA").objectStore("FILE_DATA");
    const result = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => {
        request.onsuccess = () => resolve(request.result);
      });
    const [keys, entries] = await Promise.all([result(files.getAllKeys()), result(files.getAll())]);
    open.result.close();
    return keys.map((key, i) => {
      const { mode, contents } = entries[i] as { mode: number; contents: Uint8Array };
      return { name: String(key).slice(folder.length + 1), mode, contents: [...contents] };
    });
  }, store);
}
