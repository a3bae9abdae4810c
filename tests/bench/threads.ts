// Compares a store in a worker with a store in the page: the same calls on both, in one run.

import { newProfile } from "../browser/support/browser.ts";
import { launch } from "../browser/support/puppeteer.ts";
import { newPage, serveBench } from "./support/serve-bench.ts";
import type { bench as Bench } from "./threads-page.ts";

declare const bench: typeof Bench; // inside the page

const site = await serveBench(new URL("threads-page.ts", import.meta.url));
const profile = await newProfile();
const browser = await launch(profile);
const page = await newPage(browser, site);
const inline = await page.evaluate(() => bench.measure("inline"));
const worker = await page.evaluate(() => bench.measure("worker"));
await browser.close();
await site.close();
await profile.remove();

const names = {
  point: "a point read, µs",
  page: "a page of 1000 entities, ms",
  write: "a strict write, ms",
  opening: "the longest that the page waits while 100,000 entities are opened, ms",
};
console.log("| | inline | worker |\n|---|---:|---:|");
for (const [key, name] of Object.entries(names) as [keyof typeof names, string][]) {
  const shown = (value: number) => (key === "point" ? (value * 1000).toFixed(1) : value.toFixed(2));
  console.log(`| ${name} | ${shown(inline[key])} | ${shown(worker[key])} |`);
}
