// The plugin of `entitable/devtools` in TanStack Devtools, and in a plain element.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { build } from "esbuild";
import type { BrowserContext, Locator, Page } from "playwright-core";
import type { EntitableDevtoolsPlugin, entitableDevtools } from "../../web/src/devtools.ts";
import type { Store } from "../../web/src/types.ts";
import { linkFrameworks, newProject } from "../web/support/project.ts";
import { accessibilityProblems } from "./support/axe.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { screenshot } from "./support/screenshot.ts";
import { type Site, serve } from "./support/server.ts";

interface Application {
  readonly store: Store;
  readonly plugin: EntitableDevtoolsPlugin;
  readonly entitableDevtools: typeof entitableDevtools;
  /** The feeds that are open. */
  readonly feeds: ReadonlySet<unknown>;
  /** How often the live queries were listed. */
  listed: number;
  showDevtools(): { unmount(): void };
}
declare const application: Application; // a variable of the page

const source = `
  import { TanStackDevtoolsCore } from "@tanstack/devtools";
  import { openStore } from "entitable";
  import { entitableDevtools } from "entitable/devtools";
  const store = await openStore({ persistence: "memory" });
  await store.table("lamps").createTable();
  const plugin = entitableDevtools({ store });
  const [changes, liveQueries] = [store.changes.bind(store), store.liveQueries.bind(store)];
  const feeds = new Set();
  store.changes = (options) => {
    const feed = changes(options);
    feeds.add(feed);
    const close = feed.return.bind(feed);
    feed.return = () => {
      feeds.delete(feed);
      return close();
    };
    return feed;
  };
  store.liveQueries = () => {
    application.listed += 1;
    return liveQueries();
  };
  globalThis.application = {
    store,
    plugin,
    entitableDevtools,
    feeds,
    listed: 0,
    showDevtools() {
      const config = { defaultOpen: true, panelLocation: "bottom", theme: "dark" };
      const devtools = new TanStackDevtoolsCore({ plugins: [{ ...plugin, defaultOpen: true }], config });
      devtools.mount(document.getElementById("devtools"));
      return devtools;
    },
  };
`;

// A page whose styles would make the panel unreadable.
const html = `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,">
<style>* { margin: 0; } button, li, summary { font-size: 40px; color: red; display: block; }</style>
<main><h1>A shop</h1><div id="panel"></div><div id="devtools"></div></main></html>`;

let profile: Profile;
let context: BrowserContext;
let site: Site;
const project = newProject();

before(async () => {
  linkFrameworks(project);
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: project },
    bundle: true,
    format: "esm",
    write: false,
    conditions: ["browser", "module"],
    define: { "process.env.NODE_ENV": '"development"' },
    logLevel: "error",
  });
  const body = outputFiles[0]?.text ?? "";
  site = await serve(join(project, "node_modules/entitable/dist/wasm"), {
    override: (path) => {
      if (path === "/") return { body: html };
      return path === "/main.js" ? { type: "text/javascript", body } : undefined;
    },
  });
  profile = await newProfile();
  context = await profile.open();
});

after(async () => {
  await context?.close();
  await site?.close();
  await profile?.remove();
  rmSync(project, { recursive: true });
});

let page: Page;
const problems: string[] = [];

beforeEach(async (t) => {
  page = await context.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(site.url);
  await page.addScriptTag({ type: "module", url: "/main.js" });
  await page.waitForFunction(() => "application" in globalThis);
  (t as { after(close: () => Promise<void>): void }).after(() => page.close());
});

const commits = (within: Locator): Locator => within.locator(".commits > li");

// Writes until the panel shows a commit: those before its feed is open are not in it.
async function putUntilShown(within: Locator): Promise<void> {
  for (let stock = 1; (await commits(within).count()) === 0; ++stock) {
    await page.evaluate(async (stock) => {
      const entity = { partitionKey: "desk", rowKey: "1", stock };
      await application.store.table("lamps").upsertEntity(entity);
    }, stock);
  }
}

const feedCount = (): Promise<number> => page.evaluate(() => application.feeds.size);

const background = (within: Locator): Promise<string> =>
  within.locator(".changes").evaluate((panel) => getComputedStyle(panel).backgroundColor);

describe("entitable/devtools", () => {
  test("is a plugin of TanStack Devtools", async () => {
    await page.evaluate(() => {
      Object.assign(globalThis, { devtools: application.showDevtools() });
    });
    const devtools = page.locator("body");
    await devtools.getByText("entitable: default").first().waitFor();
    await devtools.locator(".changes").waitFor();
    await putUntilShown(devtools);
    // The oldest: newer ones may still appear above it.
    await commits(devtools).last().locator("summary").click();
    await commits(devtools).last().locator(".changed-rows > li").waitFor();
    assert.equal(await background(devtools), "rgb(18, 25, 27)", "the dark theme");
    await screenshot(page, "devtools");
    await page.evaluate(() =>
      (globalThis as unknown as { devtools: { unmount(): void } }).devtools.unmount(),
    );
    await devtools.locator(".changes").waitFor({ state: "detached" });
    assert.equal(await feedCount(), 0);
    await page.evaluate(() => application.store.table("lamps").count());
  });

  test("shows its panel in any element, untouched by the page's styles", async () => {
    await page.evaluate(() =>
      application.plugin.render(document.getElementById("panel") as HTMLElement, "light"),
    );
    const panel = page.locator("#panel");
    await putUntilShown(panel);
    const size = await panel
      .getByRole("button", { name: "Pause" })
      .evaluate((button) => getComputedStyle(button).fontSize);
    assert.equal(size, "14.4px");
    assert.deepEqual(await accessibilityProblems(page), []);
    await screenshot(page, "devtools-element");
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  });

  test("changes its theme and keeps what it shows, until it is destroyed", async () => {
    const render = (theme: "light" | "dark", devtoolsOpen = true) =>
      page.evaluate(
        ([theme, devtoolsOpen]) =>
          application.plugin.render(document.getElementById("panel") as HTMLElement, {
            theme,
            devtoolsOpen,
          }),
        [theme, devtoolsOpen] as const,
      );
    const panel = page.locator("#panel");
    await render("light");
    await putUntilShown(panel);
    const oldest = await commits(panel).last().textContent();
    assert.equal(await background(panel), "rgb(255, 255, 255)");
    await render("dark");
    assert.equal(await background(panel), "rgb(18, 25, 27)");
    await render("dark", false);
    assert.equal(await commits(panel).last().textContent(), oldest);
    assert.equal(await panel.locator(".changes").count(), 1);
    await page.waitForTimeout(100);
    const listed = () => page.evaluate(() => application.listed);
    const before = await listed();
    await page.waitForTimeout(1200);
    assert.equal(await listed(), before, "nothing is read while the panel is not seen");
    await page.evaluate(() => application.plugin.destroy());
    assert.equal(await feedCount(), 0);
    assert.equal(await panel.locator("*").count(), 0);
    await page.evaluate(() => application.plugin.destroy());
    await render("light");
    await panel.getByText("No commits yet.").waitFor();
  });

  test("moves to another element, also of another document", async () => {
    await page.evaluate(() => {
      const frame = document.createElement("iframe");
      document.body.append(frame);
      const element = frame.contentDocument?.createElement("div") as HTMLElement;
      frame.contentDocument?.body.append(element);
      application.plugin.render(document.getElementById("panel") as HTMLElement);
      application.plugin.render(element, { theme: "dark" });
    });
    const frame = page.frameLocator("iframe");
    await frame.locator(".changes").waitFor();
    assert.equal(await page.locator("#panel *").count(), 0);
    const colour = await frame
      .locator(".changes")
      .evaluate((panel) => getComputedStyle(panel).backgroundColor);
    assert.equal(colour, "rgb(18, 25, 27)");
  });

  test("has one panel and one feed in an element, also if the plugin is created again", async () => {
    await page.evaluate(() => {
      const { store, entitableDevtools } = application;
      for (let i = 0; i < 3; ++i)
        entitableDevtools({ store }).render(document.getElementById("panel") as HTMLElement);
    });
    await putUntilShown(page.locator("#panel"));
    assert.equal(await page.locator("#panel .changes").count(), 1);
    assert.equal(await feedCount(), 1);
    // Without destroy(): the element leaves the page.
    await page.evaluate(() => document.getElementById("panel")?.remove());
    await page.waitForFunction(() => application.feeds.size === 0);
  });

  test("opens no feed before it is seen", async () => {
    await page.evaluate(() => {
      const element = document.getElementById("panel") as HTMLElement;
      application.plugin.render(element, { devtoolsOpen: false });
    });
    await page.waitForTimeout(100);
    assert.equal(await feedCount(), 0);
    await page.evaluate(() =>
      application.plugin.render(document.getElementById("panel") as HTMLElement),
    );
    await putUntilShown(page.locator("#panel"));
    assert.equal(await feedCount(), 1);
  });

  test("says that the store is closed", async () => {
    await page.evaluate(async () => {
      await application.store.close();
      application.plugin.render(document.getElementById("panel") as HTMLElement);
    });
    await page.getByText("The store is closed.").waitFor();
  });

  test("no page threw anything", () => assert.deepEqual(problems, []));
});
