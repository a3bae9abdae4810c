// Tests entitable/sync with stores in workers, in real Chromium: sync runs beside the store, and
// calls the functions in the options in the page.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { BrowserContext, Page, Worker } from "playwright-core";
import type { Sync, SyncOptions } from "../../web/src/start-sync/types.ts";
import type { Store } from "../../web/src/types.ts";
import { run } from "../web/support/server-process.ts";
import { newProfile, type Profile, waitMs } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { blankPage, type Site } from "./support/server.ts";
import { until } from "./support/shared-tabs.ts";
import { type Application, RemoteServer, rowsOf, statusOf, write } from "./support/synced-pages.ts";

/** The variables of a page. */
interface WorkerApplication extends Application {
  calls: string[];
}

interface TabOptions {
  readonly table: string;
  readonly url: string;
  readonly name: string;
  /** The options have functions. */
  readonly hasFunctions: boolean;
  /** The URL of a seed. "restored": an earlier process has restored it. */
  readonly seed?: { readonly url: string; readonly state: "new" | "restored" };
  readonly filter?: string;
}

let profile: Profile;
let context: BrowserContext;
let site: Site;
let remote: RemoteServer;

before(async () => {
  remote = await RemoteServer.start();
  const headers = { "content-security-policy": "script-src 'self' 'wasm-unsafe-eval'" };
  site = await servePackage({ headers, override: blankPage });
  profile = await newProfile();
  context = await profile.open();
});

after(async () => {
  await context?.close();
  await profile?.remove();
  await site?.close();
  await remote?.close();
});

/** Runs in the page. */
async function start(options: TabOptions): Promise<void> {
  const { filter, hasFunctions, name, seed, table, url } = options;
  const entry = (file: string) => `/dist/${file}.js`;
  const { openStore } = await import(entry("index"));
  const { startSync } = await import(entry("start-sync/index"));
  const calls: string[] = [];
  const warnings: string[] = [];
  const onWarning = ({ code }: { code: string }) => warnings.push(code);
  const store: Store = await openStore({ name, thread: "worker", onWarning });
  if (warnings.includes("WorkerUnavailable")) throw new Error("There is no worker.");
  const functions: Partial<SyncOptions["remote"]> = {
    credential: async () => {
      calls.push("credential");
      return { signature: "sv=1" };
    },
    fetch: (input, init) => {
      if (calls.at(-1) !== "fetch") calls.push("fetch");
      return fetch(input, init);
    },
  };
  if (seed?.state === "restored") {
    const asSeed = { mode: { synced: [table, "EntitableSeed"] } } as object; // as sync does
    await store.restore(await (await fetch(seed.url)).arrayBuffer(), asSeed);
  }
  const sync: Sync = await startSync(store, {
    ...(seed && { seed: seed.url }),
    remote: { url, ...(hasFunctions && functions) },
    tables: {
      [table]: {
        conflict: hasFunctions
          ? ({ local, remote }: { local: object; remote: object }) => {
              calls.push("conflict");
              return { ...remote, ...local, isMerged: true };
            }
          : "remote",
        ...(filter !== undefined && { filter }),
      },
    },
    schedule: { minMs: 200, maxMs: 400 },
  });
  Object.assign(globalThis, { store, sync, calls });
}

/** Opens a tab of an application, which syncs a table. */
async function openTab(table: string, options: Partial<TabOptions> = {}): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(waitMs);
  await page.goto(site.url);
  const { url } = remote;
  await page.evaluate(start, { table, url, name: table, hasFunctions: false, ...options });
  return page;
}

test("requests are sent by the worker, and the page shows the status and makes calls", async () => {
  await remote.store.table("lamps").createTable();
  await remote.store.table("lamps").createEntity({ partitionKey: "p", rowKey: "1" });
  const page = await openTab("lamps");
  const entries = () =>
    performance.getEntriesByType("resource").filter(({ name }) => name.includes("lamps()")).length;
  await until(async () => (await rowsOf(page, "lamps")) === "1");
  await write(page, "lamps", "2");
  await until(async () => (await remote.rows("lamps")) === "1,2");
  await until(async () => (await statusOf(page)).pending === 0);
  const [worker] = page.workers() as [Worker];
  assert.equal(await page.evaluate(entries), 0);
  assert((await worker.evaluate(entries)) > 0);
  const seen = await page.evaluate(async () => {
    const { store, sync } = globalThis as unknown as Application;
    const phases: string[] = [];
    sync.subscribe(({ phase }) => phases.push(phase));
    const report = await sync.now();
    sync.pause();
    while (sync.status.phase !== "paused") await new Promise((resolve) => setTimeout(resolve, 10));
    await store.table("lamps").upsertEntity({ partitionKey: "p", rowKey: "3" });
    const pending: string[] = [];
    for await (const { kind, rowKey } of sync.pending()) pending.push(`${kind} ${rowKey}`);
    const refused = await sync.retry("x").catch(({ code }: { code: string }) => code);
    sync.resume();
    const { complete } = await sync.now();
    return { report, phases: phases.length > 0, pending, refused, complete };
  });
  assert.deepEqual(seen, {
    report: { complete: true, pending: 0, parked: 0, lost: 0 },
    phases: true,
    pending: ["create 3"],
    refused: "ValidationFailed",
    complete: true,
  });
  assert.equal(await remote.rows("lamps"), "1,2,3");
  await page.close();
});

test("functions in the options are called in the page", async () => {
  await remote.store.table("people").createTable();
  const page = await openTab("people", { hasFunctions: true });
  await write(page, "people", "1", { a: 1 });
  await until(async () => (await remote.rows("people")) === "1");
  await until(async () => (await statusOf(page)).pending === 0);
  await page.evaluate(() => (globalThis as unknown as Application).sync.pause());
  await write(page, "people", "1", { a: 2 });
  await remote.store
    .table("people")
    .upsertEntity({ partitionKey: "p", rowKey: "1", b: 3 }, "Merge");
  await page.evaluate(() => (globalThis as unknown as Application).sync.resume());
  const merged = () => remote.store.table("people").getEntity("p", "1");
  await until(async () => (await merged()).isMerged === true);
  const { a, b } = await merged();
  assert.deepEqual([a, b], [2, 3]);
  const calls = await page.evaluate(() => (globalThis as unknown as WorkerApplication).calls);
  assert.deepEqual([...new Set(calls)].sort(), ["conflict", "credential", "fetch"]);
  await page.close();
});

test("of two tabs, the owner's worker syncs, and the other one continues", async () => {
  await remote.store.table("cities").createTable();
  const owner = await openTab("cities");
  const other = await openTab("cities");
  await write(other, "cities", "1");
  await until(async () => (await remote.rows("cities")) === "1");
  const report = await other.evaluate(() => (globalThis as unknown as Application).sync.now());
  assert.equal(report.complete, true);
  await owner.close();
  await write(other, "cities", "2");
  await until(async () => (await remote.rows("cities")) === "1,2");
  await until(async () => (await statusOf(other)).pending === 0);
  const ended = await other.evaluate(async () => {
    const { store, sync } = globalThis as unknown as Application;
    await sync.endTable("cities");
    const tables = Object.keys(sync.status.tables);
    await store.close();
    await sync.stop();
    return [tables.length, sync.status.phase];
  });
  assert.deepEqual(ended, [0, "stopped"]);
  await other.close();
});

test("a table begins with a seed, and keeps what matches its filter", async () => {
  const plants = remote.store.table("plants");
  await plants.createTable();
  for (let row = 0; row < 40; ++row)
    await plants.createEntity({ partitionKey: "p", rowKey: String(10 + row), age: row % 20 });
  const folder = mkdtempSync(join(tmpdir(), "entitable-seed-"));
  const file = join(folder, "plants.seed");
  const args = ["sync", remote.url, "--table", "plants", "--location", join(folder, "copy")];
  const { code, err } = await run([...args, "--once", "--seed-out", file]);
  assert.deepEqual([code, err], [0, ""]);
  const url = `data:application/octet-stream;base64,${readFileSync(file).toString("base64")}`;
  rmSync(folder, { recursive: true });
  await plants.upsertEntity({ partitionKey: "p", rowKey: "10", age: 30 });
  await remote.stop();
  const pages: Page[] = [];
  for (const state of ["new", "restored"] as const) {
    const page = await openTab("plants", {
      name: `plants-${state}`,
      seed: { url, state },
      filter: "age lt 2",
    });
    assert.equal(await rowsOf(page, "plants"), "10,11,30,31");
    const tables = () => (globalThis as unknown as Application).store.stats();
    assert.deepEqual(
      (await page.evaluate(tables)).tables.map(({ name }) => name),
      ["plants"],
    );
    await write(page, "plants", `9${pages.length}`, { age: 1 });
    pages.push(page);
  }
  await remote.restart();
  for (const page of pages)
    await until(async () => (await rowsOf(page, "plants")) === "11,30,31,90,91");
  await Promise.all(pages.map((page) => page.close()));
});
