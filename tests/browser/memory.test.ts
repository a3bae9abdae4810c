// A store of several times its memory limit under a mixed load, in real Chromium: every row is as
// it was written, the page's memory stays within the limit, and neither memory nor disk space
// grows. tests/soak memory runs this for longer and with a larger limit.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import {
  assertFlat,
  describeSamples,
  folderMegabytes,
  keptMegabytes,
} from "../web/support/memory-samples.ts";
import type { memoryPage as MemoryPage } from "./fixture/memory-page.ts";
import { flags, newProfile } from "./support/browser.ts";
import { staging } from "./support/package-site.ts";
import { memoryOf } from "./support/process-memory.ts";
import { launch } from "./support/puppeteer.ts";
import { type Site, serve } from "./support/server.ts";

declare const memoryPage: typeof MemoryPage; // a variable of the page

const minutes = Number(process.env["ENTITABLE_MINUTES"] ?? 0.1);
const limitMegabytes = Number(process.env["ENTITABLE_LIMIT"] ?? 4);
const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000);
const rows = limitMegabytes * 6000; // about three times the limit
const phases = 12; // the store is closed and opened again between them
const constantMegabytes = 150; // memory that is allowed in addition to the limit, with garbage
// V8 lets 64 MB of strings and buffers become garbage before it begins to collect them, and more
// comes while it does. A load of some minutes reaches that, in addition to the above.
const garbageMegabytes = minutes < 1 ? 0 : 80;
const sampleMs = 200;
const settleMs = 1000; // until the browser has given free memory back to the system

async function servePage(): Promise<Site> {
  const built = await build({
    entryPoints: [fileURLToPath(new URL("fixture/memory-page.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    write: false,
    external: ["/dist/*"],
  });
  const script = built.outputFiles[0]?.text ?? "";
  const page = '<!doctype html><script type="module" src="/page.js"></script>';
  return await serve(staging, {
    override: (path) => {
      if (path === "/page.js") return { type: "text/javascript", body: script };
      if (path === "/favicon.ico") return { status: 204, body: "" };
      return path === "/" ? { body: page } : undefined;
    },
  });
}

// Resolves to the greatest result of `sample` until `work` is done.
async function peakDuring(work: Promise<unknown>, sample: () => Promise<number>): Promise<number> {
  let peak = 0;
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  done.catch(() => {}); // awaited below
  while (!isDone) {
    peak = Math.max(peak, await sample());
    await Promise.race([sleep(sampleMs), done]);
  }
  await done;
  return peak;
}

const timeout = 120_000 + minutes * 120_000;
test(`a mixed load on ${rows} rows keeps to its memory, in a page`, { timeout }, async (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const profile = await newProfile();
  const site = await servePage();
  const browser = await launch(profile, { args: [...flags, "--js-flags=--expose-gc"] });
  t.after(async () => {
    await browser.close();
    await site.close();
    await profile.remove();
  });
  const page = await browser.newPage();
  await page.goto(site.url);
  await page.waitForFunction(() => "memoryPage" in globalThis);
  const before = await memoryOf(browser);
  const bytes = limitMegabytes * 1024 ** 2;
  const filling = page.evaluate(
    (options, limit) => memoryPage.start(options, limit),
    { rows, seed },
    bytes,
  );
  const filled = await peakDuring(filling, () => memoryOf(browser));
  const client = await page.createCDPSession();
  const collect = () => client.send("HeapProfiler.collectGarbage");
  const samples = [];
  let collected = 0; // the most right after a collection during the load
  for (let phase = 0; phase < phases; ++phase) {
    const seconds = (minutes * 60) / phases;
    const work = page.evaluate((time) => memoryPage.run(time), seconds);
    const firstPart = await peakDuring(sleep(seconds * 500), () => memoryOf(browser));
    await collect();
    collected = Math.max(collected, await memoryOf(browser));
    const memory = Math.max(firstPart, await peakDuring(work, () => memoryOf(browser)));
    samples.push({ memory, disk: folderMegabytes(profile.folder) });
  }
  const checking = page.evaluate(() => memoryPage.check());
  const read = await peakDuring(checking, () => memoryOf(browser));
  await collect();
  await sleep(settleMs);
  const kept = await memoryOf(browser);
  const closing = page.evaluate(() => memoryPage.close());
  const peak = Math.max(read, await peakDuring(closing, () => memoryOf(browser)));
  t.diagnostic(`${await checking} rows read or written; MB of memory/disk, ${before.toFixed(0)}`);
  t.diagnostic(`before, ${filled.toFixed(0)} while it was filled: ${describeSamples(samples)}`);
  t.diagnostic(`${read.toFixed(0)} while all were read; after collections, at most`);
  t.diagnostic(`${collected.toFixed(0)} during the load, and ${kept.toFixed(0)} after it`);
  assertFlat(samples);
  const most = Math.max(filled, peak, ...samples.map(({ memory }) => memory));
  const allowed = before + limitMegabytes;
  assert(most <= allowed + constantMegabytes + garbageMegabytes, `${most} MB of memory`);
  for (const memory of [collected, kept])
    assert(memory <= allowed + keptMegabytes, `${memory} MB after a collection`);
});
