// Tests entitable/sync in real Chromium: three lines make an application work offline.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import type { Sync } from "../../web/src/start-sync/types.ts";
import type { Store } from "../../web/src/types.ts";
import { openStore, packageFolder } from "../web/support/package.ts";
import { newProfile, type Profile, waitMs } from "./support/browser.ts";
import { blankPage, type Site, serve as serveFolder } from "./support/server.ts";

const { serve }: typeof import("../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

/** The variables of a page. */
interface Application {
  store: Store;
  sync: Sync;
}

let profile: Profile;
let context: BrowserContext;
let site: Site;
let remote: Store;
let server: Awaited<ReturnType<typeof serve>>;
let port = 0;

before(async () => {
  const account = { name: "acct", permissiveCors: true };
  remote = await openStore({ persistence: "memory", account });
  server = await serve(remote, { port: 0 });
  port = Number(new URL(server.url).port);
  site = await serveFolder(fileURLToPath(packageFolder), { override: blankPage });
  profile = await newProfile();
  context = await profile.open();
});

after(async () => {
  await context?.close();
  await profile?.remove();
  await site?.close();
  await server?.close();
  await remote?.close();
});

/** Opens a tab of an application, which syncs a table. */
async function openTab(table: string): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(waitMs);
  await page.goto(site.url);
  await page.evaluate(
    async ({ table, url }) => {
      const entry = (name: string) => `/dist/${name}.js`;
      const { openStore } = await import(entry("index"));
      const { startSync } = await import(entry("start-sync/index"));
      const store = await openStore({ name: `shop-${table}` });
      const schedule = { minMs: 200, maxMs: 400 };
      const sync = await startSync(store, { remote: { url }, tables: { [table]: {} }, schedule });
      Object.assign(globalThis, { store, sync });
    },
    { table, url: `http://127.0.0.1:${port}/acct` },
  );
  return page;
}

const write = (page: Page, table: string, rowKey: string) =>
  page.evaluate(
    async ([table, rowKey]) => {
      const { store } = globalThis as unknown as Application;
      await store.table(table).upsertEntity({ partitionKey: "p", rowKey });
    },
    [table, rowKey] as const,
  );

const rowsOf = (page: Page, table: string) =>
  page.evaluate(async (name) => {
    const { store } = globalThis as unknown as Application;
    const rows: string[] = [];
    for await (const { rowKey } of store.table(name).listEntities()) rows.push(String(rowKey));
    return rows.join();
  }, table);

async function remoteRows(table: string): Promise<string> {
  const rows: string[] = [];
  for await (const { rowKey } of remote.table(table).listEntities()) rows.push(String(rowKey));
  return rows.join();
}

const statusOf = (page: Page) =>
  page.evaluate(() => {
    const { pending, phase, online } = (globalThis as unknown as Application).sync.status;
    return { pending, phase, online };
  });

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + waitMs;
  while (!(await holds())) {
    assert(performance.now() < end, "it does not hold within a minute");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("edits made offline survive a reload, and are sent when the page is online", async () => {
  await remote.table("lamps").createTable();
  await remote.table("lamps").createEntity({ partitionKey: "p", rowKey: "1" });
  let page = await openTab("lamps");
  await until(async () => (await rowsOf(page, "lamps")) === "1");
  await context.setOffline(true);
  for (const rowKey of ["2", "3"]) await write(page, "lamps", rowKey);
  await remote.table("lamps").createEntity({ partitionKey: "p", rowKey: "4" });
  await until(async () => (await statusOf(page)).pending === 2);
  assert.equal((await statusOf(page)).online, false);
  await page.close();
  // The page's own site must answer to load it again, but the remote does not.
  await server.close();
  await context.setOffline(false);
  page = await openTab("lamps");
  assert.equal(await rowsOf(page, "lamps"), "1,2,3");
  await write(page, "lamps", "5");
  await until(async () => (await statusOf(page)).pending === 3);
  assert.equal(await remoteRows("lamps"), "1,4");
  server = await serve(remote, { port });
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await until(async () => (await remoteRows("lamps")) === "1,2,3,4,5");
  await until(async () => (await rowsOf(page, "lamps")) === "1,2,3,4,5");
  await until(async () => (await statusOf(page)).pending === 0);
  await page.close();
});

test("of two tabs, the owner syncs, and the other one continues when it is closed", async () => {
  await remote.table("people").createTable();
  const owner = await openTab("people");
  const other = await openTab("people");
  await write(other, "people", "1");
  await until(async () => (await remoteRows("people")) === "1");
  await until(async () => (await statusOf(other)).phase !== "connecting");
  const report = await other.evaluate(() => (globalThis as unknown as Application).sync.now());
  assert.equal(report.complete, true);
  await owner.close();
  await write(other, "people", "2");
  await until(async () => (await remoteRows("people")) === "1,2");
  await until(async () => (await statusOf(other)).pending === 0);
  await other.close();
});
