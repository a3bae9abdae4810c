// The driver's side of the pages of one database: opens pages of one origin, and calls their steps.

import type { Browser, CDPSession, Page } from "puppeteer-core";
import { memoryOf } from "../../browser/support/process-memory.ts";
import type { bench as Bench } from "./page.ts";

declare const bench: typeof Bench; // inside the page

type Steps = typeof Bench;
export type LiveStep = keyof Steps;

export class OverBudget extends Error {}

export class LivePage {
  readonly #page: Page;
  readonly #devtools: CDPSession;
  readonly #budgetMs: number;

  private constructor(page: Page, devtools: CDPSession, budgetMs: number) {
    this.#page = page;
    this.#devtools = devtools;
    this.#budgetMs = budgetMs;
  }

  // Opens a window of its own, so that no page is hidden behind another.
  static async open(
    browser: Browser,
    url: string,
    title: string,
    budgetMs: number,
  ): Promise<LivePage> {
    const page = await browser.newPage({ type: "window" });
    const printed = new Set<string>(); // an error that a library reports again and again
    page.on("console", (message) => {
      const text = message.text();
      if (message.type() === "error" && !printed.has(text)) console.error(`${title}: ${text}`);
      printed.add(text);
    });
    page.on("pageerror", (error) => console.error(`${title}: ${String(error)}`));
    await page.goto(url);
    await page.waitForFunction(() => "bench" in globalThis);
    return new LivePage(page, await page.createCDPSession(), budgetMs);
  }

  // Calls a step. Throws OverBudget if it takes too long; the page cannot be used afterwards.
  async call<S extends LiveStep>(
    step: S,
    ...args: Parameters<Steps[S]>
  ): Promise<Awaited<ReturnType<Steps[S]>>> {
    const work = this.#page.evaluate(
      (s, a) => (bench[s] as (...all: unknown[]) => unknown)(...a),
      step,
      args as unknown[],
    );
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new OverBudget()), this.#budgetMs);
    });
    work.catch(() => {}); // the page may be closed while it works
    try {
      return (await Promise.race([work, late])) as Awaited<ReturnType<Steps[S]>>;
    } finally {
      clearTimeout(timer);
    }
  }

  // Returns the seconds that the page has spent in scripts since the last call.
  async scriptSeconds(): Promise<number> {
    await this.#devtools.send("Performance.enable");
    const { metrics } = await this.#devtools.send("Performance.getMetrics");
    const { value: total = 0 } = metrics.find(({ name }) => name === "ScriptDuration") ?? {};
    const since = total - this.#scriptSeconds;
    this.#scriptSeconds = total;
    return since;
  }
  #scriptSeconds = 0;

  // Returns the memory of the page's process, without garbage.
  async megabytes(): Promise<number> {
    for (let i = 0; i < 2; ++i) await this.#devtools.send("HeapProfiler.collectGarbage");
    return await memoryOf(this.#page.browser());
  }

  async close(): Promise<void> {
    await this.#page.close().catch(() => {}); // it may have crashed
  }
}
