// Limits the bytes and files that a first visit loads, and those that the first run adds. Prints
// the times.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { brotliCompressSync } from "node:zlib";
import type { Page } from "playwright-core";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";

interface Load {
  readonly bytes: number; // compressed by brotli
  readonly files: number;
}

interface Budget {
  readonly path: string;
  /** The button that is enabled when the page is ready. */
  readonly button: string;
  readonly first: { readonly kilobytes: number; readonly files: number };
  /** Additional limit after a block was run. Absent if the page has no block. */
  readonly run?: { readonly kilobytes: number; readonly files: number };
}

// Compilers that are newer than the pinned ones make the wasm modules a fifth larger.
const newerKilobytes = process.env["ENTITABLE_ANY_VERSION"] === undefined ? 0 : 43;

// The site promises that a first load takes at most 100 KB.
const budgets: readonly Budget[] = [
  {
    path: "",
    button: "Run",
    first: { kilobytes: 36, files: 13 },
    run: { kilobytes: 300 + newerKilobytes, files: 28 },
  },
  {
    path: "design-guide",
    button: "Run",
    first: { kilobytes: 36, files: 13 },
    run: { kilobytes: 350 + newerKilobytes, files: 23 },
  },
  {
    path: "patterns/log-tail",
    button: "Run",
    first: { kilobytes: 36, files: 13 },
    run: { kilobytes: 356 + newerKilobytes, files: 30 },
  },
  { path: "api/entitable", button: "Colours", first: { kilobytes: 22, files: 8 } },
  { path: "api/store", button: "Colours", first: { kilobytes: 22, files: 8 } },
  { path: "bundlers", button: "Colours", first: { kilobytes: 22, files: 8 } },
  { path: "workbench", button: "Load the cities", first: { kilobytes: 280, files: 20 } },
];

const kilobyte = 1024;

// Records what pages request. Does not include what the Service Worker caches in the background.
function watched(guide: Guide, page: Page): () => Load {
  const loaded = new Set<string>();
  page.on("requestfinished", (request) => {
    const ours = request.url().startsWith(guide.url) && request.serviceWorker() === null;
    if (ours && !request.url().endsWith("/sw.js")) loaded.add(request.url());
  });
  return () => {
    const sizes = [...loaded].map(
      (url) => brotliCompressSync(readFileSync(fileOf(guide, url))).length,
    );
    return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: sizes.length };
  };
}

function fileOf(guide: Guide, url: string): URL {
  const path = url.slice(guide.url.length).replace(/(^|\/)$/, "$1index.html");
  return new URL(`../../../build/site/${path}`, import.meta.url);
}

function requireWithin({ bytes, files }: Load, limit: Budget["first"], what: string): string {
  const summary = `${what}: ${(bytes / kilobyte).toFixed(1)} KB (brotli) in ${files} files`;
  assert(bytes <= limit.kilobytes * kilobyte && files <= limit.files, summary);
  return summary;
}

for (const { path, button, first, run } of budgets) {
  test(`/${path} loads little, and the engine only when something runs`, async (t) => {
    const guide = await openGuide(); // with an empty browser profile
    t.after(() => guide.close());
    const page = await guide.context.newPage();
    const load = watched(guide, page);
    await page.goto(`${guide.url}${path === "" ? "" : `${path}/`}`);
    await page
      .locator(`button:enabled:has-text("${button}"), button[aria-label^="${button}"]`)
      .first()
      .waitFor();
    const interactiveMs = await page.evaluate(() => performance.now());
    t.diagnostic(requireWithin(load(), first, "first load"));
    t.diagnostic(`it can be used ${Math.round(interactiveMs)} ms after the navigation began`);
    if (run === undefined) return;
    await runBlock(page, 0);
    t.diagnostic(requireWithin(load(), run, "with the first run"));
  });
}
