// Checks that apply to every page of the guide.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { accessibilityProblems, PagesCheck } from "./axe.ts";
import { desktop } from "./browser.ts";
import { type Guide, pagesOfGuide, runBlock } from "./guide.ts";

/**
 * The pages that other files than every-page.test.ts check, by file: those whose blocks the file
 * runs anyway. Each of these files compares its list with checkedPages().
 */
export const pagesWithOwnTest = {
  elements: ["explorer", "files", "playground"],
  guide: [
    "",
    "concurrency",
    "data-model",
    "design-guide",
    "limits",
    "mock-back-end",
    "official-client",
    "paging",
    "persistence",
    "querying",
    "servers",
    "start",
    "transactions",
  ],
  modelling: [
    "modelling/choosing-keys",
    "modelling/denormalized-entities",
    "modelling/inheritance",
    "modelling/joins",
    "modelling/one-to-many",
    "modelling/one-to-one",
    "modelling/parallel",
    "modelling/shared-access-signatures",
  ],
  morePatterns: [
    "modelling/client-side-encryption",
    "modelling/heterogeneous-entity-types",
    "patterns/compound-key",
    "patterns/data-series",
    "patterns/eventually-consistent",
    "patterns/high-volume-delete",
    "patterns/log-tail",
    "patterns/wide-entities",
  ],
  patterns: [
    "patterns/append-anti-pattern",
    "patterns/denormalization",
    "patterns/index-entities",
    "patterns/inter-partition-index",
    "patterns/intra-partition-index",
    "patterns/large-entities",
    "patterns/log-data",
  ],
  syncFailures: ["sync-failures"],
} as const;

const checked = new Set<string>();
const pagesCheck = new PagesCheck();
const targets = new Set([...pagesOfGuide(), "workbench"]);

/** Returns the paths of the pages that checkPage() has checked. */
export function checkedPages(): string[] {
  return [...checked].sort();
}

/**
 * Links lead to pages, every block runs without an error (those that have run do not run again),
 * axe finds no problem, and phones do not scroll sideways.
 */
export async function checkPage(guide: Guide, page: Page): Promise<void> {
  assert.deepEqual(await deadLinks(guide, page), []);
  await runRemainingBlocks(page);
  await checkFoot(page);
  assert.deepEqual(await pagesCheck.allProblems(page), [], "light");
  await page.emulateMedia({ colorScheme: "dark" });
  assert.deepEqual(await pagesCheck.contrastProblems(page), [], "dark");
  await page.setViewportSize({ width: 390, height: 844 });
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - window.innerWidth,
  );
  assert.equal(overflow, 0);
  await simplifyTargets(page);
  const onPhones = ["scrollable-region-focusable", "target-size"];
  assert.deepEqual(await accessibilityProblems(page, onPhones), [], "on a phone");
  await page.setViewportSize(desktop);
  await page.emulateMedia({ colorScheme: "light" });
  checked.add(pathOf(guide, page.url()));
}

// The path of a page of the guide, such as "patterns/log-tail".
function pathOf(guide: Guide, url: string): string {
  return url.slice(guide.url.length).replace(/\/?(#.*)?$/, "");
}

// Returns the links of a page to other pages of its host that do not exist.
async function deadLinks(guide: Guide, page: Page): Promise<string[]> {
  const links = await page.$$eval("a[href]", (all) =>
    all.map((link) => (link as HTMLAnchorElement).href),
  );
  const exists = (link: string) => link.startsWith(guide.url) && targets.has(pathOf(guide, link));
  return links.filter((link) => link.startsWith(new URL("/", guide.url).href) && !exists(link));
}

async function runRemainingBlocks(page: Page): Promise<void> {
  const statuses = await page.locator("table-playground [role=status]").allTextContents();
  assert.equal(statuses.length, await page.locator("table-playground").count());
  for (const [index, status] of statuses.entries()) {
    if (status === "Done.") continue;
    const { error } = await runBlock(page, index);
    assert.equal(error, "", `block ${index}`);
  }
}

async function checkFoot(page: Page): Promise<void> {
  const runs = (await page.locator("table-playground, table-explorer").count()) > 0;
  const foot = await page.getByRole("contentinfo").textContent();
  assert.equal(foot?.includes("All code on this page runs in your browser"), runs, `${foot}`);
}

// The coloured text of a block lies under its text area, which receives all clicks. Axe would
// divide the text area's rectangle by each of the coloured words, which takes most of its time.
async function simplifyTargets(page: Page): Promise<void> {
  await page.locator("table-playground .layers > pre[aria-hidden]").evaluateAll((texts) => {
    for (const text of texts as HTMLElement[]) {
      if (text.nextElementSibling?.localName !== "textarea")
        throw new Error("not below a text area");
      text.style.pointerEvents = "none";
    }
  });
}
