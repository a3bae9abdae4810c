// Live queries in three tabs of real Chromium that share a store, while tabs write, and owners
// crash; and a durable reader in two tabs. (tests/web/live-tabs.test.ts has more tests, in one
// process.)

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { build } from "esbuild";
import type { Browser, Page } from "puppeteer-core";
import { wrongResult } from "../web/support/random-live.ts";
import type { livePage as LivePage } from "./fixture/live-page.ts";
import type { readerPage as ReaderPage } from "./fixture/reader-page.ts";
import { flags, newProfile, type Profile, waitMs } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { launch } from "./support/puppeteer.ts";
import { blankPage, type Site } from "./support/server.ts";
import { crash, until } from "./support/shared-tabs.ts";

declare const livePage: typeof LivePage; // a variable of the page
declare const readerPage: typeof ReaderPage; // the same

const fixtures = ["live-page", "reader-page"].map(
  (name) => `export * from ${JSON.stringify(`./fixture/${name}.ts`)};`,
);
const queriesPerTab = 12;
const writesPerTab = 60;
const checksMin = Number(process.env["ENTITABLE_CHECKS"] ?? 200); // in the first test
const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);

let profile: Profile;
let browser: Browser;
let script: string;
const sites: Site[] = [];

before(async () => {
  profile = await newProfile();
  browser = await launch(profile, { args: flags });
  const built = await build({
    stdin: { contents: fixtures.join("\n"), resolveDir: import.meta.dirname },
    bundle: true,
    format: "esm",
    write: false,
    external: ["/dist/*"],
  });
  script = built.outputFiles[0]?.text ?? "";
});

after(async () => {
  await browser.close();
  for (const site of sites) await site.close();
  await profile.remove();
});

async function newSite(): Promise<Site> {
  const site = await servePackage({
    override: (path) =>
      path === "/live-page.js" ? { type: "text/javascript", body: script } : blankPage(path),
  });
  sites.push(site);
  return site;
}

async function newPage(site: Site, variable: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(waitMs);
  await page.goto(site.url);
  await page.addScriptTag({ type: "module", url: "/live-page.js" });
  await page.waitForFunction((name: string) => name in globalThis, {}, variable);
  return page;
}

let tabs = 0;

async function newTab(site: Site, options: object = {}): Promise<Page> {
  const page = await newPage(site, "livePage");
  const open = (given: object, tabSeed: number, count: number) =>
    livePage.open(given, tabSeed, count);
  await page.evaluate(open, options, seed + ++tabs, queriesPerTab);
  return page;
}

async function newReaderTab(site: Site, options: object = {}): Promise<Page> {
  const page = await newPage(site, "readerPage");
  await page.evaluate((given: object) => readerPage.open(given), options);
  return page;
}

// Lets the tabs write, waits until each shows what listing again returns, and checks all results
// that they showed meanwhile. Resolves to how many these were.
async function writeAndCheck(pages: readonly Page[]): Promise<number> {
  const write = (count: number) => livePage.write(count);
  await Promise.all(pages.map((page) => page.evaluate(write, writesPerTab)));
  let checked = 0;
  for (const page of pages) {
    let difference = "";
    const isRight = async () => {
      difference = await page.evaluate(() => livePage.difference());
      return difference === "";
    };
    await until(isRight, 10_000, () => difference);
    checked += await page.evaluate(() => livePage.check());
  }
  return checked;
}

// Resolves to the number of results that were checked.
async function writeWhileOwnerCrashes(): Promise<number> {
  const site = await newSite();
  const pages = [await newTab(site), await newTab(site), await newTab(site)];
  const checked = await writeAndCheck(pages);
  const [owner, ...others] = pages as [Page, ...Page[]];
  assert.equal((await owner.evaluate(() => livePage.status())).owner, "self");
  const writing = writeAndCheck(others);
  await crash(owner);
  const later = await writing;
  for (const page of others) await page.close();
  await sites.pop()?.close();
  return checked + later;
}

describe(`live queries of three tabs (seed ${seed})`, () => {
  test("show what listing again returns, while all write and owners crash", async (t) => {
    let checked = 0;
    while (checked < checksMin) checked += await writeWhileOwnerCrashes();
    t.diagnostic(`${checked} results were checked`);
  });

  test("do the same in workers", async (t) => {
    const site = await newSite();
    const worker = { thread: "worker" };
    const pages = [await newTab(site, worker), await newTab(site), await newTab(site, worker)];
    const checked = await writeAndCheck(pages);
    const [owner, ...others] = pages as [Page, ...Page[]];
    await owner.close();
    t.diagnostic(`${checked + (await writeAndCheck(others))} results were checked`);
    for (const page of others) await page.close();
  });

  test("are found wrong if rows that leave are ignored", async () => {
    const page = await newTab(await newSite());
    await page.evaluate(() => livePage.ignoreLeaving());
    await assert.rejects(writeAndCheck([page]), { message: wrongResult });
    await page.close();
  });
});

describe("a durable reader of two tabs", () => {
  const readTo = (last: string) => readerPage.readTo(last);
  const write = (key: string) => readerPage.write(key);

  test("is handed over when a tab closes it, and when the tab ends", async () => {
    const site = await newSite();
    const first = await newReaderTab(site);
    await first.evaluate(write, "1");
    assert.deepEqual(await first.evaluate(readTo, "1"), ["1"]);
    const second = await newReaderTab(site, { thread: "worker" });
    const waiting = second.evaluate(readTo, "3");
    await first.evaluate(write, "2");
    await second.evaluate(write, "3");
    assert.equal(await second.evaluate(() => readerPage.hasReader()), false);
    await first.evaluate(() => readerPage.closeReader());
    assert.deepEqual(await waiting, ["2", "3"]);
    const third = first.evaluate(readTo, "4");
    await first.evaluate(write, "4");
    assert.equal(await first.evaluate(() => readerPage.hasReader()), false);
    await second.close();
    assert.deepEqual(await third, ["4"]);
    await first.close();
  });
});
