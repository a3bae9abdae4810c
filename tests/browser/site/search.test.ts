// The search, the outline, the links of headings and the buttons that copy code.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { accessibilityProblems } from "../support/axe.ts";
import { type Guide, openGuide } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

async function search(page: Page, query: string): Promise<string[]> {
  await page.getByRole("combobox", { name: "Search the site" }).fill(query);
  const results = page.locator(`#search-results[aria-label="Results for ${query}"]`);
  await results.waitFor({ state: "attached" });
  return await results.locator("b").allTextContents();
}

test("finds headings, text, names of the API and error codes", async () => {
  const page = await guide.open("start");
  await page.keyboard.press("Control+k");
  const expected: Record<string, string> = {
    EntityAlreadyExists: "Errors and hints › EntityAlreadyExists", // an error code
    AlreadyExist: "Errors and hints › EntityAlreadyExists", // a part of its name
    QuotaExceeded: "Errors and hints › QuotaExceeded",
    snapshotStream: "Store › snapshotStream", // a method
    visibilityTimeoutMs: "entitable/queue › QueueOptions", // a property of a type
    "log tail": "Log tail pattern", // a page
    "row range": "Queries and filters › Row range query", // a heading
    "vite-plugin-pwa": "PWA › With vite-plugin-pwa",
    "poison queue": "A durable queue", // text
    durabilty: "Persistence and durability", // misspelled
  };
  for (const [query, place] of Object.entries(expected)) {
    const places = await search(page, query);
    assert(places.slice(0, 5).includes(place), `${query}: ${places.slice(0, 5).join(" | ")}`);
  }
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.emulateMedia({ colorScheme: "dark" });
  assert.deepEqual(await accessibilityProblems(page, ["color-contrast"]), [], "dark");
  assert.deepEqual(await search(page, "zzzzzz"), []);
  await page.getByText("Nothing was found.").waitFor();
  await guide.leave(page);
});

test("is used by the keyboard, and leads to the section", async () => {
  const page = await guide.open("recipes/react");
  await page.getByRole("button", { name: "Search" }).click();
  const places = await search(page, "snapshotStream");
  const wanted = places.indexOf("Store › snapshotStream");
  for (let i = 0; i < wanted; ++i) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/some/path/api/store/#Store.snapshotStream");
  await page.keyboard.press("Control+k");
  await search(page, "point");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await guide.leave(page);
});

test("loads its code and its index only when it is opened", async () => {
  const page = await guide.open("design-guide");
  const requested: string[] = [];
  page.on("request", (request) => {
    if (request.serviceWorker() === null) requested.push(request.url().slice(guide.url.length));
  });
  await page.reload();
  await page.locator("table-playground:defined").first().waitFor();
  const ofSearch = () => requested.filter((path) => path.includes("search"));
  assert.deepEqual(ofSearch(), []);
  await page.keyboard.press("Control+k");
  await search(page, "point");
  assert(ofSearch().includes("search.json"), requested.join(" "));
  await guide.leave(page);
});

test("headings link to themselves, and the outline lists them", async () => {
  const page = await guide.open("opening");
  await page.setViewportSize({ width: 1500, height: 900 });
  const headings = await page.locator("article :is(h2, h3)").allTextContents();
  const outline = page.getByRole("navigation", { name: "On this page" });
  await outline.getByRole("link").first().waitFor(); // folded until the page takes the new size
  assert.deepEqual(await outline.getByRole("link").allTextContents(), headings);
  await outline.getByRole("link", { name: "Stores in files (Node)" }).click();
  await page.waitForURL("**/opening/#stores-in-files-node");
  await page.locator("article").getByRole("link", { name: "List and delete stores" }).click();
  await page.waitForURL("**/opening/#list-and-delete-stores");
  await guide.leave(page);
});

test("every block has a button that copies its code", async () => {
  await guide.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await guide.open("start");
  const blocks = await page.locator("pre.code, table-playground").count();
  const buttons = page.getByRole("button", { name: "Copy" });
  assert.equal(await buttons.count(), blocks);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await buttons.first().click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await copied(), "npm install entitable\n");
  await page.locator(".live .copy").first().click();
  await page.waitForFunction(async () =>
    (await navigator.clipboard.readText()).startsWith("const lamps"),
  );
  await guide.leave(page);
});

test("no page printed or threw anything", () => assert.deepEqual(guide.problems, []));
