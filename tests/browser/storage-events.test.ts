// Tests the events of a store in real Chromium when the site's storage is nearly full, and when it
// was cleared without localStorage, as by an eviction. DevTools (CDP) sets the quota. estimate()
// reports this quota, although IndexedDB is not limited by it.
//
// Since version 138, Chromium's estimate() hides the real quota from sites, and also the one that
// CDP sets: it reports ten gigabytes more than are used, or the size of the disk if that is less. A
// flag turns this off.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Page } from "puppeteer-core";
import type { Store, StoreEvents } from "../../web/src/index.ts";
import { SharedTabs, until } from "./support/shared-tabs.ts";

type Package = typeof import("../../web/src/index.ts");

// Functions and variables of the page and its workers.
declare function entitable(): Promise<Package>;
declare const events: (StoreEvents["quota"] | StoreEvents["evicted"])[];

const threads = ["inline", "worker"] as const;
const name = "told";

const honest = ["--disable-features=StaticStorageQuota"];

async function start(t: { after(end: () => Promise<void>): void }): Promise<SharedTabs> {
  const tabs = await SharedTabs.start(honest);
  t.after(() => tabs.stop());
  return tabs;
}

async function newPage(tabs: SharedTabs): Promise<Page> {
  const page = await tabs.blank();
  await page.evaluateOnNewDocument(() => {
    Object.assign(globalThis, { entitable: () => import("/dist/index.js" as string) });
  });
  await page.goto(`${tabs.site.url}elsewhere`);
  return page;
}

// Opens the store and listens to what it tells.
const open = (page: Page, thread: (typeof threads)[number]) =>
  page.evaluate(
    async (options) => {
      const { openStore } = await entitable();
      const store = await openStore(options);
      const heard: unknown[] = [];
      store.on("quota", (event) => heard.push(event));
      store.on("evicted", (event) => heard.push(event));
      Object.assign(globalThis, { store, events: heard });
      return store.status.owner;
    },
    { name, thread },
  );

const write = (page: Page) =>
  page.evaluate(async () => {
    const { openStore } = await entitable();
    const store = await openStore({ name: "told" });
    const table = store.table("rows");
    await table.createTable();
    const noise = crypto.getRandomValues(new Uint8Array(60_000));
    await table.upsertEntity({ partitionKey: "p", rowKey: "1", noise });
    await store.close();
  });

const heardBy = (page: Page) => page.evaluate(() => events.length);

// Calls a DevTools method. Its effect lasts as long as the page exists.
async function cdp(page: Page, method: string, parameters: object): Promise<void> {
  const session = await page.createCDPSession();
  const origin = new URL(page.url()).origin;
  await session.send(method as "Storage.overrideQuotaForOrigin", { origin, ...parameters });
}

// Clears everything that an eviction clears in Chromium.
const evict = (page: Page) =>
  cdp(page, "Storage.clearDataForOrigin", {
    storageTypes: "indexeddb,cache_storage,service_workers,file_systems",
  });

describe("a store whose site uses more than 80 % of its quota", () => {
  for (const thread of threads) {
    test(`fires quota in each tab that opens it (${thread})`, async (t) => {
      const tabs = await start(t);
      const roomy = await newPage(tabs);
      await write(roomy);
      await cdp(roomy, "Storage.overrideQuotaForOrigin", { quotaSize: 1e9 });
      assert.equal(await open(roomy, thread), "self");
      // asks the browser in the store's thread, so the answer follows that of the check on opening
      await roomy.evaluate(() => (globalThis as unknown as { store: Store }).store.stats());
      const usage = await roomy.evaluate(
        async () => (await navigator.storage.estimate()).usage as number,
      );
      const quota = Math.floor(usage / 2); // half, because usage changes by itself
      await cdp(roomy, "Storage.overrideQuotaForOrigin", { quotaSize: quota });
      const full = await newPage(tabs);
      assert.equal(await open(full, thread), "other-tab");
      await until(async () => (await heardBy(full)) > 0);
      const [event] = (await full.evaluate(() => events)) as StoreEvents["quota"][];
      assert.equal(event?.quota, quota);
      assert((event?.usage ?? 0) > 0.8 * quota);
      assert.equal(await heardBy(full), 1);
      assert.equal(await heardBy(roomy), 0, "there was room when it looked");
    });
  }
});

describe("a store whose data the browser evicted", () => {
  for (const thread of threads) {
    test(`fires evicted once, when it is opened next (${thread})`, async (t) => {
      const tabs = await start(t);
      const first = await newPage(tabs);
      await open(first, thread);
      await first.evaluate(() => events.length); // there is no data yet that could be lost
      const before = Date.now();
      await write(first);
      await first.close();
      const second = await newPage(tabs);
      await evict(second);
      assert.equal(await open(second, thread), "self");
      await until(async () => (await heardBy(second)) > 0);
      const lastSeen = await second.evaluate(() => {
        const [event] = events as StoreEvents["evicted"][];
        return event?.lastSeen.getTime() ?? 0;
      });
      assert(lastSeen >= before && lastSeen <= Date.now());
      await second.close();
      const third = await newPage(tabs);
      await open(third, thread);
      // Waits for a later response, by which time the event would have fired.
      await third.evaluate(() => navigator.storage.estimate());
      assert.equal(await heardBy(third), 0);
    });
  }
});

describe("a store that was deleted", () => {
  for (const where of ["a page", "a worker of the site's own"]) {
    test(`by ${where} fires no event`, async (t) => {
      const tabs = await start(t);
      const page = await newPage(tabs);
      await write(page);
      await page.evaluate(async (by) => {
        if (by === "a page") return await (await entitable()).deleteStore("told");
        const url = new URL("/dist/index.js", location.href);
        const script = `import { deleteStore } from "${url}"; await deleteStore("told"); postMessage("");`;
        const blob = new Blob([script], { type: "text/javascript" });
        const worker = new Worker(URL.createObjectURL(blob), { type: "module" });
        await new Promise((resolve) => {
          worker.onmessage = resolve;
        });
      }, where);
      for (let i = 0; i < 2; ++i) {
        await open(page, "inline");
        await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
        assert.equal(await heardBy(page), 0);
        await page.reload();
      }
      const left = await page.evaluate(() => Object.keys(localStorage));
      assert.deepEqual(left, []);
      await write(page);
      await evict(page);
      await open(page, "inline");
      await until(async () => (await heardBy(page)) === 1);
    });
  }
});
