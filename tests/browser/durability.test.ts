// Checks which durability Chromium's IndexedDB is asked for, and that the response to a write waits
// until IndexedDB has stored it. A spy between the owner and its database observes both. Killing a
// process could not distinguish strict from relaxed.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "puppeteer-core";
import type { user as User } from "./fixture/tab-page.ts";
import { ownerOf, SharedTabs, tabsOfOneBrowser, until } from "./support/shared-tabs.ts";

// Variables of the page.
declare const user: typeof User;
declare const spied: { durabilities: string[]; held: (() => void)[]; hold: boolean };
declare let answered: boolean;

// Records the durability of each write transaction. While `hold` is true, holds back the events
// that report complete transactions.
function spy(): void {
  const { transaction } = IDBDatabase.prototype;
  const seen: typeof spied = { durabilities: [], held: [], hold: false };
  Object.assign(globalThis, { spied: seen });
  IDBDatabase.prototype.transaction = function (stores, mode, options) {
    const real = transaction.call(this, stores, mode, options);
    if (mode !== "readwrite") return real;
    seen.durabilities.push(real.durability);
    let heard: ((event: Event) => void) | undefined;
    Object.defineProperty(real, "oncomplete", {
      set: (listener: (event: Event) => void) => {
        heard = listener;
      },
    });
    real.addEventListener("complete", (event) => {
      if (seen.hold) seen.held.push(() => heard?.(event));
      else heard?.(event);
    });
    return real;
  };
}

const write = (page: Page, durability: "strict" | "relaxed" | "deferred") =>
  page.evaluate((how) => {
    Object.assign(globalThis, { answered: false });
    void user.insert(how).then(() => {
      answered = true;
    });
  }, durability);

describe("a write", () => {
  let tabs: SharedTabs;
  let owner: Page;
  let follower: Page;

  before(async () => {
    tabs = await SharedTabs.start();
    owner = await tabs.tab();
    follower = await tabs.tab();
    assert.deepEqual([await ownerOf(owner), await ownerOf(follower)], ["self", "other-tab"]);
    await owner.evaluate(spy);
  });
  after(() => tabs.stop());

  // Holds back completion events until the test has checked the state.
  async function held(page: Page, durability: "strict" | "relaxed" | "deferred") {
    await owner.evaluate(() => {
      Object.assign(spied, { durabilities: [], hold: true });
    });
    await write(page, durability);
    const isHeld = () => owner.evaluate(() => spied.held.length === 1);
    const isAnswered = () => page.evaluate(() => answered);
    const durabilities = () => owner.evaluate(() => spied.durabilities);
    const releaseEvent = () =>
      owner.evaluate(() => {
        spied.hold = false;
        for (const hear of spied.held.splice(0)) hear();
      });
    return { isHeld, isAnswered, durabilities, releaseEvent };
  }

  for (const who of ["owner", "follower"] as const) {
    for (const durability of ["strict", "relaxed"] as const) {
      test(`that is ${durability}, of the ${who}, is acknowledged when it is stored with that durability`, async () => {
        const page = who === "owner" ? owner : follower;
        const { isHeld, isAnswered, durabilities, releaseEvent } = await held(page, durability);
        await until(isHeld);
        await page.evaluate(() => user.readState()); // requested later, but answered immediately
        assert.equal(await isAnswered(), false);
        assert.deepEqual(await durabilities(), [durability]);
        await releaseEvent();
        await until(isAnswered);
      });
    }

    test(`that is deferred, of the ${who}, is acknowledged before it is stored`, async () => {
      const page = who === "owner" ? owner : follower;
      const { isHeld, isAnswered, durabilities, releaseEvent } = await held(page, "deferred");
      await until(isAnswered);
      await until(isHeld);
      assert.deepEqual(await durabilities(), ["relaxed"]);
      assert((await page.evaluate(() => user.status().pendingBytes)) > 0);
      await releaseEvent();
      await page.evaluate(() => user.flush());
      assert.equal(await page.evaluate(() => user.status().pendingBytes), 0);
    });
  }
});

// Ways in which a page stops being visible.
const leaving: Record<string, (page: Page, tabs: SharedTabs) => Promise<unknown>> = {
  "is closed": (page) => page.close(),
  "is reloaded": (page) => page.reload(),
  "is left, and kept in the back/forward cache": (page, { site }) =>
    page.goto(`${site.url}elsewhere`),
  "is left for another site": (page) => page.goto("about:blank"),
  "is hidden": async (page, tabs) => {
    await (await tabs.blank()).bringToFront();
    await until(() => page.evaluate(() => user.status().pendingBytes === 0));
  },
};

describe("deferred writes are stored immediately when the page", () => {
  const newTabs = tabsOfOneBrowser();
  for (const thread of ["inline", "worker"] as const) {
    for (const [how, leave] of Object.entries(leaving)) {
      test(`${how} (${thread})`, async (t) => {
        const tabs = await newTabs(t);
        const page = await tabs.tab({ thread });
        await page.bringToFront();
        const engine = thread === "worker" ? page.workers()[0] : page;
        assert(engine !== undefined);
        await page.evaluate(() => user.flush());
        await engine.evaluate(() => {
          // Disables the timer that would store the deferred writes.
          Object.assign(globalThis, { setTimeout: () => 0 });
        });
        await page.evaluate(async () => {
          await Promise.all([1, 2, 3].map(() => user.insert("deferred")));
        });
        assert((await page.evaluate(() => user.status().pendingBytes)) > 0);
        await leave(page, tabs);
        const later = await tabs.tab();
        assert.equal((await later.evaluate(() => user.readState())).rows.length, 3);
      });
    }
  }
});
