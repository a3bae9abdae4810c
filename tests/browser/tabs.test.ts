// Tabs that share a store in real Chromium, with real locks, channels and IndexedDB. Whatever
// happens to the owner, no acknowledged write is lost, no transaction is torn, and nothing is
// applied twice. (tests/web/tabs.test.ts has more tests, in one process.)

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "puppeteer-core";
import { seededRandom } from "../web/support/random.ts";
import type { user as User } from "./fixture/tab-page.ts";
import { describeLogs, endLogWithHalfRecord } from "./support/leveldb-log.ts";
import {
  crash,
  lifecycle,
  ownerOf,
  SharedTabs,
  tabsOfOneBrowser,
  until,
} from "./support/shared-tabs.ts";

declare const user: typeof User; // a variable of the page

describe("while two tabs write, the owner", () => {
  const newTabs = tabsOfOneBrowser();
  const ends: Record<string, (tabs: SharedTabs, owner: Page) => Promise<unknown>> = {
    "closes its store": (_, owner) => owner.evaluate(() => user.close()),
    "is closed": (_, owner) => owner.close(),
    "goes to another page": (tabs, owner) => owner.goto(`${tabs.site.url}elsewhere`),
    "is reloaded": (tabs, owner) => owner.reload().then(() => tabs.open(owner)),
    crashes: (_, owner) => crash(owner),
    "freezes, and wakes": async (tabs, owner) => {
      await lifecycle(owner, "frozen");
      const before = tabs.reported("second");
      await until(() => tabs.reported("second") > before + 20);
      await lifecycle(owner, "active");
    },
  };
  for (const [what, end] of Object.entries(ends)) {
    test(what, async (t) => {
      const tabs = await newTabs(t);
      const owner = await tabs.tab();
      const second = await tabs.tab();
      assert.deepEqual([await ownerOf(owner), await ownerOf(second)], ["self", "other-tab"]);
      void tabs.work(owner, "first");
      void tabs.work(second, "second");
      await until(() => tabs.reported("first") > 20 && tabs.reported("second") > 20);
      if (what === "closes its store") tabs.problems.length = 0;
      await end(tabs, owner);
      const before = tabs.reported("second");
      await until(() => tabs.reported("second") > before + 20);
      assert.equal(await ownerOf(second), "self");
      tabs.problems.splice(
        0,
        tabs.problems.length,
        ...tabs.problems.filter((p) => !p.includes("is closed")),
      );
      await tabs.check(second);
    });
  }
});

describe("a browser with several tabs that write", () => {
  const kills = Number(process.env["ENTITABLE_KILLS"] ?? (process.env["ENTITABLE_ALL"] ? 20 : 5));

  test(`is killed ${kills} times`, { timeout: 60_000 + kills * 30_000 }, async (t) => {
    const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
    t.diagnostic(`ENTITABLE_SEED=${seed}`);
    const random = seededRandom(seed);
    const tabs = await SharedTabs.start();
    t.after(() => tabs.stop());
    let rows = 0;
    for (let kill = 1; kill <= kills; ++kill) {
      const pages = [await tabs.tab(), await tabs.tab(), await tabs.tab()];
      const found = await tabs.check(pages[0] as Page);
      assert(found.rows.length >= rows);
      rows = found.rows.length;
      const names = pages.map((_, i) => `kill${kill}tab${i}`);
      pages.forEach((page, i) => void tabs.work(page, names[i] as string));
      await tabs.waitForWrites(pages, names);
      await sleep(random.below(700));
      // so that the store is being handed over
      if (random.below(3) === 0) await (pages[0] as Page).close();
      await sleep(random.below(30));
      await tabs.kill();
    }
    await tabs.check(await tabs.tab());
    t.diagnostic(`${tabs.reports.length} acknowledged writes, ${rows} rows`);
  });

  // Without the workaround in web/src/storage/idbfs-database.ts, Chromium would delete all
  // databases of the origin at the second start after this.
  test("is killed in the middle of a record of its disk's log", async (t) => {
    const tabs = await SharedTabs.start();
    t.after(() => tabs.stop());
    await tabs.work(await tabs.tab(), "first", 5);
    await tabs.kill();
    endLogWithHalfRecord(tabs.profile.folder);
    for (const session of ["second", "third", "fourth"]) {
      const before = `before the ${session} session:\n${describeLogs(tabs.profile.folder)}`;
      const page = await tabs.tab();
      await assert.doesNotReject(tabs.check(page), before);
      await tabs.work(page, session, 5);
      await tabs.kill();
    }
    assert.equal((await tabs.check(await tabs.tab())).counter, 20);
  });
});
