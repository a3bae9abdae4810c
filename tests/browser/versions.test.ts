// Tabs with versions of the package that cannot share a store: the newer version gets the store.
// Tabs of a site that was redeployed: an old tab no longer finds the files of its version.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "puppeteer-core";
import { protocolVersion } from "../../web/src/tabs/messages.ts";
import type { user as User } from "./fixture/tab-page.ts";
import { ownerOf, tabsOfOneBrowser } from "./support/shared-tabs.ts";

declare const user: typeof User; // a variable of the page

const newer = protocolVersion + 1;
const newTabs = tabsOfOneBrowser();

// Changes the package that this page loads to the next version.
async function update(page: Page, site: string): Promise<void> {
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    const url = new URL(request.url());
    if (!url.href.startsWith(`${site}dist/`) || !url.pathname.endsWith(".js")) {
      await request.continue();
      return;
    }
    const script = await (await fetch(url)).text();
    const body = script.replace(
      `protocolVersion = ${protocolVersion}`,
      `protocolVersion = ${newer}`,
    );
    await request.respond({ contentType: "text/javascript", body });
  });
}

// Removes the files of the deferred modules from the site, as this page sees it.
async function removeDeferredModules(page: Page): Promise<void> {
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    const isRemoved = /\/entitable\.(rest|live|snapshot)\.wasm$/.test(request.url());
    await (isRemoved ? request.respond({ status: 404 }) : request.continue());
  });
}

const codeOf = (page: Page) =>
  page.evaluate(() =>
    user.insert("strict").then(
      () => "done",
      (error: { code?: string }) => String(error.code ?? error),
    ),
  );

for (const who of ["owner", "follower"] as const) {
  test(`an older tab, the ${who}, closes its store for a newer tab, with an event`, async (t) => {
    const tabs = await newTabs(t);
    const first = await tabs.tab();
    const older = who === "owner" ? first : await tabs.tab();
    assert.equal(await codeOf(older), "done");
    const conflict = older.evaluate(() => user.conflict());
    const page = await tabs.blank();
    await update(page, tabs.site.url);
    await tabs.open(page);
    assert.equal(await ownerOf(page), "self");
    assert.deepEqual(await conflict, { theirs: newer, ours: protocolVersion });
    assert.equal(await codeOf(older), "VersionConflict");
    assert.equal(await codeOf(page), "done");
    assert.equal((await page.evaluate(() => user.readState())).rows.length, 2);
  });
}

test("an older tab cannot open the store of a newer one", async (t) => {
  const tabs = await newTabs(t);
  const page = await tabs.blank();
  await update(page, tabs.site.url);
  await tabs.open(page);
  const errorMessage = await tabs.tab().then(
    () => "opened",
    (error: Error) => error.message,
  );
  assert(
    errorMessage.includes(
      `newer version of entitable (protocol ${newer}, here ${protocolVersion})`,
    ),
    errorMessage,
  );
  assert.equal(await codeOf(page), "done");
});

test("an owner that no longer finds its deferred modules hands the store over", async (t) => {
  const tabs = await newTabs(t);
  const [first, second] = [await tabs.blank(), await tabs.blank()];
  for (const page of [first, second]) {
    await removeDeferredModules(page);
    await tabs.open(page);
  }
  assert.deepEqual([await ownerOf(first), await ownerOf(second)], ["self", "other-tab"]);
  // Each needs another of the deferred modules.
  const calls = ["verify", "openLiveQuery", "explain"] as const;
  const outcome = (page: Page, call: (typeof calls)[number]) =>
    page.evaluate(
      (name) =>
        user[name]().catch((error: { code?: string; hint?: string }) => [error.code, error.hint]),
      call,
    );
  for (const call of calls) {
    for (const page of [first, second, first]) {
      const [code, hint] = (await outcome(page, call)) as string[];
      assert.equal(code, "WasmLoadFailed");
      assert.match(hint ?? "", /^Reload the page/);
    }
  }
  assert.equal(await ownerOf(second), "self", "handed over once");

  const newest = await tabs.tab();
  for (const page of [newest, first, second]) {
    for (const call of calls) assert.equal(await outcome(page, call), true);
    assert.equal(await codeOf(page), "done");
  }
  assert.equal(await ownerOf(newest), "self");
  assert.equal((await first.evaluate(() => user.readState())).rows.length, 3);
});
