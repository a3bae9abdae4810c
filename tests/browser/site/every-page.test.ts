// Checks that apply to every page of the guide.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { accessibilityProblems } from "../support/axe.ts";
import { type Guide, openGuide, pagesOfGuide, runBlock } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

const paths = pagesOfGuide();
const targets = new Set([...paths, "workbench"]);

// Returns the links of a page to other pages of its host that do not exist.
async function deadLinks(page: Page): Promise<string[]> {
  const links = await page.$$eval("a[href]", (all) =>
    all.map((link) => (link as HTMLAnchorElement).href.replace(/#.*/, "")),
  );
  const exists = (link: string) =>
    link.startsWith(guide.url) && targets.has(link.slice(guide.url.length).replace(/\/$/, ""));
  return links.filter((link) => link.startsWith(new URL("/", guide.url).href) && !exists(link));
}

// Two at a time: a page often waits for a frame or for its server.
describe("every page of the guide", { concurrency: 2 }, () => {
  const idleTabs: Page[] = [];

  for (const path of paths) {
    test(`/${path}: links lead to pages, every block runs, axe finds no problem, and phones do not scroll sideways`, async () => {
      const page = await guide.open(path, idleTabs.pop());
      await page.emulateMedia({ colorScheme: "light" });
      await page.setViewportSize({ width: 1280, height: 900 });
      assert.deepEqual(await deadLinks(page), []);
      const blocks = await page.locator("table-playground").count();
      for (let index = 0; index < blocks; ++index) {
        const { error } = await runBlock(page, index);
        assert.equal(error, "", `block ${index}`);
      }
      const runs = blocks + (await page.locator("table-explorer").count()) > 0;
      const foot = await page.getByRole("contentinfo").textContent();
      assert.equal(foot?.includes("All code on this page runs in your browser"), runs, `${foot}`);
      assert.deepEqual(await accessibilityProblems(page), [], "light");
      await page.emulateMedia({ colorScheme: "dark" });
      assert.deepEqual(await accessibilityProblems(page, ["color-contrast"]), [], "dark");
      await page.setViewportSize({ width: 390, height: 844 });
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - window.innerWidth,
      );
      assert.equal(overflow, 0);
      const onPhones = ["scrollable-region-focusable", "target-size"];
      assert.deepEqual(await accessibilityProblems(page, onPhones), [], "on a phone");
      idleTabs.push(page);
    });
  }
});

test("no page of the guide printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
