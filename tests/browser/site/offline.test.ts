// After the first visit, the site needs no network. The test really stops the server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import {
  filesOfGuide,
  type Guide,
  openGuide,
  pagesOfGuide,
  runBlock,
  writeCode,
} from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide({ serviceWorker: true });
});

after(() => guide?.close());

async function controlled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (navigator.serviceWorker.controller !== null) return;
    await new Promise((resolve) => {
      navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true });
    });
  });
}

// Waits until the Service Worker has cached a large file, which it does in the background.
async function kept(page: Page, file: string): Promise<void> {
  await page.evaluate(async (url) => {
    while ((await caches.match(url)) === undefined) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  }, `${guide.url}${file}`);
}

test("without the server, pages that were never visited open and run", async () => {
  const first = await guide.open("");
  await controlled(first);
  await kept(first, "cities.json");
  await kept(first, "search.json");
  await first.close();
  await guide.stopServing();

  const page = await guide.open("patterns/intra-partition-index");
  assert.equal(await page.locator("h1").textContent(), "Intra-partition secondary index pattern");
  const { figures, error } = await runBlock(page, 1);
  assert.equal(error, "");
  assert.equal(figures["Access"], "point query");
  await page.getByRole("link", { name: "Queries and filters" }).click();
  await page.waitForURL("**/some/path/querying/");
  assert.equal((await runBlock(page, 0)).figures["Rows read"], "1");
  await writeCode(page.locator("table-playground").first(), 'show("edited");');
  assert.deepEqual((await runBlock(page, 0)).values, ["edited"]);
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("combobox", { name: "Search the site" }).fill("createEntity");
  await page.getByRole("option", { name: "Table › createEntity" }).first().waitFor();
  await page.close();
});

// The other tests of pages run without the Service Worker.
test("without the server, the Service Worker responds with every file of the site", async () => {
  const page = await guide.open("");
  const files = filesOfGuide().filter(([path]) => path !== "sw.js");
  const sizes = await page.evaluate(
    (urls) =>
      Promise.all(urls.map(async (url) => (await (await fetch(url)).arrayBuffer()).byteLength)),
    files.map(([path]) => `${guide.url}${path}`),
  );
  assert(files.length > pagesOfGuide().length);
  assert.deepEqual(
    files.map(([path], index) => [path, sizes[index]]),
    files,
  );
  await page.close();
});

test("so does the workbench, which loads its data", async () => {
  const page = await guide.open("workbench");
  await page.getByRole("button", { name: "Load the cities" }).click();
  await page
    .locator("#load-numbers")
    .filter({ hasText: /^[1-9][\d,]* of 135,233 cities stored/ })
    .waitFor();
  await page.close();
  assert.deepEqual(guide.problems, []);
});
