// Tests the Table service's protocol in real Chromium: the unmodified official client over
// store.httpClient, the same client with its own transport over a Service Worker, and plain fetch.
// What a Service Worker has acknowledged must survive the worker's end.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";
import type { Store } from "../../web/src/types.ts";
import { newProject } from "../web/support/project.ts";
import { codeBlockWith } from "../web/support/readme.ts";
import { describeSurface, type Runner } from "../web/support/sdk-environments.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { servePackage, staging } from "./support/package-site.ts";
import { type Site, type SiteOptions, serve } from "./support/server.ts";

type Package = typeof import("../../web/src/index.ts");
type DropIn = typeof import("../../web/src/data-tables/index.ts");
type Sdk = typeof import("./fixture/sdk-page.ts");

// does not exist: requests that reach the network fail
const host = "https://shop.table.core.windows.net";

let profile: Profile;
let context: BrowserContext;
let site: Site;
let folder: string; // the site's folder
let page: Page;

before(async () => {
  profile = await newProfile();
  context = await profile.open();
  folder = mkdtempSync(join(tmpdir(), "entitable-site-"));
  symlinkSync(join(staging, "dist"), join(folder, "dist"));
  for (const name of ["service-worker.js", "entitable.wasm"]) {
    copyFileSync(join(staging, "dist/wasm", name), join(folder, name));
  }
  await build({
    entryPoints: [fileURLToPath(new URL("fixture/sdk-page.ts", import.meta.url))],
    outfile: join(folder, "sdk.js"),
    bundle: true,
    format: "esm",
    platform: "browser",
  });
  site = await servePackage({ override: beside }, folder);
});

after(async () => {
  await context.close();
  await site.close();
  await profile.remove();
  rmSync(folder, { recursive: true });
});

async function newPage(): Promise<void> {
  page = await context.newPage();
  await page.addInitScript(() => {
    Object.assign(globalThis, {
      entitable: () => import("/dist/index.js" as string),
      dropIn: () => import("/dist/data-tables/index.js" as string),
      sdk: () => import("/sdk.js" as string),
      requestRepeatedly: async (url: string) => {
        const loop = "setInterval(async () => { await fetch(url); postMessage(0); }, 20)";
        const source = `const url = ${JSON.stringify(url)}; ${loop}`;
        const requests = new Worker(URL.createObjectURL(new Blob([source])));
        await new Promise((resolve, reject) => {
          requests.onmessage = resolve;
          requests.onerror = reject;
        });
        return requests;
      },
    });
  });
}

function pageForEach(): void {
  beforeEach(newPage);
  afterEach(() => page.close());
}

// Returns the site's pages.
function beside(path: string): ReturnType<NonNullable<SiteOptions["override"]>> {
  if (path.endsWith("/")) return { body: "<!doctype html><title>entitable</title>" };
  return path === "/favicon.ico" ? { status: 204, body: "" } : undefined;
}

// Opens a page of the site, and waits until this Service Worker controls it and no other does.
async function controlled(script: string, path = "/"): Promise<void> {
  await page.goto(new URL(path, site.url).href);
  await page.evaluate(
    async ([url, scope]) => {
      const { serviceWorker } = navigator;
      await serviceWorker.register(url as string, { scope: scope as string });
      while (serviceWorker.controller?.scriptURL !== new URL(url as string, location.href).href) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    [script, path],
  );
}

const shop = "/service-worker.js?account=shop";

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

// Sends a request by the page's own fetch.
async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  return await page.evaluate(
    async ([at, how]) => {
      const response = await fetch(at as string, how as RequestInit);
      const headers = Object.fromEntries(response.headers);
      return { status: response.status, headers, body: await response.text() };
    },
    [url, init],
  );
}

function post(url: string, body: object): Promise<Answer> {
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json;odata=nometadata",
  };
  return ask(url, { method: "POST", headers, body: JSON.stringify(body) });
}

async function rowsOf(table: string): Promise<string[]> {
  const headers = { Accept: "application/json;odata=nometadata" };
  const { status, body } = await ask(`${host}/${table}()?$select=RowKey`, { headers });
  assert.equal(status, 200, body);
  return JSON.parse(body).value.map(({ RowKey }: { RowKey: string }) => RowKey);
}

// Stops the Service Workers, as Chromium does with idle ones.
async function stopWorkers(): Promise<void> {
  const devtools = await context.newCDPSession(page);
  await devtools.send("ServiceWorker.enable");
  await devtools.send("ServiceWorker.stopAllWorkers");
  await devtools.detach();
}

// Functions of the page. Functions that are passed to evaluate() run in the page and cannot use
// variables of this file.
declare function entitable(): Promise<Package>;
// Keeps the Service Worker busy by requests of this URL, so that it does not close its store. A
// worker sends them, because the page may be busy itself. Resolves after the first response.
declare function requestRepeatedly(url: string): Promise<Worker>;
declare function sdk(): Promise<Sdk>;
declare function dropIn(): Promise<DropIn>;

// Runs a check of the suite in the open page.
const inPage: Runner = {
  async run(check) {
    const failure = await page.evaluate(async (index) => (await sdk()).failureOf(index), check);
    if (failure !== undefined) assert.fail(failure);
  },
  close: () => page.close(),
};

describeSurface("the official client in a page, over store.httpClient", "page", async () => {
  await newPage();
  await page.goto(site.url);
  await page.evaluate(async () => {
    const { openStore } = await entitable();
    await (await sdk()).overHttpClient({ openStore, dropIn: await dropIn() });
  });
  return inPage;
});

describeSurface("the official client in a page, over a Service Worker", "worker", async () => {
  const source = `
    importScripts("/service-worker.js");
    entitable.serve({ account: "open" });
    entitable.serve({ account: { name: "locked", authorize: true, keys: ["a2V5"] } });
    addEventListener("activate", (event) => event.waitUntil(clients.claim()));`;
  writeFileSync(join(folder, "two.js"), source);
  await newPage();
  await controlled("/two.js", "/two/");
  await page.evaluate(async () => {
    const { openStore } = await entitable();
    (await sdk()).overServiceWorker({ openStore, dropIn: await dropIn() });
  });
  return inPage;
});

describe("the official client over a Service Worker", () => {
  pageForEach();

  for (const endpoint of [host, "/shop", "http://127.0.0.1:10002/shop"]) {
    test(`reaches the account at ${endpoint}`, async () => {
      await controlled(shop);
      const statuses = await page.evaluate(async (given) => {
        const { TableClient } = await sdk();
        const url = new URL(given, location.href).href;
        const table = new TableClient(url, "lamps", { allowInsecureConnection: true });
        await table.createTable();
        const key = { partitionKey: "o'x", rowKey: "\u00fc 1%&+" };
        const { subResponses } = await table.submitTransaction([
          ["create", key],
          ["upsert", { ...key, rowKey: "2" }],
        ]);
        await table.deleteEntity(key.partitionKey, key.rowKey);
        await table.deleteTable();
        return subResponses.map(({ status }) => status);
      }, endpoint);
      assert.deepEqual(statuses, [204, 204]);
    });
  }
});

describe("a Service Worker", () => {
  pageForEach();

  test("answers plain fetch, and keeps the data after a reload", async () => {
    await controlled(shop);
    assert.equal((await post(`${host}/Tables`, { TableName: "reloads" })).status, 201);
    const entity = { PartitionKey: "p", RowKey: "r", v: 1 };
    const { status, headers } = await post(`${host}/reloads`, entity);
    assert.equal(status, 201);
    assert.match(headers["etag"] ?? "", /^W\//, "every header can be read");
    await page.reload();
    const read = await ask(`${host}/reloads(PartitionKey='p',RowKey='r')`);
    assert.equal(JSON.parse(read.body).v, 1);
    const url = `${host}/reloads(PartitionKey='p',RowKey='r')`;
    const deleted = await ask(url, { method: "DELETE", headers: { "If-Match": "*" } });
    assert.deepEqual([deleted.status, deleted.body], [204, ""]);
    const absent = await ask(url);
    assert.equal(absent.status, 404);
    assert.match(absent.headers["x-entitable-hint"] ?? "", /"reloads" has no entity/);
  });

  test("leaves other requests to the network", async () => {
    await controlled(shop);
    assert.match((await ask("/dist/index.js")).body, /export/);
    await assert.rejects(ask("https://other.table.core.windows.net/Tables"), /Failed to fetch/);
    await page.goto(new URL("/shop/", site.url).href);
    assert.equal(await page.title(), "entitable");
  });

  test("that is killed between requests has lost nothing", async () => {
    await controlled(shop);
    assert.equal((await post(`${host}/Tables`, { TableName: "kills" })).status, 201);
    const rows: string[] = [];
    for (let row = 0; row < 5; ++row) {
      await stopWorkers();
      const entity = { PartitionKey: "p", RowKey: `${row}` };
      assert.equal((await post(`${host}/kills`, entity)).status, 201);
      rows.push(`${row}`);
    }
    await stopWorkers();
    assert.deepEqual(await rowsOf("kills"), rows);
  });

  test("that is killed during requests has lost no acknowledged write", async () => {
    await controlled(shop);
    assert.equal((await post(`${host}/Tables`, { TableName: "amid" })).status, 201);
    for (let round = 0; round < 3; ++round) {
      const writing = page.evaluate(
        async ([url, from]) => {
          const stored: string[] = [];
          const insert = async (row: number) => {
            const RowKey = String(row).padStart(4, "0");
            const body = JSON.stringify({ PartitionKey: "p", RowKey });
            const headers = { "Content-Type": "application/json" };
            const { status } = await fetch(url as string, { method: "POST", headers, body });
            if (status === 201) stored.push(RowKey);
          };
          const from0 = from as number;
          for (let row = from0; row < from0 + 200; row += 4) {
            const four = [row, row + 1, row + 2, row + 3];
            await Promise.allSettled(four.map(insert));
            document.title = `${stored.length}`;
          }
          return stored;
        },
        [`${host}/amid`, round * 1000],
      );
      await page.waitForFunction(() => Number(document.title) >= 20);
      await stopWorkers();
      const stored = await writing;
      assert(stored.length >= 20);
      const found = new Set(await rowsOf("amid"));
      assert.deepEqual(
        stored.filter((row) => !found.has(row)),
        [],
      );
      await page.evaluate(() => {
        document.title = "";
      });
    }
  });

  test("shares the store with a page, and both can own it", async () => {
    await controlled(shop);
    assert.equal((await post(`${host}/Tables`, { TableName: "shared" })).status, 201);
    const owners = await page.evaluate(async (url) => {
      const { openStore } = await entitable();
      const requests = await requestRepeatedly(url);
      const store = await openStore({ name: "shop" });
      requests.terminate();
      const table = store.table("shared");
      const seen = [store.status.owner];
      await table.createEntity({ partitionKey: "p", rowKey: "1 by page" });
      const headers = { "Content-Type": "application/json" };
      const body = (RowKey: string) => JSON.stringify({ PartitionKey: "p", RowKey });
      await fetch(url, { method: "POST", headers, body: body("2 by worker") });
      await table.getEntity("p", "2 by worker");
      if (store.status.owner !== "self") {
        await new Promise<void>((itself) => store.on("owner", () => itself()));
      }
      seen.push(store.status.owner);
      // the worker is now a follower
      await fetch(url, { method: "POST", headers, body: body("3 by worker") });
      await table.getEntity("p", "3 by worker");
      Object.assign(globalThis, { store });
      return seen;
    }, `${host}/shared`);
    assert.deepEqual(owners, ["other-tab", "self"]);
    assert.deepEqual(await rowsOf("shared"), ["1 by page", "2 by worker", "3 by worker"]);
  });

  test("is stopped while it owns the store, and the page continues", async () => {
    await controlled(shop);
    await post(`${host}/Tables`, { TableName: "stopped" });
    await page.evaluate(async (url) => {
      const { openStore } = await entitable();
      const requests = await requestRepeatedly(url);
      const store = await openStore({ name: "shop" });
      requests.terminate();
      if (store.status.owner === "self") throw new Error("the worker doesn't own the store");
      const stopped = new Promise((resolve) => Object.assign(globalThis, { onStopped: resolve }));
      Object.assign(globalThis, { store, stopped });
    }, `${host}/Tables`);
    const writing = page.evaluate(async () => {
      const { store, stopped } = globalThis as unknown as { store: Store; stopped: Promise<void> };
      const write = (i: number) =>
        store.table("stopped").createEntity({ partitionKey: "p", rowKey: `${i}` });
      for (let i = 0; i < 50; ++i) await write(i);
      await stopped; // all writes may have been acknowledged before
      await write(50);
      return store.status.owner;
    });
    await stopWorkers();
    await page.evaluate(() => (globalThis as unknown as { onStopped(): void }).onStopped());
    assert.equal(await writing, "self");
    assert.equal((await rowsOf("stopped")).length, 51);
  });

  test("reports that a page has an exclusive store open", async () => {
    await controlled(shop);
    await page.evaluate(async () => {
      const { openStore } = await entitable();
      const store = await openStore({ name: "shop", tabs: "exclusive" });
      Object.assign(globalThis, { store });
    });
    const busy = await ask(`${host}/Tables`);
    assert.equal(busy.status, 503);
    const { code, message } = JSON.parse(busy.body)["odata.error"];
    assert.equal(code, "ServerBusy");
    assert.match(message.value, /"shop" is open in another tab\. A Service Worker can't answer/);
    await page.evaluate(async () => {
      await (globalThis as unknown as { store: Store }).store.close();
    });
    assert.equal((await ask(`${host}/Tables`)).status, 200);
  });

  test("starts without a network", async (t) => {
    await controlled(shop);
    await ask(`${host}/Tables`);
    const wasm = join(folder, "entitable.wasm");
    renameSync(wasm, `${wasm}.away`);
    t.after(() => renameSync(`${wasm}.away`, wasm));
    await stopWorkers();
    assert.equal((await ask(`${host}/Tables`)).status, 200);
  });

  test("uses only the module of its own version", async () => {
    mkdirSync(join(folder, "stale"));
    copyFileSync(join(folder, "service-worker.js"), join(folder, "stale/service-worker.js"));
    const right = readFileSync(join(folder, "entitable.wasm"));
    const other = Buffer.from(right);
    // Changes the build id, which follows the name of its custom section.
    const id = other.lastIndexOf("entitable") + "entitable".length;
    other[id] = (other[id] ?? 0) ^ 1;
    const wasm = join(folder, "stale/entitable.wasm");
    writeFileSync(wasm, other);
    await page.goto(new URL("/stale/", site.url).href);
    await page.evaluate(() => caches.open("entitable-wasm-of-yesterday"));
    await controlled("/stale/service-worker.js?account=stale&store=stale", "/stale/");
    const tables = "https://stale.table.core.windows.net/Tables";
    const response = await ask(tables);
    assert.equal(response.status, 500);
    assert.match(response.body, /of another build than its JavaScript/);
    writeFileSync(wasm, right);
    assert.equal((await ask(tables)).status, 200);
    assert(!(await page.evaluate(() => caches.keys())).includes("entitable-wasm-of-yesterday"));
  });

  test("can be installed on a site as the site says", async (t) => {
    const project = newProject();
    t.after(() => rmSync(project, { recursive: true }));
    mkdirSync(join(project, "public"));
    execFileSync(
      "sh",
      ["-ec", codeBlockWith("demo/site/pages/service-worker.md", "sh", "public/")],
      { cwd: project },
    );
    const fresh = await serve(join(project, "public"), { override: beside });
    t.after(() => fresh.close());
    await page.goto(fresh.url);
    const script = codeBlockWith(
      "demo/site/pages/service-worker.md",
      "js",
      "serviceWorker.register",
    );
    await page.evaluate(`(async () => { ${script} })()`);
    const answered = await ask(`${host}/Tables`);
    assert.equal(answered.status, 200, answered.body);
  });

  for (const form of ["imported", "bundled"]) {
    test(`in the site's own worker, ${form}, serves the account that it names`, async (t) => {
      const source = `
        const account = { name: "own", authorize: true, keys: ["a2V5"] };
        entitable.serve({ account, store: "mine-${form}", wasm: "/dist/wasm/entitable.wasm" });
        addEventListener("activate", (event) => event.waitUntil(clients.claim()));`;
      const script = join(folder, `${form}.js`);
      if (form === "imported") {
        writeFileSync(script, `importScripts("/service-worker.js");${source}`);
      } else {
        const project = newProject();
        t.after(() => rmSync(project, { recursive: true }));
        const entry = join(project, "worker.js");
        writeFileSync(entry, `import "entitable/service-worker";${source}`);
        await build({ entryPoints: [entry], outfile: script, bundle: true, format: "iife" });
      }
      await controlled(`/${form}.js`, `/${form}/`);
      const { status, body } = await ask("https://own.table.core.windows.net/Tables");
      assert.equal(status, 403, body);
      const stores = await page.evaluate(async () => await (await entitable()).listStores());
      assert(stores.some(({ name }) => name === `mine-${form}`));
    });
  }

  test("in the site's own worker, serves a mock store with its faults", async (t) => {
    const source = `
      import "entitable/service-worker";
      import { mockStore } from "entitable/testing";
      const rows = ["1", "2", "3"].map((rowKey) => ({ partitionKey: "desk", rowKey }));
      const store = mockStore({
        account: { name: "mock" },
        wasm: "/dist/wasm/entitable.wasm",
        fixtures: { lamps: rows },
        latency: 10_000, // of the virtual clock, which advances by itself
        faults: [
          { on: "get", rowKey: "1", times: 2, respond: { code: "ServerBusy", retryAfter: 0 } },
          { on: "get", rowKey: "2", network: "truncate", times: 1 },
          { on: "delete", network: "timeout-after-commit", times: 1 },
        ],
        emptyPages: 1,
      });
      entitable.serve({ account: "mock", store });
      addEventListener("activate", (event) => event.waitUntil(clients.claim()));`;
    const project = newProject();
    t.after(() => rmSync(project, { recursive: true }));
    const entry = join(project, "worker.js");
    writeFileSync(entry, source);
    const outfile = join(folder, "mock.js");
    await build({ entryPoints: [entry], outfile, bundle: true, format: "iife", logLevel: "error" });
    await controlled("/mock.js", "/mock/");
    const seen = await page.evaluate(async () => {
      const { TableClient } = await sdk();
      const retryOptions = { retryDelayInMs: 1, maxRetryDelayInMs: 1 };
      const lamps = new TableClient("https://mock.table.core.windows.net", "lamps", {
        retryOptions,
      });
      const lamp = (row: string) =>
        `https://mock.table.core.windows.net/lamps(PartitionKey='desk',RowKey='${row}')`;
      const { rowKey } = await lamps.getEntity("desk", "1"); // succeeds at the third attempt
      const truncated = await fetch(lamp("2"));
      const headers = { "If-Match": "*" };
      const ways = [
        truncated.status,
        await truncated.text().catch((error) => error.name),
        (await fetch(lamp("2"))).status,
        await fetch(lamp("2"), { method: "DELETE", headers }).catch((error) => error.name),
        (await fetch(lamp("2"))).status,
      ];
      const rows: unknown[] = [];
      for await (const row of lamps.listEntities()) rows.push(row.rowKey);
      return { rowKey, ways, rows };
    });
    assert.deepEqual(seen, {
      rowKey: "1",
      ways: [200, "TypeError", 200, "TypeError", 404],
      rows: ["1", "3"],
    });
  });

  test("that serves no account, or has no module, cannot be installed", async () => {
    writeFileSync(join(folder, "silent.js"), 'importScripts("/service-worker.js");');
    mkdirSync(join(folder, "alone"));
    copyFileSync(join(folder, "service-worker.js"), join(folder, "alone/service-worker.js"));
    await page.goto(new URL("/alone/", site.url).href);
    for (const script of ["/silent.js", "/alone/service-worker.js?account=shop"]) {
      const state = await page.evaluate(async (url) => {
        const { installing } = await navigator.serviceWorker.register(url, { scope: "/alone/" });
        if (installing === null) throw new Error("it was installed before");
        return await new Promise((resolve) => {
          installing.addEventListener("statechange", () => resolve(installing.state));
        });
      }, script);
      assert.equal(state, "redundant", script);
    }
  });
});
