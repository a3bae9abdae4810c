// Kills Chromium while a page fills its origin's quota and empties its store again. Whenever that
// happens, the store can be opened and emptied, and nothing that was acknowledged is lost.

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "puppeteer-core";
import {
  AcknowledgedRows,
  emptyFullStore,
  fillAndEmpty,
  type LoadEvent,
} from "../web/support/full-store-load.ts";
import { seededRandom } from "../web/support/random.ts";
import { newProfile } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { launch } from "./support/puppeteer.ts";
import { blankPage } from "./support/server.ts";

type Store = Parameters<typeof fillAndEmpty>[0];
declare const store: Store; // globals of the page
declare const load: { fillAndEmpty: typeof fillAndEmpty; emptyFullStore: typeof emptyFullStore };
declare function report(event: LoadEvent): Promise<void>;

const rounds = Number(process.env["ENTITABLE_ROUNDS"] ?? 1);
const bytes = 60_000; // Chromium frees the space of rows of less than 64 kB much later
const quotaSize = 16 * 1024 * 1024;

// Opens the store in a page with a small quota.
async function openPage(browser: Browser, url: string, rows: AcknowledgedRows): Promise<Page> {
  const page = await browser.newPage();
  const cdp = await page.createCDPSession();
  await cdp.send("Storage.overrideQuotaForOrigin", { origin: new URL(url).origin, quotaSize });
  await page.exposeFunction("report", (event: LoadEvent) => rows.add(event));
  await page.goto(url);
  await page.addScriptTag({ content: `load = { fillAndEmpty: ${fillAndEmpty} }` });
  await page.addScriptTag({ content: `load.emptyFullStore = ${emptyFullStore}` });
  await page.evaluate(async () => {
    const { openStore } = await import("/dist/index.js" as string);
    Object.assign(globalThis, { store: await openStore({ name: "full" }) });
  });
  return page;
}

async function kill(browser: Browser): Promise<void> {
  const process = browser.process();
  assert(process !== null);
  const exited = once(process, "exit");
  process.kill("SIGKILL");
  await exited;
  await browser.close().catch(() => {});
}

test(`a browser that fills its quota is killed ${rounds} times`, {
  timeout: 120_000 + rounds * 120_000,
}, async (t) => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = seededRandom(seed);
  const rows = new AcknowledgedRows();
  const profile = await newProfile();
  const site = await servePackage({ override: blankPage });
  let browser = await launch(profile);
  t.after(async () => {
    await browser.close().catch(() => {});
    await site.close();
    await profile.remove();
  });
  for (let round = 0; round < rounds; ++round) {
    const page = await openPage(browser, site.url, rows);
    const timesFull = rows.timesFull;
    page
      .evaluate((name, size) => load.fillAndEmpty(store, name, size, report), `r${round}`, bytes)
      .catch(() => {}); // the browser is killed
    while (rows.timesFull === timesFull && rows.problems.length === 0) await sleep(20);
    await sleep(random.below(3000));
    await kill(browser);
    browser = await launch(profile);
    const reopened = await openPage(browser, site.url, rows);
    const emptying = reopened.evaluate(
      (name, size) => load.emptyFullStore(store, name, size),
      `r${round}`,
      bytes,
    );
    rows.check(await emptying);
    await reopened.evaluate(() => store.close());
    await reopened.close();
  }
  t.diagnostic(`${rows.acknowledged} acknowledged writes, full ${rows.timesFull} times`);
});
