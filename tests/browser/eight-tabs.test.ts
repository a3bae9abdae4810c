// Eight tabs of real Chromium write to one store. Each has several writes in flight, and half of
// the writes conflict with each other. Meanwhile owners crash and freeze. No write may be lost or
// applied twice, and the counter must have the right sum.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Page } from "puppeteer-core";
import type { user as User } from "./fixture/tab-page.ts";
import { crash, lifecycle, ownerOf, SharedTabs, until } from "./support/shared-tabs.ts";

declare const user: typeof User; // inside the page

const slotCount = 8;
const entities = Number(process.env["ENTITABLE_ENTITIES"] ?? 400); // per slot
const writes = Math.ceil(entities / 4); // of each kind: writes of three rows, and writes of one row
const deaths = Number(process.env["ENTITABLE_DEATHS"] ?? 2);
const freezes = Number(process.env["ENTITABLE_FREEZES"] ?? 1);

// One of the eight tabs. After a crash a new tab takes its place and does the rest of its work.
class TabSlot {
  readonly tabs: SharedTabs;
  readonly number: number;
  page: Page | undefined; // the page of the current tab
  frozen = false;
  done = false;
  #lives = 0;

  constructor(tabs: SharedTabs, number: number) {
    this.tabs = tabs;
    this.number = number;
  }

  async open(): Promise<Page> {
    this.page ??= await this.tabs.tab();
    return this.page;
  }

  // Returns a description of the tab, which is printed when the test makes no progress.
  async state(): Promise<string> {
    const { page, number, done } = this;
    if (page === undefined) return `${number}: ${done ? "done" : "between two pages"}`;
    const said = page.evaluate(() => ({ ...user.status(), doing: user.currentStep() }));
    const { owner, state, doing } = await said;
    return `${number}: owner ${owner}, ${state}, ${doing}`;
  }

  async work(): Promise<void> {
    const left = { own: writes, logged: writes };
    while (left.own > 0 || left.logged > 0) {
      const name = `tab${this.number}life${++this.#lives}`;
      const page = await this.open();
      await this.tabs.writeConcurrently(page, name, left);
      this.page = undefined;
      assert.deepEqual(this.tabs.problems, []);
      for (const { tab, kind } of this.tabs.reports) if (tab === name) left[kind] -= 1;
      await page.close().catch(() => {}); // the page of a crashed tab cannot be closed
    }
    this.done = true;
  }
}

// Returns the slot whose tab owns the store. Waits until there is an owner.
async function owner(eight: readonly TabSlot[]): Promise<TabSlot> {
  let found: TabSlot | undefined;
  await until(async () => {
    for (const slot of eight) {
      const { page, frozen } = slot;
      if (page === undefined || frozen) continue;
      if ((await ownerOf(page).catch(() => "none")) === "self") found = slot;
    }
    return found !== undefined || eight.every(({ done }) => done);
  });
  return found ?? (eight[0] as TabSlot);
}

async function disturb(
  eight: readonly TabSlot[],
  slot: TabSlot,
  what: "crash" | "freeze",
): Promise<void> {
  const { page, tabs } = slot;
  if (page === undefined) return;
  if (what === "crash") {
    await crash(page);
    return;
  }
  slot.frozen = true;
  await lifecycle(page, "frozen");
  const before = tabs.reports.length;
  const others = eight.filter((other) => other !== slot);
  const goOn = () => tabs.reports.length > before + 40 || others.every(({ done }) => done);
  await until(goOn, undefined, async () => {
    const states = await Promise.all(others.map((other) => other.state()));
    return [`${tabs.reports.length - before} reports`, ...states, ...tabs.problems].join("\n");
  });
  await lifecycle(page, "active");
  slot.frozen = false;
}

describe(`eight tabs write ${entities} entities each`, () => {
  const timeout = 120_000 + entities * 300;
  test(`while owners crash ${deaths} times and freeze ${freezes} times`, { timeout }, async (t) => {
    const tabs = await SharedTabs.start();
    t.after(() => tabs.stop());
    const eight = Array.from({ length: slotCount }, (_, number) => new TabSlot(tabs, number));
    await Promise.all(eight.map((slot) => slot.open()));
    const working = Promise.all(eight.map((slot) => slot.work()));
    working.catch(() => {});

    const events = deaths + freezes;
    for (let event = 1; event <= events; ++event) {
      const due = (event / (events + 1)) * slotCount * writes * 2;
      await Promise.race([working, until(() => tabs.reports.length >= due, timeout)]);
      const freezesNow = Math.floor((event * freezes) / events);
      const froze = Math.floor(((event - 1) * freezes) / events);
      await disturb(eight, await owner(eight), freezesNow > froze ? "freeze" : "crash");
    }
    await working;

    const found = await tabs.check(await tabs.tab());
    assert(found.rows.length >= slotCount * writes * 4);
    t.diagnostic(`${found.rows.length} rows, the counter at ${found.counter}`);
  });
});
