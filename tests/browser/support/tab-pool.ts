// Tabs for tests that follow each other. A new tab takes as much time as loading a page twice.
import type { BrowserContext, Page } from "playwright-core";
import { desktop } from "./browser.ts";

export class TabPool {
  readonly #context: BrowserContext;
  readonly #idle: Page[] = [];
  /** What any page printed or threw. */
  readonly problems: string[] = [];

  constructor(context: BrowserContext) {
    this.#context = context;
  }

  /** Opens a page in a tab that a test has left, or in a new one. */
  async open(url: string): Promise<Page> {
    const page = this.#idle.pop() ?? (await this.#newTab());
    await page.goto(url);
    return page;
  }

  /** Returns a page as a test has left it. Opens it if no test has left it. */
  async resume(url: string): Promise<Page> {
    const index = this.#idle.findLastIndex((page) => page.url() === url);
    return this.#idle.splice(index, index === -1 ? 0 : 1)[0] ?? (await this.open(url));
  }

  /** Lets later tests use a tab. */
  async leave(page: Page): Promise<void> {
    await page.unrouteAll();
    if (page.viewportSize()?.width !== desktop.width) await page.setViewportSize(desktop);
    await page.emulateMedia({ colorScheme: "light" });
    this.#idle.push(page);
  }

  async #newTab(): Promise<Page> {
    const page = await this.#context.newPage();
    page.on("pageerror", (error) => this.problems.push(`${page.url()}: ${error}`));
    page.on("console", (message) => this.problems.push(`${page.url()}: ${message.text()}`));
    return page;
  }
}
