// The guide as a visitor sees it. A static file server serves the built site under a path other
// than the root.
import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { newProfile } from "./browser.ts";
import { serve } from "./server.ts";
import { TabPool } from "./tab-pool.ts";

const build = new URL("../../../build/", import.meta.url);
const folder = fileURLToPath(new URL("site/", build));

/** What a live block shows after its button was pressed. */
export interface RunResult {
  /** The figures by name, such as "Rows read": "2,000". The time is left out. */
  readonly figures: Record<string, string>;
  /** The rows and cells of the tables that are shown. */
  readonly tables: string[][][];
  readonly captions: string[];
  readonly values: string[];
  readonly error: string;
  /** The numbers in the picture of the partitions, by the name of each partition that was used. */
  readonly heat: Record<string, string>;
}

export interface Guide {
  readonly context: BrowserContext;
  /** The site's URL, which ends with a slash. */
  readonly url: string;
  /** What any page printed or threw. */
  readonly problems: string[];
  /** Opens a page by its path, such as "patterns/log-tail", in a tab of the TabPool. */
  open(path: string): Promise<Page>;
  /**
   * Returns a page as the previous test has left it, so that checkPage() does not run the blocks
   * again that have run in it.
   */
  resume(path: string): Promise<Page>;
  /** Lets later tests use a tab. */
  leave(page: Page): Promise<void>;
  /** Stops the server. */
  stopServing(): Promise<void>;
  close(): Promise<void>;
}

/** Returns the paths of all pages. */
export function pagesOfGuide(): string[] {
  return globSync("**/index.html", { cwd: folder })
    .map((file) => file.replace(/\/?index\.html$/, ""))
    .filter((path) => path !== "workbench")
    .sort();
}

/** Returns the path and the size of all files. The path of a page ends with a slash. */
export function filesOfGuide(): [path: string, bytes: number][] {
  return globSync("**/*.*", { cwd: folder }).map((file) => [
    file.replace(/(^|\/)index\.html$/, "$1"),
    statSync(join(folder, file)).size,
  ]);
}

export interface GuideOptions {
  /**
   * Pages register the Service Worker, which caches the whole site. By default, Chromium's HTTP
   * cache keeps the files, which needs less time; offline.test.ts requests all pages from the
   * Service Worker.
   */
  readonly serviceWorker?: boolean;
  /** The server lets Chromium cache files. True by default without the Service Worker. */
  readonly cachesFiles?: boolean;
}

export async function openGuide(options: GuideOptions = {}): Promise<Guide> {
  const { serviceWorker = false, cachesFiles = !serviceWorker } = options;
  const site = await serve(folder, { under: "/some/path/", cachesFiles });
  const profile = await newProfile();
  const context = await profile.open();
  if (!serviceWorker) {
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, "serviceWorker", { value: undefined });
    });
  }
  const tabs = new TabPool(context);
  const urlOf = (path: string) => `${site.url}${path === "" ? "" : `${path}/`}`;
  const open = (path: string) => tabs.open(urlOf(path));
  const resume = (path: string) => tabs.resume(urlOf(path));
  const leave = (page: Page) => tabs.leave(page);
  const stopServing = () => site.close();
  const close = async () => {
    await context.close();
    await stopServing();
    await profile.remove();
  };
  const { problems } = tabs;
  return { context, url: site.url, problems, open, resume, leave, stopServing, close };
}

/**
 * Presses the button of a live block, waits until the run has ended, and returns what is shown.
 * `index` counts the page's blocks from 0.
 */
export async function runBlock(page: Page, index: number): Promise<RunResult> {
  const block = page.locator("table-playground").nth(index);
  await block.scrollIntoViewIfNeeded();
  const ended = block.evaluate(
    (element) =>
      new Promise<void>((resolve) => {
        element.addEventListener("playground-run", () => resolve(), { once: true });
      }),
  );
  await block.getByRole("button", { name: "Run" }).click();
  await ended;
  if ((await block.getAttribute("data-heat")) !== null) {
    await page.waitForFunction(
      (element) => element?.nextElementSibling?.matches(".heat[data-state=done]"),
      await block.elementHandle(),
    );
  }
  return await block.evaluate(readBlock);
}

/**
 * Replaces the code of a block, after its text area was replaced by the editor. The text is
 * selected by the keyboard: the editor would notice a selection by script only in the next turn,
 * and until then Chromium itself would insert the text, with a style that the policy forbids.
 */
export async function writeCode(block: Locator, code: string): Promise<void> {
  await block.getByRole("textbox", { name: "Code" }).focus();
  const editor = block.locator(".cm-content");
  await editor.waitFor();
  await editor.press("ControlOrMeta+a");
  await block.page().keyboard.insertText(code);
}

// Runs in the page.
function readBlock(block: Element): RunResult {
  const root = block.shadowRoot as ShadowRoot;
  const all = (selector: string, inside: ParentNode = root) => [
    ...inside.querySelectorAll<HTMLElement>(selector),
  ];
  const text = (element: Element | null | undefined) => element?.textContent ?? "";
  const pairs = (elements: Element[]) =>
    Object.fromEntries(
      elements.map((element) => [text(element.children[0]), text(element.children[1])]),
    );
  const { "Time here": _, ...figures } = pairs(all(".cost > div"));
  const sibling = block.nextElementSibling;
  const heat = sibling?.matches(".heat") ? sibling : document.createElement("p");
  return {
    figures,
    tables: all(".shown table").map((table) =>
      all("tbody tr", table).map((row) => [...row.children].map(text)),
    ),
    captions: all(".caption").map(text),
    values: all(".value").map(text),
    error: text(root.querySelector(".error")),
    heat: pairs(all("li:not([data-reads='0'][data-writes='0'])", heat)),
  };
}
