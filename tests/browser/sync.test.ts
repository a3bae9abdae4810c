// Tests entitable/sync in real Chromium: three lines make an application work offline.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { newProfile, type Profile, waitMs } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { blankPage, type Site } from "./support/server.ts";
import { until } from "./support/shared-tabs.ts";
import { type Application, RemoteServer, rowsOf, statusOf, write } from "./support/synced-pages.ts";

let profile: Profile;
let context: BrowserContext;
let site: Site;
let remote: RemoteServer;

before(async () => {
  remote = await RemoteServer.start();
  site = await servePackage({ override: blankPage });
  profile = await newProfile();
  context = await profile.open();
});

after(async () => {
  await context?.close();
  await profile?.remove();
  await site?.close();
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
    { table, url: remote.url },
  );
  return page;
}

test("edits made offline survive a reload, and are sent when the page is online", async () => {
  await remote.store.table("lamps").createTable();
  await remote.store.table("lamps").createEntity({ partitionKey: "p", rowKey: "1" });
  let page = await openTab("lamps");
  await until(async () => (await rowsOf(page, "lamps")) === "1");
  await context.setOffline(true);
  for (const rowKey of ["2", "3"]) await write(page, "lamps", rowKey);
  await remote.store.table("lamps").createEntity({ partitionKey: "p", rowKey: "4" });
  await until(async () => (await statusOf(page)).pending === 2);
  assert.equal((await statusOf(page)).online, false);
  await page.close();
  // The page's own site must answer to load it again, but the remote does not.
  await remote.stop();
  await context.setOffline(false);
  page = await openTab("lamps");
  assert.equal(await rowsOf(page, "lamps"), "1,2,3");
  await write(page, "lamps", "5");
  await until(async () => (await statusOf(page)).pending === 3);
  assert.equal(await remote.rows("lamps"), "1,4");
  await remote.restart();
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await until(async () => (await remote.rows("lamps")) === "1,2,3,4,5");
  await until(async () => (await rowsOf(page, "lamps")) === "1,2,3,4,5");
  await until(async () => (await statusOf(page)).pending === 0);
  await page.close();
});

test("of two tabs, the owner syncs, and the other one continues when it is closed", async () => {
  await remote.store.table("people").createTable();
  const owner = await openTab("people");
  const other = await openTab("people");
  await write(other, "people", "1");
  await until(async () => (await remote.rows("people")) === "1");
  await until(async () => (await statusOf(other)).phase !== "connecting");
  const report = await other.evaluate(() => (globalThis as unknown as Application).sync.now());
  assert.equal(report.complete, true);
  await owner.close();
  await write(other, "people", "2");
  await until(async () => (await remote.rows("people")) === "1,2");
  await until(async () => (await statusOf(other)).pending === 0);
  await other.close();
});
