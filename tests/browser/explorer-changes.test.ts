// Changes in <table-explorer>: rows that this page or another tab has changed, and the tab
// "Changes" with the commits of the store and its live queries.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { BrowserContext, Locator, Page } from "playwright-core";
import type { Store } from "../../web/src/types.ts";
import { PagesCheck } from "./support/axe.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { explorerPage } from "./support/explorer-page.ts";
import { servePackage } from "./support/package-site.ts";
import { screenshot } from "./support/screenshot.ts";
import type { Site } from "./support/server.ts";
import { TabPool } from "./support/tab-pool.ts";

const policy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'";

// Opens the store that the query names: in memory, if it names none. All tabs have the same tables.
// Records the rows that flash: on a busy machine, an animation may end before a test looks for it.
const script = `
import { openStore } from "/dist/index.js";
import "/dist/explorer/index.js";
const options = Object.fromEntries(new URLSearchParams(location.search));
const store = await openStore({ persistence: options.name ? "indexeddb" : "memory", ...options });
const lamps = store.table("lamps");
await store.serviceClient().createTable("chairs");
await store.serviceClient().createTable("lamps");
if ((await lamps.count()) === 0) {
  const lamp = (i) => ({ partitionKey: "desk", rowKey: String(2 * i).padStart(4, "0"), name: "Lamp " + i, stock: i % 7 });
  for (let i = 0; i < 300; i += 100)
    await lamps.submitTransaction(Array.from({ length: 100 }, (_, n) => ["create", lamp(i + n)]));
}
window.store = store;
window.flashes = [];
const { animate } = Element.prototype;
Element.prototype.animate = function (...args) {
  const animation = animate.apply(this, args);
  const colours = animation.effect.getKeyframes().map(({ backgroundColor }) => backgroundColor);
  window.flashes.push({ rowKey: this.cells[1].textContent, colours });
  return animation;
};
document.querySelector("table-explorer").store = store;
`;

// Variables of the page.
declare const store: Store;
declare const flashes: { rowKey: string; colours: unknown[] }[];

let profile: Profile;
let context: BrowserContext;
let site: Site;
let tabs: TabPool;
const pagesCheck = new PagesCheck();

before(async () => {
  profile = await newProfile();
  context = await profile.open();
  tabs = new TabPool(context);
  const override = explorerPage(script);
  const headers = { "content-security-policy": policy };
  site = await servePackage({ headers, cachesFiles: true, override });
});

after(async () => {
  await context?.close();
  await site?.close();
  await profile?.remove();
});

async function openPage(query = ""): Promise<Page> {
  const page = await tabs.open(`${site.url}${query}`);
  await status(page).filter({ hasText: "shown" }).waitFor();
  return page;
}

const explorer = (page: Page): Locator => page.locator("table-explorer");
const status = (page: Page): Locator => explorer(page).locator(".foot [role=status]");
const grid = (page: Page): Locator => explorer(page).locator(".grid");
const rowOf = (page: Page, rowKey: string): Locator =>
  explorer(page)
    .locator("tbody tr[data-row]")
    .filter({ has: page.locator("td.key", { hasText: new RegExp(`^${rowKey}$`) }) });
const commits = (page: Page): Locator => explorer(page).locator(".commits > li");
const button = (page: Page, name: string | RegExp): Locator =>
  explorer(page).getByRole("button", { name });

async function put(page: Page, rowKey: string, stock: number, table = "lamps"): Promise<void> {
  await page.evaluate(
    async ([table, rowKey, stock]) => {
      const entity = { partitionKey: "desk", rowKey, stock };
      await store.table(table).upsertEntity(entity, "Merge");
    },
    [table, rowKey, stock] as const,
  );
}

async function remove(page: Page, rowKey: string): Promise<void> {
  await page.evaluate((key) => store.table("lamps").deleteEntity("desk", key), rowKey);
}

async function showsStock(page: Page, rowKey: string, stock: number): Promise<void> {
  await rowOf(page, rowKey)
    .locator("td:nth-child(4)", { hasText: new RegExp(`^${stock}$`) })
    .waitFor();
}

// Returns the colours of each animation of a row since the page was opened: where it began and
// ended.
async function flashesOf(page: Page, rowKey: string): Promise<unknown[]> {
  return await page.evaluate(
    (rowKey) => flashes.filter((flash) => flash.rowKey === rowKey).map(({ colours }) => colours),
    rowKey,
  );
}

async function openChanges(page: Page): Promise<void> {
  await explorer(page).getByRole("tab", { name: "Changes" }).click();
  await explorer(page).locator(".commits-scroll").waitFor();
  // The first commit that is shown is one after the feed was opened.
  await page.evaluate(async () => {
    const feed = store.changes();
    await feed.ready;
    await feed.return();
  });
}

describe("rows that change", () => {
  test("flash; the others, the scroll position, the focus and selected text stay", async () => {
    const page = await openPage();
    await grid(page).evaluate((element) => element.scrollTo(0, 2000));
    await rowOf(page, "0130").waitFor();
    await rowOf(page, "0130").evaluate((row: HTMLTableRowElement) => {
      row.focus({ preventScroll: true });
      Object.assign(window, { kept: row });
      getSelection()?.selectAllChildren(row.cells[2] as Element);
    });
    await put(page, "0132", 1000);
    await showsStock(page, "0132", 1000);
    assert.deepEqual(await flashesOf(page, "0132"), [["var(--_flash)", "transparent"]]);
    assert.deepEqual(await flashesOf(page, "0130"), []);
    assert.equal(await grid(page).evaluate((element) => element.scrollTop), 2000);
    const isFocusKept = () =>
      page.evaluate(() => {
        const { kept } = window as unknown as { kept: Element };
        return document.querySelector("table-explorer")?.shadowRoot?.activeElement === kept;
      });
    assert.equal(await isFocusKept(), true);
    assert.equal(await page.evaluate(() => String(getSelection())), "Lamp 65");
    // A row is inserted above: the row at the top stays where it is.
    const topOf = (rowKey: string) =>
      rowOf(page, rowKey).evaluate((row) => Math.round(row.getBoundingClientRect().top));
    const before = await topOf("0130");
    await put(page, "0001", 1);
    await status(page).filter({ hasText: "201 entities shown" }).waitFor();
    assert.equal(await topOf("0130"), before);
    assert.equal(await isFocusKept(), true);
    assert.equal(await rowOf(page, "0130").getAttribute("aria-rowindex"), "68");
    await remove(page, "0001");
    await status(page).filter({ hasText: "200 entities shown" }).waitFor();
    assert.equal(await topOf("0130"), before);
    await tabs.leave(page);
  });

  test("do not move or fade if the user prefers reduced motion", async () => {
    const page = await openPage();
    await page.emulateMedia({ reducedMotion: "reduce" });
    await put(page, "0002", 1000);
    await showsStock(page, "0002", 1000);
    assert.deepEqual(await flashesOf(page, "0002"), [["var(--_flash)", "var(--_flash)"]]);
    await page.emulateMedia({ reducedMotion: null });
    await tabs.leave(page);
  });

  test("appear in the visible range, and vanish, with the counts of the tables", async () => {
    const page = await openPage();
    await put(page, "0003", 77);
    await showsStock(page, "0003", 77);
    assert.equal((await flashesOf(page, "0003")).length, 1);
    await explorer(page).locator("nav [aria-current] .rows", { hasText: "301" }).waitFor();
    await remove(page, "0003");
    await rowOf(page, "0003").waitFor({ state: "detached" });
    await explorer(page).locator("nav [aria-current] .rows", { hasText: "300" }).waitFor();
    // Rows behind the shown page do not appear; the next page has them.
    await put(page, "0501", 5);
    await put(page, "0000", 78);
    await showsStock(page, "0000", 78);
    await status(page).filter({ hasText: "200 entities shown, and there are more." }).waitFor();
    await button(page, "Next page").click();
    await status(page).filter({ hasText: "301 entities shown, that is all." }).waitFor();
    // Now that all rows are shown, one behind the last appears, too.
    await put(page, "9999", 5);
    await status(page).filter({ hasText: "302 entities shown, that is all." }).waitFor();
    await tabs.leave(page);
  });

  test("enter and leave the query that is shown, and have new columns", async () => {
    const page = await openPage();
    await page.getByRole("combobox", { name: "Filter" }).fill("stock gt 100");
    await page.keyboard.press("Escape");
    await button(page, "Run").click();
    await status(page).filter({ hasText: "No entity matches." }).waitFor();
    await put(page, "0004", 101);
    await showsStock(page, "0004", 101);
    await page.evaluate(() =>
      store.table("lamps").updateEntity({ partitionKey: "desk", rowKey: "0004", colour: "red" }),
    );
    await rowOf(page, "0004").locator("td", { hasText: "red" }).waitFor();
    await explorer(page).locator("th", { hasText: "colour" }).waitFor();
    await put(page, "0004", 1);
    await status(page).filter({ hasText: "No entity matches." }).waitFor();
    // What the user is typing is not run, and not lost.
    const filter = page.getByRole("combobox", { name: "Filter" });
    await filter.fill("stock gt 10");
    await put(page, "0006", 50);
    await put(page, "0008", 500);
    await showsStock(page, "0008", 500);
    assert.equal(await explorer(page).locator("tbody tr[data-row]").count(), 1);
    assert.equal(await filter.inputValue(), "stock gt 10");
    await tabs.leave(page);
  });

  test("are shown when many of them change at once, and with a filter of many comparisons", async () => {
    const page = await openPage();
    const update = (stock: number) =>
      page.evaluate(async (stock) => {
        const keys = Array.from({ length: 100 }, (_, i) => String(2 * i).padStart(4, "0"));
        await store
          .table("lamps")
          .submitTransaction(
            keys.map((rowKey) => ["update", { partitionKey: "desk", rowKey, stock }, "Merge"]),
          );
      }, stock);
    await update(444);
    await showsStock(page, "0000", 444);
    await showsStock(page, "0010", 444);
    const comparisons = Array.from({ length: 15 }, (_, i) => `stock ne ${1000 + i}`);
    await explorer(page).evaluate(
      (element: HTMLElement & { runQuery?(filter: string): unknown }, filter) =>
        element.runQuery?.(filter),
      comparisons.join(" and "),
    );
    await status(page).filter({ hasText: "200 entities shown" }).waitFor();
    await put(page, "0000", 1001);
    await rowOf(page, "0000").waitFor({ state: "detached" });
    await put(page, "0000", 7);
    await showsStock(page, "0000", 7);
    await tabs.leave(page);
  });

  test("move the focus to the next row if the focused one is deleted, or to the button", async () => {
    const page = await openPage();
    const focusedRow = () =>
      page.evaluate(
        () =>
          document.querySelector("table-explorer")?.shadowRoot?.activeElement?.textContent ?? "",
      );
    await rowOf(page, "0002").evaluate((row: HTMLElement) => row.focus());
    await remove(page, "0002");
    await rowOf(page, "0002").waitFor({ state: "detached" });
    assert.match(await focusedRow(), /^desk0004/);
    await explorer(page).evaluate((element: HTMLElement & { runQuery?(filter: string): unknown }) =>
      element.runQuery?.("RowKey eq '0004'"),
    );
    await status(page).filter({ hasText: "1 entity shown" }).waitFor();
    await rowOf(page, "0004").evaluate((row: HTMLElement) => row.focus());
    await remove(page, "0004");
    await status(page).filter({ hasText: "No entity matches." }).waitFor();
    assert.equal(await focusedRow(), "Run");
    await tabs.leave(page);
  });

  test("do not disturb an entity that is being edited", async () => {
    const page = await openPage();
    await rowOf(page, "0002").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Value").nth(1).fill("55");
    await put(page, "0002", 66);
    await put(page, "0003", 77);
    await explorer(page).locator("tbody td", { hasText: /^66$/ }).waitFor();
    assert.equal(await dialog.getByLabel("Value").nth(1).inputValue(), "55");
    await page.keyboard.press("Enter");
    await dialog.getByText("412 UpdateConditionNotSatisfied").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await tabs.leave(page);
  });

  test("keep the scroll position after an edit in the element itself", async () => {
    const page = await openPage();
    await grid(page).evaluate((element) => element.scrollTo(0, 2000));
    await rowOf(page, "0130").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Value").nth(1).fill("5555");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await showsStock(page, "0130", 5555);
    assert.equal((await flashesOf(page, "0130")).length, 1);
    assert.equal(await grid(page).evaluate((element) => element.scrollTop), 2000);
    await tabs.leave(page);
  });

  test("show that another tab has deleted the table, and created it again", async () => {
    const page = await openPage();
    await page.evaluate(() => store.serviceClient().deleteTable("lamps"));
    await explorer(page).getByRole("alert").filter({ hasText: "404 TableNotFound" }).waitFor();
    await explorer(page).locator("nav button", { hasText: "lamps" }).waitFor({ state: "detached" });
    await page.evaluate(() => store.serviceClient().createTable("lamps"));
    await status(page).filter({ hasText: "No entity matches." }).waitFor();
    await put(page, "1", 12);
    await rowOf(page, "1").waitFor();
    await tabs.leave(page);
  });
});

describe("tables that change", () => {
  test("are shown after the only one was deleted, and the list keeps its elements", async () => {
    const page = await openPage();
    const item = explorer(page).locator("nav button[data-table=chairs]");
    await item.evaluate((button) => Object.assign(window, { kept: button }));
    await put(page, "1", 1, "chairs"); // not the shown table
    await item.locator(".rows", { hasText: "1" }).waitFor();
    assert.equal(
      await item.evaluate((button) => (window as unknown as { kept: Element }).kept === button),
      true,
    );
    await page.evaluate(async () => {
      for (const name of ["chairs", "lamps"]) await store.serviceClient().deleteTable(name);
    });
    await explorer(page).getByText("This store has no tables yet.").waitFor();
    await page.evaluate(() => store.serviceClient().createTable("lamps"));
    await put(page, "1", 12);
    await rowOf(page, "1").waitFor();
    await tabs.leave(page);
  });

  test("appear in a store that had none", async () => {
    const page = await openPage();
    await page.evaluate(async () => {
      const { openStore } = await import("/dist/index.js" as string);
      const other = await openStore({ persistence: "memory" });
      Object.assign(window, { store: other });
      Object.assign(document.querySelector("table-explorer") as object, { store: other });
    });
    await explorer(page).getByText("This store has no tables yet.").waitFor();
    await page.waitForTimeout(500);
    await page.evaluate(() => store.serviceClient().createTable("stools"));
    await explorer(page).locator("nav button", { hasText: "stools" }).waitFor();
    await status(page).filter({ hasText: "No entity matches." }).waitFor();
    await tabs.leave(page);
  });
});

describe("rows and commits of other tabs", () => {
  test("are shown in the tab that runs the store, in others, and after a takeover", async () => {
    const owner = await context.newPage();
    await owner.goto(`${site.url}?name=tabs`);
    await status(owner).filter({ hasText: "shown" }).waitFor();
    const follower = await openPage("?name=tabs");
    const owners = () =>
      Promise.all([owner, follower].map((page) => page.evaluate(() => store.status.owner)));
    assert.deepEqual(await owners(), ["self", "other-tab"]);
    await openChanges(follower);
    await put(owner, "0002", 501);
    await put(follower, "0004", 502);
    for (const stock of [501, 502]) {
      await explorer(owner)
        .locator("tbody td", { hasText: `${stock}` })
        .waitFor();
    }
    await commits(follower).nth(1).waitFor();
    await explorer(follower).getByRole("tab", { name: "Entities" }).click();
    await showsStock(follower, "0002", 501);
    await showsStock(follower, "0004", 502);
    await owner.close();
    await put(follower, "0006", 503);
    await showsStock(follower, "0006", 503);
    await openChanges(follower);
    await button(follower, "Clear").click();
    await put(follower, "0008", 504);
    await commits(follower).filter({ hasText: "1 update" }).waitFor();
    await tabs.leave(follower);
  });

  test("are shown with a store in a worker", async () => {
    const page = await openPage("?name=worker&thread=worker");
    await put(page, "0002", 601);
    await showsStock(page, "0002", 601);
    await openChanges(page);
    await put(page, "0004", 602);
    await commits(page).filter({ hasText: "1 update" }).waitFor();
    await tabs.leave(page);
  });
});

describe("the tab with the changes", () => {
  test("shows each commit, and its rows before and after it", async () => {
    const page = await openPage();
    await openChanges(page);
    await explorer(page).getByText("No commits yet.").waitFor();
    await put(page, "0002", 70);
    await page.evaluate(async () => {
      await store.table("lamps").submitTransaction([
        ["create", { partitionKey: "desk", rowKey: "0003", name: "New", stock: 1 }],
        ["update", { partitionKey: "desk", rowKey: "0004", stock: 71 }, "Merge"],
        ["delete", { partitionKey: "desk", rowKey: "0006" }],
      ]);
      await store.serviceClient().createTable("stools");
    });
    await commits(page).nth(2).waitFor();
    const [created, transaction, update] = [0, 1, 2].map((index) => commits(page).nth(index));
    assert.match((await created?.textContent()) ?? "", /^#\d+.*localstoolstable created$/);
    assert.match(
      (await transaction?.textContent()) ?? "",
      /^#\d+\d\d:\d\d:\d\d\.\d\d\dlocallamps1 insert1 update1 delete$/,
    );
    assert.match((await update?.textContent()) ?? "", /lamps1 update$/);
    await transaction?.locator("summary").click();
    const rows = transaction?.locator(".changed-rows > li");
    await rows?.nth(2).waitFor();
    assert.deepEqual(await rows?.allTextContents(), [
      "insert lamps ('desk', '0003')PropertyAfternameNewstock1",
      "update lamps ('desk', '0004')PropertyBeforeAfterstock271",
      "delete lamps ('desk', '0006')PropertyBeforenameLamp 3stock3",
    ]);
    await screenshot(page, "explorer-changes");
    await transaction?.locator("summary").click();
    await rows?.first().waitFor({ state: "detached" });
    await created?.locator("summary").click();
    await created?.getByText("No row has changed.").waitFor();
    await tabs.leave(page);
  });

  test("pauses, clears, and shows the commits of one table", async () => {
    const page = await openPage();
    await openChanges(page);
    await put(page, "0002", 70);
    await commits(page).first().waitFor();
    await button(page, "Pause").click();
    await put(page, "0002", 71);
    await put(page, "1", 72, "chairs");
    await explorer(page).locator(".missed", { hasText: "2 new commits" }).waitFor();
    assert.equal(await commits(page).count(), 1);
    assert.equal(await button(page, "Pause").getAttribute("aria-pressed"), "true");
    await button(page, "Pause").click();
    await commits(page).nth(2).waitFor();
    await explorer(page).getByLabel("Table", { exact: true }).selectOption("chairs");
    assert.equal(await commits(page).count(), 1);
    assert.match((await commits(page).textContent()) ?? "", /chairs1 insert$/);
    await put(page, "2", 72, "chairs");
    await put(page, "0002", 73);
    await commits(page).nth(1).waitFor();
    await explorer(page).getByLabel("Table", { exact: true }).selectOption("All");
    await commits(page).nth(4).waitFor();
    await button(page, "Clear").click();
    assert.equal(await commits(page).count(), 0);
    await put(page, "0002", 74);
    await commits(page).first().waitFor();
    await button(page, "Pause").click();
    await button(page, "Clear").click();
    assert.equal(await commits(page).count(), 0, "also while it is paused");
    await tabs.leave(page);
  });

  test("keeps 500 commits, and an open one open", async () => {
    const page = await openPage();
    await openChanges(page);
    const putMany = (count: number) =>
      page.evaluate(async (count) => {
        const entity = { partitionKey: "desk", rowKey: "0002" };
        for (let stock = 0; stock < count; ++stock)
          await store.table("lamps").updateEntity({ ...entity, stock }, "Merge");
      }, count);
    await putMany(10);
    await commits(page).nth(9).waitFor();
    await commits(page).nth(0).locator("summary").click();
    await commits(page).nth(0).locator(".changed-rows").waitFor();
    await putMany(480);
    await commits(page).nth(489).waitFor();
    await commits(page).nth(480).locator(".changed-rows").waitFor();
    await putMany(600);
    await page.waitForFunction(
      () =>
        document.querySelector("table-explorer")?.shadowRoot?.querySelector("details[open]") ===
        null,
    );
    assert.equal(await commits(page).count(), 500);
    await tabs.leave(page);
  });

  test("shows fifty rows at a time", async () => {
    const page = await openPage();
    await openChanges(page);
    await page.evaluate(async () => {
      const keys = Array.from({ length: 100 }, (_, i) => String(i).padStart(4, "0"));
      await store
        .table("lamps")
        .submitTransaction(
          keys.map((rowKey) => ["upsert", { partitionKey: "wall", rowKey, stock: 1 }]),
        );
    });
    await commits(page).first().locator("summary").click();
    const rows = commits(page).locator(".changed-rows > li");
    await rows.nth(49).waitFor();
    assert.equal(await rows.count(), 50);
    await button(page, "Show 50 more").press("Enter");
    await rows.nth(99).waitFor();
    const focused = await rows.nth(50).evaluate((row) => row.matches(":focus"));
    assert.equal(focused, true);
    await tabs.leave(page);
  });

  test("shows the open live queries, their hits and their last delta", async () => {
    const page = await openPage();
    await openChanges(page);
    await explorer(page).getByText("No live query of this store is open.").waitFor();
    await page.evaluate(async () => {
      const live = store.table("lamps").live({ queryOptions: { filter: "stock gt 100" } });
      const observed = store.observe((read) => read.count(store.table("chairs")));
      await Promise.all([live.ready, observed.ready]);
      Object.assign(window, { live, observed });
    });
    const queries = explorer(page).locator(".queries tbody tr");
    await queries.nth(1).waitFor();
    const [live, observed] = [queries.nth(0), queries.nth(1)];
    assert.match((await live.textContent()) ?? "", /^lamps livefilter stock gt 100.*00none$/);
    assert.match((await observed.textContent()) ?? "", /^chairs observe.*1run again$/);
    await live.getByText("tests every write to the table lamps").waitFor();
    await put(page, "0002", 200);
    await live.locator(".delta", { hasText: /^#\d+: 1 insert$/ }).waitFor();
    assert.equal(await live.locator(".hits").textContent(), "1");
    await put(page, "0002", 201);
    await live.locator(".delta", { hasText: /^#\d+: 1 update$/ }).waitFor();
    assert.equal(await live.locator(".hits").textContent(), "2");
    await put(page, "1", 1, "chairs");
    await observed.locator(".hits", { hasText: "2" }).waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await commits(page).first().locator("summary").click();
      assert.deepEqual(await pagesCheck.allProblems(page), [], colorScheme);
      await screenshot(page, `explorer-changes-queries-${colorScheme}`, true);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    await screenshot(page, "explorer-changes-phone", true);
    await page.evaluate(() => {
      const { live, observed } = window as unknown as Record<string, { close(): void }>;
      live?.close();
      observed?.close();
    });
    await explorer(page).getByText("No live query of this store is open.").waitFor();
    await tabs.leave(page);
  });

  test("can be used with the keyboard only", async () => {
    const page = await openPage();
    const selected = explorer(page).locator("[role=tab][aria-selected=true]");
    await explorer(page).getByRole("tab", { name: "Entities" }).focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await selected.textContent(), "Changes");
    await page.keyboard.press("ArrowRight");
    assert.equal(await selected.textContent(), "Entities");
    await page.keyboard.press("End");
    await openChanges(page);
    await put(page, "0002", 70);
    await commits(page).first().waitFor();
    const stops: unknown[] = [];
    for (let stop = 0; stop < 5; ++stop) {
      await page.keyboard.press("Tab");
      stops.push(
        await page.evaluate(() => {
          const { activeElement } = document.querySelector("table-explorer")?.shadowRoot ?? {};
          return activeElement?.getAttribute("aria-label") ?? activeElement?.textContent;
        }),
      );
    }
    assert.deepEqual(stops.slice(1, 4), ["Pause", "Clear", "Commits"]);
    await page.keyboard.press("Enter");
    await commits(page).first().locator(".changed-rows").waitFor();
    await tabs.leave(page);
  });

  test("says that the feed has a gap, and goes on", async () => {
    const page = await openPage();
    await openChanges(page);
    await put(page, "0002", 70);
    await commits(page).first().waitFor();
    await page.evaluate(async () => store.restore(await store.snapshot()));
    await explorer(page).locator(".gap", { hasText: "FeedTruncated" }).waitFor();
    await openChanges(page);
    await put(page, "0002", 71);
    await commits(page).nth(2).waitFor();
    assert.match((await commits(page).nth(0).textContent()) ?? "", /1 update$/);
    assert.match((await commits(page).nth(1).textContent()) ?? "", /Commits may be missing/);
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await screenshot(page, "explorer-changes-gap");
    await tabs.leave(page);
  });

  test("says that the store is closed, and follows another store", async () => {
    const page = await openPage();
    await openChanges(page);
    await put(page, "0002", 70);
    await commits(page).first().waitFor();
    await page.evaluate(() => store.close());
    await explorer(page).getByText("The store is closed.").waitFor();
    assert.equal(await commits(page).count(), 1, "what was read stays");
    await page.evaluate(async () => {
      const { openStore } = await import("/dist/index.js" as string);
      const other = await openStore({ persistence: "memory" });
      await other.serviceClient().createTable("lamps");
      Object.assign(window, { store: other });
      Object.assign(document.querySelector("table-explorer") as object, { store: other });
    });
    await explorer(page).getByText("No commits yet.").waitFor();
    await openChanges(page);
    await put(page, "0002", 70);
    await commits(page).first().waitFor();
    await tabs.leave(page);
  });

  test("goes on after the element was moved, and ends the feeds when it is removed", async () => {
    const page = await openPage();
    await page.evaluate(() => {
      const open = store.changes.bind(store);
      const feeds = new Set();
      store.changes = (options) => {
        const feed = open(options);
        feeds.add(feed);
        const close = feed.return.bind(feed);
        feed.return = () => {
          feeds.delete(feed);
          return close();
        };
        return feed;
      };
      Object.assign(window, { feeds });
      const element = document.querySelector("table-explorer") as HTMLElement & { store: unknown };
      element.store = undefined;
      element.store = store;
    });
    await openChanges(page);
    const feedCount = () =>
      page.evaluate(() => (window as unknown as { feeds: Set<unknown> }).feeds.size);
    assert.equal(await feedCount(), 2);
    await explorer(page).evaluate((element) => document.querySelector("main")?.append(element));
    await put(page, "0002", 70);
    await commits(page).first().waitFor();
    assert.equal(await feedCount(), 2);
    await page.evaluate(() => document.querySelector("table-explorer")?.remove());
    assert.equal(await feedCount(), 0);
    await tabs.leave(page);
  });

  test("opens no feed if the element is removed while it reads its first rows", async () => {
    const page = await openPage();
    await page.evaluate(async () => {
      const feeds: unknown[] = [];
      const table = store.table.bind(store);
      const changes = store.changes.bind(store);
      const element = document.querySelector("table-explorer") as HTMLElement & { store: unknown };
      element.store = undefined;
      store.changes = (options) => {
        const feed = changes(options);
        feeds.push(feed);
        return feed;
      };
      const isRead = new Promise<void>((resolve) => {
        store.table = ((name: string) => {
          const result = table(name);
          const explain = result.explain.bind(result);
          result.explain = async (options) => {
            element.remove();
            const plan = await explain(options);
            resolve();
            return plan;
          };
          return result;
        }) as Store["table"];
      });
      element.store = store;
      await isRead;
      Object.assign(window, { feeds });
    });
    await page.waitForTimeout(300);
    assert.equal(
      await page.evaluate(() => (window as unknown as { feeds: unknown[] }).feeds.length),
      0,
    );
    await tabs.leave(page);
  });

  test("no page printed or threw anything", () => assert.deepEqual(tabs.problems.splice(0), []));
});
