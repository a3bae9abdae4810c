// Limits the bytes and files that a first visit loads, and those that the first run adds. Prints
// the times.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
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
const newerKilobytes = process.env["ENTITABLE_ANY_VERSION"] === undefined ? 0 : 56;

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
    run: { kilobytes: 361 + newerKilobytes, files: 30 },
  },
  { path: "api/entitable", button: "Colours", first: { kilobytes: 22, files: 8 } },
  { path: "api/store", button: "Colours", first: { kilobytes: 22, files: 8 } },
  { path: "bundlers", button: "Colours", first: { kilobytes: 22, files: 8 } },
  { path: "sync-failures", button: "Start two", first: { kilobytes: 12, files: 9 } },
  {
    path: "workbench",
    button: "Load the cities",
    first: { kilobytes: 284 + newerKilobytes, files: 20 },
  },
];

const kilobyte = 1024;

let guide: Guide;

// Without the Service Worker: what it caches in the background does not count. The server does not
// let Chromium cache files, so every page loads all files as on a first visit.
before(async () => {
  guide = await openGuide({ cachesFiles: false });
});

after(() => guide?.close());

// Records what pages request.
function watched(page: Page): () => Load {
  const loaded = new Set<string>();
  page.on("requestfinished", (request) => {
    if (request.url().startsWith(guide.url)) loaded.add(request.url());
  });
  return () => {
    const sizes = [...loaded].map(compressedSize);
    return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: sizes.length };
  };
}

const compressedSizes = new Map<string, number>(); // by URL

function compressedSize(url: string): number {
  const known = compressedSizes.get(url);
  if (known !== undefined) return known;
  const path = url.slice(guide.url.length).replace(/(^|\/)$/, "$1index.html");
  const file = readFileSync(new URL(`../../../build/site/${path}`, import.meta.url));
  const size = brotliCompressSync(file).length;
  compressedSizes.set(url, size);
  return size;
}

function requireWithin({ bytes, files }: Load, limit: Budget["first"], what: string): string {
  const summary = `${what}: ${(bytes / kilobyte).toFixed(1)} KB (brotli) in ${files} files`;
  assert(bytes <= limit.kilobytes * kilobyte && files <= limit.files, summary);
  return summary;
}

for (const { path, button, first, run } of budgets) {
  test(`/${path} loads little, and the engine only when something runs`, async (t) => {
    const page = await guide.context.newPage();
    const load = watched(page);
    await page.goto(`${guide.url}${path === "" ? "" : `${path}/`}`);
    await page
      .locator(`button:enabled:has-text("${button}"), button[aria-label^="${button}"]`)
      .first()
      .waitFor();
    const interactiveMs = await page.evaluate(() => performance.now());
    t.diagnostic(requireWithin(load(), first, "first load"));
    t.diagnostic(`it can be used ${Math.round(interactiveMs)} ms after the navigation began`);
    if (run !== undefined) {
      await runBlock(page, 0);
      t.diagnostic(requireWithin(load(), run, "with the first run"));
    }
    await page.close();
  });
}
