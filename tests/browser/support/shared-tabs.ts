// Tabs that share a store in a browser that may be killed, and checks of what they wrote
// (fixture/tab-page.ts). Controlled by Puppeteer, because Playwright keeps every page visible, so
// that none is ever hidden or frozen.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser, Page } from "puppeteer-core";
import type { Report, StoredState, user as User } from "../fixture/tab-page.ts";
import { flags, newProfile, type Profile, waitMs } from "./browser.ts";
import { servePackage } from "./package-site.ts";
import { launch } from "./puppeteer.ts";
import type { Site } from "./server.ts";

declare const user: typeof User; // a variable of the page

const fixture = fileURLToPath(new URL("../fixture/tab-page.ts", import.meta.url));

export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = waitMs,
  otherwise: () => string | Promise<string> = () => "the condition did not become true in time",
): Promise<void> {
  const started = performance.now();
  while (!(await condition())) {
    if (performance.now() - started >= timeoutMs) assert.fail(await otherwise());
    await sleep(20);
  }
}

// Freezes or resumes a tab through CDP, as a browser does with a hidden tab.
export async function lifecycle(page: Page, state: "frozen" | "active"): Promise<void> {
  const session = await page.createCDPSession();
  await session.send("Page.setWebLifecycleState", { state });
}

// Crashes the page's process.
export async function crash(page: Page): Promise<void> {
  const crashed = new Promise((resolve) => page.once("error", resolve));
  void page.goto("chrome://crash").catch(() => {});
  await crashed;
}

export const ownerOf = (page: Page) => page.evaluate(() => user.status().owner);

// Serves the package and a page that opens the store.
async function serveTabs(): Promise<Site> {
  const built = await build({
    entryPoints: [fixture],
    bundle: true,
    format: "esm",
    write: false,
    external: ["/dist/*"],
  });
  const script = built.outputFiles[0]?.text ?? "";
  const page = '<!doctype html><script type="module" src="/tab.js"></script>';
  return await servePackage({
    // "no-store" would keep the page out of the back/forward cache.
    headers: { "cache-control": "no-cache" },
    cachesFiles: true,
    override: (path) =>
      path === "/favicon.ico"
        ? { status: 204, body: "" }
        : path === "/tab.js"
          ? { type: "text/javascript", body: script }
          : path === "/" || path === "/elsewhere"
            ? { body: path === "/" ? page : "<!doctype html>elsewhere" }
            : undefined,
  });
}

// Lets the tests of a file or suite share one browser, which they must not kill. Returns a function
// that gives each test tabs of a site of their own.
export function tabsOfOneBrowser(): (t: TestContext) => Promise<SharedTabs> {
  let first: SharedTabs | undefined;
  after(() => first?.stop());
  return async (t) => {
    first ??= await SharedTabs.start();
    const tabs = await first.onAnotherSite();
    t.after(() => tabs.stop());
    return tabs;
  };
}

export class SharedTabs {
  readonly profile: Profile;
  readonly site: Site;
  readonly #flags: readonly string[];
  #browser: Promise<Browser> | undefined;
  readonly #isBorrowed: boolean;
  readonly #pages: Page[] = [];
  readonly reports: Report[] = [];
  readonly #reported = new Map<string, number>(); // number of reports by tab
  readonly violations: string[] = [];
  readonly problems: string[] = []; // printed or thrown by pages, except what a kill causes

  // `more`: additional flags for the browser.
  static async start(more: readonly string[] = []): Promise<SharedTabs> {
    return new SharedTabs(await newProfile(), await serveTabs(), [...flags, ...more]);
  }

  // `browser`: one that has this profile and that others also use.
  private constructor(
    profile: Profile,
    site: Site,
    browserFlags: readonly string[],
    browser?: Promise<Browser>,
  ) {
    this.profile = profile;
    this.site = site;
    this.#flags = browserFlags;
    this.#browser = browser;
    this.#isBorrowed = browser !== undefined;
  }

  // Returns tabs of the same browser with a site of their own, and so with another store. They must
  // stop before the browser does.
  async onAnotherSite(): Promise<SharedTabs> {
    this.#browser ??= this.#startBrowser();
    return new SharedTabs(this.profile, await serveTabs(), this.#flags, this.#browser);
  }

  // Opens a tab with the store, after running `before` in it. Starts the browser if needed.
  async tab(options: object = {}, before = () => {}): Promise<Page> {
    const page = await this.blank();
    await page.evaluateOnNewDocument(before);
    await this.open(page, options);
    return page;
  }

  // Opens an empty tab.
  async blank(): Promise<Page> {
    this.#browser ??= this.#startBrowser();
    const page = await (await this.#browser).newPage();
    this.#pages.push(page);
    page.setDefaultTimeout(waitMs);
    page.on("pageerror", (error) => this.problems.push(String(error)));
    page.on("console", (message) => this.problems.push(message.text()));
    await page.exposeFunction("report", (report: Report) => this.#report(report));
    await page.exposeFunction("violated", (what: string) => void this.violations.push(what));
    return page;
  }

  // Goes to the site, unless the page is already there, and opens the store.
  async open(page: Page, options: object = {}): Promise<void> {
    if (page.url() !== this.site.url) await page.goto(this.site.url);
    await page.waitForFunction(() => "user" in globalThis);
    await page.evaluate((given) => user.open(given), options);
  }

  // Writes until the tab ends, or `writes` times. A rejected write is a problem unless the tab has
  // ended.
  work(page: Page, tab: string, writes?: number): Promise<void> {
    const working = page.evaluate((name, count) => user.writeInTurn(name, count), tab, writes);
    return this.#unlessEnded(page, tab, working);
  }

  // Makes this many writes of each kind, several at a time.
  writeConcurrently(
    page: Page,
    tab: string,
    writes: Record<Report["kind"], number>,
  ): Promise<void> {
    const working = page.evaluate(
      (name, counts) => user.writeConcurrently(name, counts),
      tab,
      writes,
    );
    return this.#unlessEnded(page, tab, working);
  }

  #unlessEnded(page: Page, tab: string, working: Promise<void>): Promise<void> {
    const crashed = new Promise<void>((resolve) => page.once("error", () => resolve()));
    const done = working.catch((error: Error) => {
      const ended = /closed|crashed|navigation|destroyed|Target/i.test(error.message);
      if (!ended) this.problems.push(`${tab}: ${error.message}`);
    });
    // A page that crashed never settles its pending calls.
    return Promise.race([done, crashed]);
  }

  // Waits until every one of these tabs has written something.
  async waitForWrites(pages: readonly Page[], names: readonly string[]): Promise<void> {
    const state = async (page: Page, i: number) => {
      const { owner, state, currentStep } = await page.evaluate(() => ({
        ...user.status(),
        currentStep: user.currentStep(),
      }));
      const name = names[i] as string;
      return `${name}: ${this.reported(name)} reports, owner ${owner}, ${state}, ${currentStep}`;
    };
    await until(
      () => names.every((name) => this.reported(name) > 2),
      waitMs,
      async () => [...(await Promise.all(pages.map(state))), ...this.problems].join("\n"),
    );
  }

  reported(tab: string): number {
    return this.#reported.get(tab) ?? 0;
  }

  #report(report: Report): void {
    this.reports.push(report);
    this.#reported.set(report.tab, this.reported(report.tab) + 1);
  }

  // Kills the browser's process.
  async kill(): Promise<void> {
    const browser = await this.#browser;
    const process = browser?.process();
    const exited = process && once(process, "exit");
    process?.kill("SIGKILL");
    await exited;
    await browser?.close().catch(() => {});
    this.#browser = undefined;
  }

  async stop(): Promise<void> {
    if (this.#isBorrowed) {
      // a tab that crashed or was closed cannot be closed
      await Promise.all(this.#pages.map((page) => page.close().catch(() => {})));
      await this.site.close();
      return;
    }
    await (await this.#browser)?.close().catch(() => {});
    await this.site.close();
    await this.profile.remove();
  }

  // Checks everything that was written so far by all tabs, including crashed ones.
  async check(page: Page): Promise<StoredState> {
    // Copied before the state is read: tabs may still be writing, and the state may lack what they
    // report afterwards.
    const acknowledged = [...this.reports];
    const found = await page.evaluate(() => user.readState());
    assert.deepEqual(this.violations, []);
    assert.deepEqual(this.problems, []);
    assert.equal(found.state, "open");
    const rows = new Set(found.rows);
    const logged = found.rows.filter((row) => row.startsWith("log/"));
    assert.equal(found.counter, logged.length, "as many rows as the counter says");
    for (const { tab, kind, i } of acknowledged) {
      const key = String(i).padStart(6, "0");
      const first = kind === "own" ? `${tab}/${key}-0` : `log/${tab}-${key}`;
      assert(rows.has(first), `acknowledged and lost: ${first}`);
    }
    const groups = new Map<string, string[]>();
    for (const row of found.rows) {
      const tab = row.slice(0, row.indexOf("/"));
      if (tab !== "log") groups.set(tab, [...(groups.get(tab) ?? []), row]);
    }
    for (const [tab, there] of groups) {
      const expected = there.map(
        (_, n) => `${tab}/${String(Math.floor(n / 3)).padStart(6, "0")}-${n % 3}`,
      );
      assert.deepEqual(there, expected, "whole groups, in order");
      assert.equal(there.length % 3, 0, "whole groups");
    }
    return found;
  }

  async #startBrowser(): Promise<Browser> {
    return await launch(this.profile, {
      args: [...this.#flags],
      ignoreDefaultArgs: ["--disable-back-forward-cache"],
    });
  }
}
