// The tab "Sync" of <table-explorer>, in Chromium, with a server as the remote: what waits, the
// buttons that decide about it, and the switches of a network that fails.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { BrowserContext, Locator, Page } from "playwright-core";
import type { Sync, SyncWrite } from "../../web/src/start-sync/types.ts";
import type { Store } from "../../web/src/types.ts";
import { PagesCheck } from "./support/axe.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { explorerPage } from "./support/explorer-page.ts";
import { servePackage } from "./support/package-site.ts";
import { screenshot } from "./support/screenshot.ts";
import type { Site } from "./support/server.ts";
import { until } from "./support/shared-tabs.ts";
import { RemoteServer } from "./support/synced-pages.ts";
import { TabPool } from "./support/tab-pool.ts";

// Syncs two tables of a store in memory. A conflict of `chairs` is parked while `parks` is true.
// The remote is read only when the page asks for it, so that each fault meets the request that a
// test means.
const script = `
import { openStore } from "/dist/index.js";
import { startSync } from "/dist/start-sync/index.js";
import { faultyFetch } from "/dist/testing/index.js";
import "/dist/explorer/index.js";
const url = new URLSearchParams(location.search).get("remote");
const store = await openStore({ persistence: "memory" });
const network = faultyFetch();
window.parks = true;
const sync = await startSync(store, {
  remote: { url, fetch: network },
  tables: { lamps: {}, chairs: { conflict: () => (window.parks ? "park" : "local") } },
  schedule: { minMs: 3600000 },
});
await sync.now();
const element = document.querySelector("table-explorer");
// Shows the sync with other members in place of its own.
const show = (members) => {
  const get = (_, name) => {
    const member = members[name] ?? sync[name];
    return typeof member === "function" ? member.bind(sync) : member;
  };
  element.sync = new Proxy(sync, { get });
};
Object.assign(window, { store, sync, network, show });
Object.assign(element, { store, sync });
`;

/** The variables of the page. */
interface Application {
  store: Store;
  sync: Sync;
  parks: boolean;
  show: (members: Partial<Sync>) => void;
}

let profile: Profile;
let context: BrowserContext;
let site: Site;
let tabs: TabPool;
let remote: RemoteServer;
const pagesCheck = new PagesCheck();

before(async () => {
  remote = await RemoteServer.start();
  profile = await newProfile();
  context = await profile.open();
  tabs = new TabPool(context);
  const override = explorerPage(script);
  const policy = `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self' http://127.0.0.1:*`;
  const headers = { "content-security-policy": policy };
  site = await servePackage({ headers, cachesFiles: true, override });
});

after(async () => {
  await context?.close();
  await profile?.remove();
  await site?.close();
  await remote?.close();
});

const tables = ["lamps", "chairs"] as const;
type Table = (typeof tables)[number];
const entityOf = (rowKey: string, stock: number) => ({ partitionKey: "desk", rowKey, stock });

/** Opens the page with the tab "Sync", and with one lamp and one chair at the remote. */
async function openSync(): Promise<Page> {
  for (const table of tables) {
    const client = remote.store.table(table);
    await client.createTable();
    for await (const { partitionKey, rowKey } of client.listEntities())
      await client.deleteEntity(String(partitionKey), String(rowKey));
    await client.upsertEntity({ ...entityOf("1", 1), name: "Arc" }, "Replace");
  }
  const page = await tabs.open(`${site.url}?remote=${encodeURIComponent(remote.url)}`);
  await explorer(page).getByRole("tab", { name: "Sync" }).click();
  await figure(page, "lamps", "Versions compared")
    .filter({ hasText: /^.*all since/ })
    .waitFor();
  return page;
}

const explorer = (page: Page): Locator => page.locator("table-explorer");
const button = (page: Page, name: string | RegExp): Locator =>
  explorer(page).getByRole("button", { name });
const figure = (page: Page, table: Table, name: string): Locator =>
  explorer(page).locator(`[data-table=${table}] [data-figure="${name}"]`);
const list = (page: Page, title: string): Locator =>
  explorer(page).locator(".item-list", { has: page.locator(".title", { hasText: title }) });
const items = (page: Page, title: string): Locator => list(page, title).locator("ol > li");
const summary = (page: Page): Locator => explorer(page).locator(".sync [role=status]");

async function put(page: Page, rowKey: string, stock: number, table: Table = "lamps") {
  await page.evaluate(
    async ([table, entity]) => {
      const { store } = globalThis as unknown as Application;
      await store.table(table).upsertEntity(entity, "Merge");
    },
    [table, entityOf(rowKey, stock)] as const,
  );
}

const stockOf = async (rowKey: string, table: Table = "lamps"): Promise<unknown> =>
  (
    await remote.store
      .table(table)
      .getEntity("desk", rowKey)
      .catch(() => ({ stock: undefined }))
  ).stock;

/** Both sides change an entity, and then sync. */
async function conflict(page: Page, table: Table): Promise<void> {
  await button(page, "Pause").click();
  await summary(page).filter({ hasText: "Paused" }).waitFor();
  await put(page, "1", 10, table);
  await remote.store.table(table).updateEntity({ ...entityOf("1", 20), sold: 3n });
  await items(page, "Outbox").waitFor();
  await button(page, "Resume").click();
}

describe('the tab "Sync"', () => {
  test("shows the next sync also if the reads of the last one never end", async () => {
    const page = await openSync();
    await page.evaluate(() => {
      const { show } = globalThis as unknown as Application;
      async function* never(): AsyncGenerator<SyncWrite> {
        yield await new Promise<SyncWrite>(() => {});
      }
      show({ pending: never });
    });
    await put(page, "7", 7);
    await page.evaluate(() => {
      const { show, sync } = globalThis as unknown as Application;
      sync.pause();
      show({});
    });
    await put(page, "8", 8);
    await items(page, "Outbox").filter({ hasText: "8" }).waitFor();
    await tabs.leave(page);
  });

  test("counts what it lists, if it lists all", async () => {
    const page = await openSync();
    await page.evaluate(() => {
      const { show, sync } = globalThis as unknown as Application;
      show({ status: { ...sync.status, pending: 10 } }); // of an earlier moment
    });
    await list(page, "Outbox").getByText("The remote has every write.").waitFor();
    await tabs.leave(page);
  });

  test("reads again from time to time, because what was compared becomes too old", async () => {
    const page = await openSync();
    await page.clock.install();
    await page.evaluate(() => {
      const { show, sync } = globalThis as unknown as Application;
      const result: { comparedSince: Date | undefined } = { comparedSince: new Date() };
      const coverage = async () =>
        (await sync.coverage()).map((table) => ({ ...table, ...result }));
      Object.assign(globalThis, { becomeTooOld: () => (result.comparedSince = undefined) });
      show({ coverage });
    });
    await page.clock.runFor(1000);
    await figure(page, "lamps", "Versions compared").filter({ hasText: "all since" }).waitFor();
    await page.evaluate(() => {
      (globalThis as unknown as { becomeTooOld(): void }).becomeTooOld();
    });
    await page.clock.runFor(70_000);
    await figure(page, "lamps", "Versions compared").filter({ hasText: "none" }).waitFor();
    await tabs.leave(page);
  });

  test("exists while the element has a sync", async () => {
    const page = await openSync();
    await explorer(page).evaluate((element) => Object.assign(element, { sync: undefined }));
    await explorer(page).getByRole("tab", { name: "Sync" }).waitFor({ state: "detached" });
    assert.equal(
      await explorer(page).locator("[role=tab][aria-selected=true]").textContent(),
      "Entities",
    );
    await page.evaluate(() => {
      const { sync } = globalThis as unknown as Application;
      Object.assign(document.querySelector("table-explorer") as object, { sync });
    });
    await explorer(page).getByRole("tab", { name: "Sync" }).click();
    await figure(page, "chairs", "Phase").waitFor();
    await explorer(page).getByRole("region", { name: "Cost" }).getByText("$0.01").waitFor();
    await tabs.leave(page);
  });

  test("exists only while the element has a store", async () => {
    const page = await openSync();
    const set = (properties: object) =>
      explorer(page).evaluate((element, properties) => {
        const { store, sync } = globalThis as unknown as Application;
        const known = { store, sync };
        for (const [name, isSet] of Object.entries(properties))
          Object.assign(element, { [name]: isSet ? known[name as "store"] : undefined });
      }, properties);
    await set({ store: false });
    await explorer(page).getByRole("tab", { name: "Sync" }).waitFor({ state: "detached" });
    await set({ sync: false });
    await set({ sync: true });
    await set({ store: true });
    await explorer(page).getByRole("tab", { name: "Sync" }).click();
    await figure(page, "chairs", "Phase").waitFor();
    await tabs.leave(page);
  });

  test("does not appear if the sync was taken away while its script loaded", async () => {
    const page = await context.newPage();
    let load = () => {};
    const isHeld = new Promise<void>((resolve) => {
      void page.route("**/sync-tab.js", async (route) => {
        resolve();
        await new Promise<void>((release) => {
          load = release;
        });
        await route.continue();
      });
    });
    await page.goto(`${site.url}?remote=${encodeURIComponent(remote.url)}`, {
      waitUntil: "commit",
    });
    await isHeld;
    await explorer(page).evaluate((element) => Object.assign(element, { sync: undefined }));
    load();
    await page.evaluate(async (path) => {
      await import(path);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }, "/dist/explorer/sync-tab.js");
    assert.deepEqual(await explorer(page).getByRole("tab").allTextContents(), [
      "Entities",
      "Changes",
    ]);
    await page.close();
  });

  test("shows edits made offline in the outbox, until they are sent", async () => {
    const page = await openSync();
    await button(page, "Offline").click();
    await put(page, "2", 2);
    await put(page, "3", 3);
    await items(page, "Outbox").nth(1).waitFor();
    assert.deepEqual(await items(page, "Outbox").allTextContents(), [
      "create lamps ('desk', '2')",
      "create lamps ('desk', '3')",
    ]);
    await figure(page, "lamps", "Remote").filter({ hasText: "offline" }).waitFor();
    assert.match((await figure(page, "lamps", "Pending").textContent()) ?? "", /2$/);
    await screenshot(page, "explorer-sync-offline", true);
    await button(page, /^Offline \(\d+\)$/).click();
    await button(page, "Sync now").click();
    await list(page, "Outbox").getByText("The remote has every write.").waitFor();
    assert.deepEqual([await stockOf("2"), await stockOf("3")], [2, 3]);
    await figure(page, "lamps", "Remote").filter({ hasText: "online" }).waitFor();
    await tabs.leave(page);
  });

  test("survives a lost response: the write is executed once, and leaves the outbox", async () => {
    const page = await openSync();
    await explorer(page).getByLabel("Apply to").selectOption("the next request");
    await button(page, "Lose responses").click();
    await put(page, "2", 2);
    await button(page, "Lose responses (1)").waitFor();
    await until(async () => (await stockOf("2")) === 2);
    await button(page, "Sync now").click();
    await figure(page, "lamps", "Pending").filter({ hasText: /0$/ }).waitFor();
    await list(page, "Outbox").getByText("The remote has every write.").waitFor();
    assert.equal(await button(page, "Lose responses (1)").getAttribute("aria-pressed"), "false");
    await tabs.leave(page);
  });

  test("compares the versions of a lost write, and restores it", async () => {
    const page = await openSync();
    await conflict(page, "lamps");
    const lost = items(page, "Lost conflicts");
    await lost.waitFor();
    await lost.locator("summary").click();
    const cells = await lost
      .locator("tr")
      .evaluateAll((rows) =>
        rows.map((row) => [...row.children].map(({ textContent }) => textContent).join(" | ")),
      );
    assert.deepEqual(cells, [
      "Property | Base | Local | Remote",
      "stock changed by both | 1 | 10 | 20",
      "name | Arc | Arc | Arc",
      "sold changed there |  |  | 3",
    ]);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await pagesCheck.allProblems(page), [], colorScheme);
      await screenshot(page, `explorer-sync-lost-${colorScheme}`, true);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    await screenshot(page, "explorer-sync-lost-phone", true);
    await button(page, "Restore lamps ('desk', '1')").click();
    await lost.waitFor({ state: "detached" });
    await until(async () => (await stockOf("1")) === 10);
    const restored = await remote.store.table("lamps").getEntity("desk", "1");
    assert.equal(restored["sold"], 3n);
    await tabs.leave(page);
  });

  test("says what the remote has of a write that lost only with its transaction", async () => {
    const page = await openSync();
    await button(page, "Pause").click();
    await summary(page).filter({ hasText: "Paused" }).waitFor();
    const entities = [entityOf("1", 10), entityOf("2", 10), entityOf("3", 10)];
    await remote.store.table("lamps").upsertEntity(entityOf("2", 2), "Replace");
    await page.evaluate(async (entities) => {
      const { store } = globalThis as unknown as Application;
      const write = (entity: (typeof entities)[number]) => ["upsert", entity, "Merge"] as const;
      await store.table("lamps").submitTransaction(entities.slice(0, 2).map(write));
      await store.table("lamps").submitTransaction(entities.toSpliced(1, 1).map(write));
    }, entities);
    await remote.store.table("lamps").updateEntity(entityOf("1", 20));
    await button(page, "Resume").click();
    const lost = items(page, "Lost conflicts");
    await lost.nth(3).waitFor();
    for (const details of await lost.locator("summary").all()) await details.click();
    const heads = await lost.locator("tr:first-child th:last-child").allTextContents();
    assert.deepEqual(heads, ["Remote", "Remote", "Remote", "Remote (absent)"]);
    await tabs.leave(page);
  });

  test("retries a parked write", async () => {
    const page = await openSync();
    await conflict(page, "chairs");
    const parked = items(page, "Parked");
    await parked.waitFor();
    assert.match(
      (await parked.textContent()) ?? "",
      /^Reason: Conflictedit chairs \('desk', '1'\)/,
    );
    assert.equal(await stockOf("1", "chairs"), 20);
    await page.evaluate(() => {
      (globalThis as unknown as Application).parks = false;
    });
    await button(page, "Retry chairs ('desk', '1')").press("Enter");
    await parked.waitFor({ state: "detached" });
    await until(async () => (await stockOf("1", "chairs")) === 10);
    // The button is gone, and the focus is at the list.
    const hasFocus = () => list(page, "Parked").evaluate((element) => element.matches(":focus"));
    assert.equal(await hasFocus(), true);
    await tabs.leave(page);
  });

  test("discards a parked write", async () => {
    const page = await openSync();
    await conflict(page, "chairs");
    await items(page, "Parked").waitFor();
    await button(page, "Discard chairs ('desk', '1')").click();
    await items(page, "Parked").waitFor({ state: "detached" });
    await button(page, "Sync now").click();
    const stock = () =>
      page.evaluate(async () => {
        const { store } = globalThis as unknown as Application;
        return (await store.table("chairs").getEntity("desk", "1"))["stock"];
      });
    await until(async () => (await stock()) === 20);
    await tabs.leave(page);
  });

  test("can be used with the keyboard only", async () => {
    const page = await openSync();
    await explorer(page).getByRole("tab", { name: "Sync" }).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowLeft");
    const selected = explorer(page).locator("[role=tab][aria-selected=true]");
    assert.equal(await selected.textContent(), "Sync");
    const stops: unknown[] = [];
    for (let stop = 0; stop < 4; ++stop) {
      await page.keyboard.press("Tab");
      stops.push(
        await page.evaluate(() => {
          const { activeElement } = document.querySelector("table-explorer")?.shadowRoot ?? {};
          return activeElement?.id || activeElement?.textContent;
        }),
      );
    }
    assert.deepEqual(stops, ["Sync now", "Pause", "sync-faults", "Offline"]);
    await page.keyboard.press("Space");
    assert.equal(await button(page, "Offline").getAttribute("aria-pressed"), "true");
    await page.keyboard.press("Space");
    assert.equal(await button(page, "Offline").getAttribute("aria-pressed"), "false");
    await tabs.leave(page);
  });
});

describe("another sync", () => {
  /** Gives the element a sync whose status is not easily reached. */
  async function openOther(): Promise<Page> {
    const page = await openSync();
    await page.evaluate(() => {
      const { sync } = globalThis as unknown as Application;
      const error = {
        code: "Unauthorized",
        message: "The remote rejects the credential.",
        hint: "It must not have expired.",
      };
      const keys = Array.from({ length: 80 }, (_, i) => ({ partitionKey: "p", rowKey: `${i}` }));
      const suspects = [{ id: "80 lamps", table: "lamps", keys }];
      const lamps = {
        ...sync.status.tables["lamps"],
        phase: "syncing",
        online: true,
        pending: 1234,
        lost: 2,
        outcomeUnknown: 1,
        missesRepaired: 2,
        error,
      };
      const confirmed: string[] = [];
      const write = { table: "lamps", partitionKey: "p", rowKey: "1", kind: "edit" };
      const other = {
        status: { ...sync.status, ...lamps, suspects, tables: { lamps } },
        subscribe: () => () => {},
        async *pending({ top }: { top: number }) {
          for (let i = 0; i < Math.min(top, 1234); ++i) yield write;
        },
        async *parked() {},
        async *lost() {
          const entity = { partitionKey: "p", rowKey: "1", text: "x".repeat(1000) };
          yield {
            ...write,
            id: "1",
            local: { ...entity, n: 1 },
            remote: { ...entity, n: 1n },
            isRemoteKnown: true,
            outcome: "unknown",
          };
          const base = { ...entity, n: 0 };
          const local = { ...entity, n: 1 };
          const second = { ...write, id: "2", rowKey: "2", outcome: "notApplied" };
          yield { ...second, base, local, isRemoteKnown: false };
        },
        coverage: () => sync.coverage(),
        estimate: () => sync.estimate(),
        confirmDeletes: async (id: string) => confirmed.push(id),
        discard: async () => {
          throw new TypeError("It cannot be discarded.");
        },
      };
      Object.assign(globalThis, { confirmed });
      Object.assign(document.querySelector("table-explorer") as object, { sync: other });
    });
    return page;
  }

  test("shows errors, deletes to confirm, and the first of many writes", async () => {
    const page = await openOther();
    await explorer(page).getByText("It must not have expired.").waitFor();
    const suspects = list(page, "Deletes to confirm");
    await suspects.getByText("The remote does not return 80 entities of lamps any more.").waitFor();
    assert.equal(await suspects.locator("ul > li").count(), 50);
    await suspects.getByText("and 30 more.").waitFor();
    await button(page, "Confirm deletes of 80 entities").click();
    const confirmed = () =>
      page.evaluate(() => (globalThis as unknown as { confirmed: string[] }).confirmed);
    await until(async () => (await confirmed()).length === 1);
    await items(page, "Outbox").nth(49).waitFor();
    await list(page, "Outbox").getByText("and 1,184 more.").waitFor();
    assert.equal(await items(page, "Outbox").count(), 50);
    assert.equal(await explorer(page).locator(".network").isHidden(), true);
    const lost = items(page, "Lost conflicts");
    for (const details of await lost.locator("summary").all()) await details.click();
    assert.match(
      await lost.first().locator("tr").nth(2).innerText(),
      /n\s+differs\s+1 \(Int32\)\s+1 \(Int64\)/,
    );
    const rows = await lost.nth(1).locator("tr:not(.same)").allTextContents();
    assert.deepEqual(rows, ["PropertyBaseLocalRemote (not known)", "n changed here01"]);
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await screenshot(page, "explorer-sync-other", true);
    await button(page, /^Discard/)
      .first()
      .click();
    await explorer(page)
      .locator(".sync > .error", { hasText: "It cannot be discarded." })
      .waitFor();
    await tabs.leave(page);
  });

  test("no page printed or threw anything", () =>
    assert.deepEqual(
      tabs.problems
        .splice(0)
        .filter((problem) => !/net::ERR|Failed to load resource/.test(problem)),
      [],
    ));
});
