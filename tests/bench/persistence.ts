// Measures how costs change while a store grows: a write at the beginning and at the end, long
// tasks that block the page, opening, memory, and snapshots. All of it is one run, so that the
// ratios are meaningful on a noisy machine.

import { newProfile } from "../browser/support/browser.ts";
import { memoryOf } from "../browser/support/process-memory.ts";
import { launch } from "../browser/support/puppeteer.ts";
import type { bench as Bench } from "./persistence-page.ts";
import { newPage, serveBench } from "./support/serve-bench.ts";

declare const bench: typeof Bench; // inside the page

const entities = Number(process.argv[2] ?? 1_000_000);
const sizes = [entities / 100, entities / 10, entities];

const site = await serveBench(new URL("persistence-page.ts", import.meta.url));

const n = (value: number, digits = 1) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });

interface Row {
  size: number;
  load: number;
  first: number;
  last: number;
  raw: number;
  loading: number[];
  open: number;
  rowMegabytes: number;
  indexMegabytes: number;
  memory: number;
  take: number;
  fileMegabytes: number;
  tasksTaking: number[];
  restore: number;
  tasksRestoring: number[];
}

const list = (tasks: number[]) => tasks.map((ms) => n(ms, 0)).join(", ") || "none";

async function measure(size: number): Promise<Row> {
  const profile = await newProfile();
  let browser = await launch(profile);
  const written = await (await newPage(browser, site)).evaluate(
    (count) => bench.write(count),
    size,
  );
  await browser.close();
  browser = await launch(profile);
  const page = await newPage(browser, site);
  const opened = await page.evaluate(() => bench.open());
  const memory = await memoryOf(browser);
  await page.close();
  const copied = await (await newPage(browser, site)).evaluate(() => bench.snapshot());
  await browser.close();
  await profile.remove();
  for (const rows of [opened.rows, copied.restored]) {
    if (rows !== size) throw new Error(`${rows} of ${size} entities came back`);
  }
  return { size, ...written, ...opened, memory, ...copied };
}

const rows: Row[] = [];
for (const size of sizes) {
  console.error(`${n(size, 0)} entities…`);
  rows.push(await measure(size));
}
await site.close();

const columns: [string, (row: Row) => string][] = [
  ["entities", ({ size }) => n(size, 0)],
  ["load, relaxed, in transactions of 100: µs each", ({ load }) => n(load)],
  ["a strict write at the start, ms", ({ first }) => n(first, 2)],
  ["a strict write at the end, ms", ({ last }) => n(last, 2)],
  ["ratio", ({ first, last }) => n(last / first, 2)],
  ["a raw IndexedDB put of 300 bytes, strict, ms", ({ raw }) => n(raw, 2)],
  ["tasks above 50 ms while loading, ms", ({ loading }) => list(loading)],
  ["open and first read, ms", ({ open }) => n(open, 0)],
  ["packed rows, MB", ({ rowMegabytes }) => n(rowMegabytes)],
  ["index of these rows, MB", ({ indexMegabytes }) => n(indexMegabytes)],
  ["the page's process after opening, MB", ({ memory }) => n(memory, 0)],
  ["snapshot(), ms", ({ take }) => n(take, 0)],
  ["size of the snapshot, MB", ({ fileMegabytes }) => n(fileMegabytes)],
  ["tasks above 50 ms during snapshot(), ms", ({ tasksTaking }) => list(tasksTaking)],
  ["restore(), replacing everything, ms", ({ restore }) => n(restore, 0)],
  ["tasks above 50 ms during restore(), ms", ({ tasksRestoring }) => list(tasksRestoring)],
];
console.log(`| | ${rows.map(() => "").join(" | ")} |\n|---|${rows.map(() => "---:|").join("")}`);
for (const [name, of] of columns) console.log(`| ${name} | ${rows.map(of).join(" | ")} |`);
