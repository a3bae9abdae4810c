// A page of one contestant, seen from the driver.

import type { Browser, CDPSession, Page } from "puppeteer-core";
import { memoryOf } from "../support/memory.ts";
import { WrongResult } from "./expected.ts";
import type { bench as Bench } from "./page.ts";
import { profiled, type Share } from "./profile.ts";
import type { Entry } from "./roster.ts";
import { overBudget, type SessionOptions, wrong } from "./session.ts";

declare const bench: typeof Bench; // inside the page

type Step = Parameters<typeof Bench.call>[0];

export class OverBudget extends Error {}

export class Tab {
  readonly #browser: Browser;
  readonly #page: Page;
  readonly #devtools: CDPSession;
  readonly #limitMs: number;

  private constructor(browser: Browser, page: Page, devtools: CDPSession, limitMs: number) {
    this.#browser = browser;
    this.#page = page;
    this.#devtools = devtools;
    this.#limitMs = limitMs;
  }

  static async open(
    browser: Browser,
    url: string,
    entry: Entry,
    options: SessionOptions,
  ): Promise<Tab> {
    const page = await browser.newPage();
    page.on("console", (message) => console.error(`${entry.id}: ${message.text()}`));
    await page.goto(url);
    await page.waitForFunction(() => "bench" in globalThis);
    await page.evaluate((o, place) => bench.start(o, place), options, entry.place);
    const devtools = await page.createCDPSession();
    return new Tab(browser, page, devtools, options.budgetMs * 1.5);
  }

  // Throws OverBudget if it takes too long; the page is no good then.
  async call(step: Step, ...args: unknown[]): Promise<unknown> {
    return await this.#limited(
      this.#page.evaluate((s, a) => bench.call(s, ...a) as Promise<unknown>, step, args),
    );
  }

  async coldOpen(name: string, level: string): Promise<number> {
    return await this.#limited(this.#page.evaluate((n, l) => bench.coldOpen(n, l), name, level));
  }

  async readFromPage(): Promise<number> {
    return await this.#limited(this.#page.evaluate(() => bench.readFromPage()));
  }

  // What the page's main thread does meanwhile.
  async profiled<T>(work: () => Promise<T>): Promise<{ value: T; shares: Share[] }> {
    return await profiled(this.#devtools, work);
  }

  async wasmMegabytes(): Promise<number> {
    return ((await this.call("memory")) as number) / 1024 / 1024;
  }

  // Of its process, without garbage.
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

  async #limited<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new OverBudget()), this.#limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      const { message } = error as Error;
      if (message.includes(overBudget)) throw new OverBudget();
      throw message.includes(wrong) ? new WrongResult(message) : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
