// After the first visit the site needs no network: the server is really gone. And what a first visit loads.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { brotliCompressSync } from "node:zlib";
import type { Page } from "playwright-core";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

const kilobyte = 1024;
const firstLoadBudget = 120 * kilobyte;

// What a page loads until its first block could be run, compressed as a good server would.
async function firstLoad(): Promise<{ bytes: number; files: number; interactiveMs: number }> {
  const page = await guide.context.newPage();
  const loaded = new Set<string>();
  page.on("requestfinished", (request) => {
    if (request.serviceWorker() === null) loaded.add(request.url());
  });
  await page.goto(guide.url);
  await page.getByRole("button", { name: "Run" }).first().waitFor();
  const interactiveMs = await page.evaluate(() => performance.now());
  const files = [...loaded].filter((url) => url.startsWith(guide.url));
  const sizes = files.map((url) => brotliCompressSync(readFileSync(fileOf(url))).length);
  await page.close();
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: files.length, interactiveMs };
}

function fileOf(url: string): URL {
  const path = url.slice(guide.url.length).replace(/(^|\/)$/, "$1index.html");
  return new URL(`../../../build/site/${path}`, import.meta.url);
}

test("a first visit loads little, and the engine only when something runs", async (t) => {
  const { bytes, files, interactiveMs } = await firstLoad();
  t.diagnostic(`first load: ${(bytes / kilobyte).toFixed(1)} KB (brotli) in ${files} files`);
  t.diagnostic(`a block can be run ${Math.round(interactiveMs)} ms after the navigation began`);
  assert(bytes < firstLoadBudget, `${bytes} bytes`);
});

async function controlled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (navigator.serviceWorker.controller !== null) return;
    await new Promise((resolve) => {
      navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true });
    });
  });
}

test("with the server gone, pages that were never visited open and run", async () => {
  const first = await guide.open("");
  await controlled(first);
  await first.close();
  await guide.stopServing();

  const page = await guide.open("patterns/intra-partition-index");
  assert.equal(await page.locator("h1").textContent(), "Intra-partition secondary index");
  const { figures, error } = await runBlock(page, 1);
  assert.equal(error, "");
  assert.equal(figures["Access"], "point query");
  await page.getByRole("link", { name: "Asking questions" }).click();
  await page.waitForURL("**/some/path/querying/");
  assert.equal((await runBlock(page, 0)).figures["Rows read"], "1");
  const block = page.locator("table-playground").first();
  await block.getByRole("textbox", { name: "Code" }).focus();
  await block.locator(".cm-content").fill('show("edited");');
  assert.deepEqual((await runBlock(page, 0)).values, ["edited"]);
  await page.close();
  assert.deepEqual(guide.problems, []);
});
