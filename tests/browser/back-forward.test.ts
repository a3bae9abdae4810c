// A page with an open store enters Chromium's back/forward cache, leaves it again, and continues to
// use the store.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Page } from "puppeteer-core";
import type { user as User } from "./fixture/tab-page.ts";
import { ownerOf, tabsOfOneBrowser, until } from "./support/shared-tabs.ts";

// Variables of the page.
declare const user: typeof User;
declare let written: number;

interface NotRestored {
  notRestoredReasons?: { reasons?: unknown };
}

// Leaves the page, waits for `meanwhile`, and returns to the same page.
async function awayAndBack(page: Page, url: string, meanwhile: () => Promise<unknown>) {
  await page.evaluate(() => {
    Object.assign(globalThis, { sameAsBefore: true });
  });
  await page.goto(url);
  await meanwhile();
  await page.goBack();
  const { same, why } = await page.evaluate(() => ({
    same: "sameAsBefore" in globalThis,
    why: JSON.stringify(
      (performance.getEntriesByType("navigation")[0] as NotRestored).notRestoredReasons,
    ),
  }));
  assert(same, `it was not in the cache: ${why}`);
}

describe("a page in the back/forward cache", () => {
  const newTabs = tabsOfOneBrowser();
  for (const who of ["owner", "follower"] as const) {
    test(`was the store's ${who}, and then sees what others wrote in the meantime`, async (t) => {
      const tabs = await newTabs(t);
      const first = await tabs.tab();
      const second = await tabs.tab();
      const [away, here] = who === "owner" ? [first, second] : [second, first];
      await tabs.work(away, "before", 5);
      await awayAndBack(away, `${tabs.site.url}elsewhere`, async () => {
        await tabs.work(here, "meanwhile", 5);
        assert.equal(await ownerOf(here), "self");
      });
      await tabs.work(away, "after", 5);
      assert.equal(await ownerOf(away), "other-tab");
      assert.equal((await tabs.check(away)).counter, 15);
    });
  }

  test("was the only one, and owns the store again", async (t) => {
    const tabs = await newTabs(t);
    const page = await tabs.tab();
    await tabs.work(page, "before", 5);
    await awayAndBack(page, `${tabs.site.url}elsewhere`, async () => {});
    await tabs.work(page, "after", 5);
    assert.equal(await ownerOf(page), "self");
    assert.equal((await tabs.check(page)).counter, 10);
  });

  test("was writing when it was left, and continues writing", async (t) => {
    const tabs = await newTabs(t);
    const page = await tabs.tab();
    const here = await tabs.tab();
    void page
      .evaluate(async () => {
        Object.assign(globalThis, { written: 0 });
        for (let i = 0; ; written = ++i) await user.writeOwnGroup("away", i);
      })
      .catch(() => {});
    const count = () => page.evaluate(() => written);
    await until(async () => (await count()) > 10);
    await awayAndBack(page, `${tabs.site.url}elsewhere`, () => tabs.work(here, "here", 5));
    const before = await count();
    await until(async () => (await count()) > before + 10);
    const acknowledged = await count();
    const { rows } = await tabs.check(here);
    assert(rows.filter((row) => row.startsWith("away/")).length >= 3 * acknowledged);
  });
});
