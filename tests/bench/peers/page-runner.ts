// The driver's side of a page with one database.

import type { Browser, CDPSession, Page } from "puppeteer-core";
import { memoryOf } from "../../browser/support/process-memory.ts";
import type { ComparedDatabase } from "./databases.ts";
import type { bench as Bench } from "./page.ts";
import type { CpuProfile } from "./profile-shares.ts";
import { Runner } from "./runner.ts";
import type { SessionOptions } from "./session.ts";
import type { Step } from "./steps.ts";

declare const bench: typeof Bench; // inside the page

export class PageRunner extends Runner {
  readonly #browser: Browser;
  readonly #page: Page;
  readonly #devtools: CDPSession;
  readonly #profiles: CpuProfile[] = [];

  private constructor(browser: Browser, page: Page, devtools: CDPSession, options: SessionOptions) {
    super(options);
    this.#browser = browser;
    this.#page = page;
    this.#devtools = devtools;
    devtools.on("Profiler.consoleProfileFinished", ({ profile }) => this.#profiles.push(profile));
  }

  static async open(
    browser: Browser,
    url: string,
    entry: ComparedDatabase,
    options: SessionOptions,
  ): Promise<PageRunner> {
    const page = await browser.newPage();
    page.on("console", (message) => console.error(`${entry.id}: ${message.text()}`));
    await page.goto(url);
    await page.waitForFunction(() => "bench" in globalThis);
    await page.evaluate((o, worker) => bench.start(o, worker), options, entry.runsIn === "worker");
    return new PageRunner(browser, page, await page.createCDPSession(), options);
  }

  // Returns how many milliseconds a point read takes if the page requests it from its worker.
  async readFromPage(): Promise<number> {
    return await this.limited(this.#page.evaluate(() => bench.readFromPage()));
  }

  async megabytes(): Promise<number> {
    const workers = this.#page.workers().map(({ client }) => client);
    for (const client of [this.#devtools, ...workers, this.#devtools]) {
      await client.send("HeapProfiler.collectGarbage");
    }
    return await memoryOf(this.#browser);
  }

  async close(): Promise<void> {
    await this.#page.close();
  }

  protected step(step: Step, args: unknown[]): Promise<unknown> {
    return this.#page.evaluate((s, a) => bench.call(s, ...a) as Promise<unknown>, step, args);
  }

  protected openCold(name: string, level: string): Promise<number> {
    return this.#page.evaluate((n, l) => bench.coldOpen(n, l), name, level);
  }

  async takeProfiles(): Promise<CpuProfile[]> {
    return this.#profiles.splice(0);
  }

  devtools(method: string, params?: object): Promise<unknown> {
    return (this.#devtools as { send(method: string, params?: object): Promise<unknown> }).send(
      method,
      params,
    );
  }
}
