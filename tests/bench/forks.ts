// Measures forks and rollbacks of a mock store: their time, compared with a point read of Dexie on
// as many entities, and their memory.

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import type { Page } from "puppeteer-core";
import { newProfile } from "../browser/support/browser.ts";
import { memoryOf } from "../browser/support/process-memory.ts";
import { launch } from "../browser/support/puppeteer.ts";
import type { bench as Bench, Times } from "./forks-page.ts";
import { libraries } from "./peers/databases.ts";
import { count } from "./peers/table.ts";
import { markdownTable, writeTable } from "./support/readme.ts";
import { newPage, serveBench } from "./support/serve-bench.ts";

declare const bench: typeof Bench; // inside the page

const { values: options, positionals } = parseArgs({
  options: {
    forks: { type: "string", default: "1000" },
    write: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const entities = Number(positionals[0] ?? 100_000);
const forks = Number(options.forks);
const changesOf = [0, 1, 10, 100];

const dexie = await build({
  stdin: {
    contents: libraries["dexie"]?.script ?? "",
    resolveDir: fileURLToPath(new URL("node_modules", import.meta.url)),
  },
  bundle: true,
  format: "esm",
  minify: true,
  write: false,
});
const site = await serveBench(new URL("forks-page.ts", import.meta.url), {
  "/library/dexie.js": dexie.outputFiles[0]?.text ?? "",
});
const profile = await newProfile();

// Runs `work` in a new browser, whose memory contains nothing from earlier runs.
async function inPage<T>(
  work: (page: Page, memory: () => Promise<number>) => Promise<T>,
): Promise<T> {
  const browser = await launch(profile);
  try {
    const page = await newPage(browser, site);
    const collected = async () => {
      const devtools = await page.createCDPSession();
      await devtools.send("HeapProfiler.collectGarbage");
      await devtools.detach();
      return await memoryOf(browser);
    };
    return await work(page, collected);
  } finally {
    await browser.close();
  }
}

function timesTable(times: Times): string {
  const shown = (ms: number) => (ms * 1000).toFixed(1);
  const rows: [string, number][] = [
    ["a fork, made and closed", times.fork],
    ["a rollback", times.rollback],
    ["a fork in which an entity is changed", times.changedFork],
    ["an entity is changed, and rolled back", times.changedRollback],
    ["the change alone", times.change],
    ["a point read of the same store", times.get],
    ["**a point read of Dexie**", times.dexie],
  ];
  return markdownTable(
    [`${count(entities)} entities`, "µs", "of a point read of Dexie"],
    rows.map(([name, ms]) => [name, shown(ms), `${((100 * ms) / times.dexie).toFixed(1)} %`]),
  );
}

async function memoryRow(changes: number): Promise<string[]> {
  return await inPage(async (page, memory) => {
    await page.evaluate((n) => bench.hold(n), entities);
    const before = await memory();
    await page.evaluate((f, c, n) => bench.fork(f, c, n), forks, changes, entities);
    const more = (await memory()) - before;
    await page.evaluate((c, n) => bench.check(c, n), changes, entities);
    const each = (more * 1000) / forks;
    return [count(changes), before.toFixed(0), more.toFixed(1), each.toFixed(1)];
  });
}

try {
  const times = await inPage((page) => page.evaluate((n) => bench.measure(n), entities));
  const rows: string[][] = [];
  for (const changes of changesOf) rows.push(await memoryRow(changes));
  const columns = [
    "changed in each",
    "the store alone, MB",
    `${count(forks)} forks more, MB`,
    "each, KB",
  ];
  const report = `${timesTable(times)}\n${markdownTable(columns, rows)}`;
  console.log(report);
  if (options.write) writeTable("forks", report);
} finally {
  await site.close();
  await profile.remove();
}
