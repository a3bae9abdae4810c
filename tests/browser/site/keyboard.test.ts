// Uses the guide with the keyboard only: from the top of a page to a result.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { type Guide, openGuide } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

// Returns the name of the focused element and of its group, including elements in shadow roots.
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    const name = element?.getAttribute("aria-label") ?? element?.textContent?.trim() ?? "";
    const group = element?.closest("[role=group][aria-label]")?.getAttribute("aria-label");
    return group ? `${group}: ${name}` : name;
  });
}

async function tabUntil(page: Page, wanted: string, key = "Tab"): Promise<void> {
  const passed: string[] = [];
  for (let i = 0; i < 80; ++i) {
    await page.keyboard.press(key);
    const now = await focused(page);
    if (now === wanted) return;
    passed.push(now);
  }
  assert.fail(`${wanted} was not reached: ${passed.join(" | ")}`);
}

test("the first focusable element skips the contents", async () => {
  const page = await guide.open("patterns/intra-partition-index");
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Skip to content");
  await page.keyboard.press("Enter");
  await tabUntil(
    page,
    "The data: 2,000 employees in each of ten departments, in one table with one row each and in another with two",
  );
  await page.keyboard.press("Enter");
  await page.getByText("const surnames").first().waitFor({ state: "visible" });
  await guide.leave(page);
});

test("code is reached, changed, run, and left again", async () => {
  const page = await guide.open("patterns/intra-partition-index");
  await tabUntil(page, "One row each: scan the department: Code");
  await page.keyboard.press("Control+A");
  await page.keyboard.type('show("by the keys");');
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "One row each: scan the department: Run");
  await page.keyboard.press("Enter");
  await page.getByText("by the keys", { exact: true }).waitFor();
  await tabUntil(page, "One row each: scan the department: Back to the original");
  await page.keyboard.press("Space");
  assert.equal(await focused(page), "One row each: scan the department: Run");
  await tabUntil(page, "Two rows each: read the row by its key: Code");
  await page.keyboard.press("Control+Enter");
  await page.getByText("point query", { exact: true }).waitFor();
  await tabUntil(page, "One row each: scan the department: Code", "Shift+Tab");
  await guide.leave(page);
});

test("the focus is visible on every element", async () => {
  const page = await guide.open("start");
  for (let i = 0; i < 30; ++i) {
    await page.keyboard.press("Tab");
    const marked = await page.evaluate(() => {
      let element = document.activeElement;
      while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
      if (element === null || element === document.body) return "none";
      const field = element.closest(".code") ?? element;
      const { outlineStyle } = getComputedStyle(element);
      return outlineStyle !== "none" || getComputedStyle(field).boxShadow !== "none"
        ? "yes"
        : element.outerHTML;
    });
    if (marked === "none") break;
    assert.equal(marked, "yes");
  }
  await guide.leave(page);
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
