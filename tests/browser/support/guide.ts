// The guide as a visitor sees it: the built site behind a static file server, under a path that is
// not the root.
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { newProfile } from "./browser.ts";
import { serve } from "./server.ts";

const build = new URL("../../../build/", import.meta.url);
const folder = fileURLToPath(new URL("site/", build));

/** What a live block shows after its button was pressed. */
export interface RunResult {
  /** By name: "Rows read" to "2,000". Without the time. */
  readonly figures: Record<string, string>;
  /** The tables that were shown: their rows, cell by cell. */
  readonly tables: string[][][];
  readonly captions: string[];
  readonly values: string[];
  readonly error: string;
  /** Of the picture of the partitions: those that were touched, with their numbers. */
  readonly heat: Record<string, string>;
}

export interface Guide {
  readonly context: BrowserContext;
  /** Where the site is; ends with a slash. */
  readonly url: string;
  /** What any page printed, or threw. */
  readonly problems: string[];
  /** A page of the guide: "patterns/log-tail". */
  open(path: string): Promise<Page>;
  /** From then on there is no server. */
  stopServing(): Promise<void>;
  close(): Promise<void>;
}

/** Paths of all its pages. */
export function pagesOfGuide(): string[] {
  return globSync("**/index.html", { cwd: folder })
    .map((file) => file.replace(/\/?index\.html$/, ""))
    .filter((path) => path !== "workbench")
    .sort();
}

export async function openGuide(): Promise<Guide> {
  const site = await serve(folder, { under: "/some/path/" });
  const profile = await newProfile();
  const context = await profile.open();
  const problems: string[] = [];
  const open = async (path: string) => {
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push(`${path}: ${error}`));
    page.on("console", (message) => problems.push(`${path}: ${message.text()}`));
    await page.goto(`${site.url}${path === "" ? "" : `${path}/`}`);
    return page;
  };
  const stopServing = () => site.close();
  const close = async () => {
    await context.close();
    await stopServing();
    await profile.remove();
  };
  return { context, url: site.url, problems, open, stopServing, close };
}

/**
 * Presses the button of the live block number `index`, from 0, and waits for what is shown then.
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
 * Writes other code into a block, whose text area makes way for the editor first. By the keyboard,
 * as a selection that a script makes is not the editor's before the next turn; until then Chromium
 * would type over it by itself, with a style that the policy forbids.
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
