// The code editor of live blocks. It is loaded when a reader focuses the code, and replaces the
// text area without a visible change. Tab leaves it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator, Page, Route } from "playwright-core";
import { accessibilityProblems } from "../support/axe.ts";
import { type Guide, openGuide, writeCode } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

const chunk = /\/assets\/code-editor-[^/]*\.js$/;

const block = (page: Page, index = 0): Locator => page.locator("table-playground").nth(index);
const codeOf = (within: Locator): Locator => within.getByRole("textbox", { name: "Code" });
const editorOf = (within: Locator): Locator => within.locator(".cm-content");

function text(within: Locator): Promise<string> {
  return within.evaluate((element) => (element as HTMLElement & { code: string }).code);
}

function requested(page: Page): string[] {
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  return urls;
}

// Returns the name of the focused element, including elements in shadow roots.
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element?.getAttribute("aria-label") ?? element?.textContent ?? "";
  });
}

test("the editor is loaded on the first edit, once; the edited code runs", async () => {
  const page = await guide.context.newPage();
  const urls = requested(page);
  await page.goto(`${guide.url}querying/`, { waitUntil: "networkidle" });
  await codeOf(block(page)).waitFor();
  assert(!urls.some((url) => chunk.test(url)), urls.join("\n"));
  const heights = () =>
    page.$$eval("table-playground", (blocks) => blocks.map(({ clientHeight }) => clientHeight));
  const before = await heights();
  for (const index of [0, 1]) {
    await codeOf(block(page, index)).click();
    await editorOf(block(page, index)).waitFor();
  }
  assert.deepEqual(await heights(), before, "nothing on the page moves");
  assert.equal(urls.filter((url) => chunk.test(url)).length, 1);
  assert.equal(await codeOf(block(page)).count(), 1);
  await writeCode(block(page), 'show("it ran");');
  await page.keyboard.press("Control+Enter");
  await block(page).getByText("it ran", { exact: true }).waitFor();
  await block(page).getByRole("button", { name: "Back to the original" }).click();
  assert.match(await text(block(page)), /RowKey eq '2'/);
  await guide.leave(page);
});

test("text typed while the editor loads is kept, as is the caret, and all can be undone", async () => {
  const page = await guide.open("querying");
  const held = new Promise<Route>((resolve) => page.route(chunk, resolve));
  const original = await text(block(page));
  await codeOf(block(page)).focus();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("const a = 1;");
  const route = await held;
  await page.keyboard.press("ArrowLeft");
  await route.continue();
  await editorOf(block(page)).waitFor();
  await page.keyboard.type(" + 1");
  assert.equal(await text(block(page)), `const a = 1 + 1;${original}`);
  // The text typed before is undone in one step. So is the text typed since, unless there were
  // pauses between its four characters.
  for (let steps = 0; steps < 1 + 4 && (await text(block(page))) !== original; ++steps) {
    await page.keyboard.press("Control+z");
  }
  assert.equal(await text(block(page)), original);
  await guide.leave(page);
});

test("an editor that loads late does not take back the focus", async () => {
  const page = await guide.open("querying");
  const held = new Promise<Route>((resolve) => page.route(chunk, resolve));
  await codeOf(block(page)).focus();
  const route = await held;
  await page.keyboard.press("Tab");
  await route.continue();
  await editorOf(block(page)).waitFor();
  assert.equal(await focused(page), "Run");
  await guide.leave(page);
});

test("if the editor can't be loaded, the text area stays, and the next focus tries again", async () => {
  const page = await guide.context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${guide.url}querying/`);
  await page.route(chunk, (route) => route.abort());
  const failed = page.waitForEvent("pageerror");
  await codeOf(block(page)).fill('show("all the same");');
  await failed;
  assert.equal(await block(page).locator("textarea").count(), 1);
  await page.keyboard.press("Control+Enter");
  await block(page).getByText("all the same", { exact: true }).waitFor();
  assert.equal(errors.length, 1);
  await guide.leave(page);
});

test("the keyboard enters and leaves, indents, and completes words; axe finds no problem", async () => {
  const page = await guide.open("querying");
  await codeOf(block(page)).focus();
  await editorOf(block(page)).waitFor();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("const lamps = [];\nfor (const lamp of lamps) {\nshow(la");
  const options = page.getByRole("option");
  await options.first().waitFor();
  assert.deepEqual(await options.allTextContents(), ["lamp", "lamps"]);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await accessibilityProblems(page), [], colorScheme);
  }
  const onPhones = ["scrollable-region-focusable", "target-size"];
  await page.setViewportSize({ width: 390, height: 844 });
  assert.deepEqual(await accessibilityProblems(page, onPhones), [], "on a phone");
  const height = await options.first().evaluate((option) => option.clientHeight);
  assert(height >= 24, `${height} pixels are too few for a finger`);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type(");\n}\n");
  assert.equal(
    await text(block(page)),
    "const lamps = [];\nfor (const lamp of lamps) {\n  show(lamp);\n}\n",
  );
  await page.keyboard.type("la");
  await options.first().waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await focused(page), "Code");
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Run");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await focused(page), "Code");
  await guide.leave(page);
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
