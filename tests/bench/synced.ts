// Measures what an application waits for when it writes to a synced table: in Chromium and in Node,
// with each durability, in interleaved rounds. A write of a synced table also stores what sync must
// remember, so a commit of two rows is the least that it can cost.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NodeFilesStorage } from "../../web/src/storage/node-files.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { newProfile } from "../browser/support/browser.ts";
import { launch } from "../browser/support/puppeteer.ts";
import { openHost } from "../web/support/open-host.ts";
import { writeTable } from "./support/readme.ts";
import { newPage, serveBench } from "./support/serve-bench.ts";
import type { bench as Bench } from "./synced-page.ts";
import { kinds, measure, type Row } from "./synced-steps.ts";

declare const bench: typeof Bench; // inside the page

async function inNode(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "entitable-synced-"));
  const open = async (name: string) => {
    const storage = await NodeFilesStorage.open(
      mkdtempSync(join(folder, `${kinds.indexOf(name as never)}-`)),
    );
    return openHost({ engine: await createEngine(), storage, persistence: "file" });
  };
  try {
    return await measure(open, () => performance.now());
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function inChromium(): Promise<Row[]> {
  const site = await serveBench(new URL("synced-page.ts", import.meta.url));
  const profile = await newProfile();
  const browser = await launch(profile);
  try {
    return await (await newPage(browser, site)).evaluate(() => bench.measure());
  } finally {
    await browser.close();
    await site.close();
    await profile.remove();
  }
}

const lines = [
  `| | ${kinds.join(" | ")} | more, because it is synced |`,
  `|---|${"---:|".repeat(kinds.length + 1)}`,
];
for (const [where, rows] of [
  ["Node", await inNode()],
  ["Chromium", await inChromium()],
] as const) {
  for (const { write, durability, microseconds } of rows) {
    const [one = 0, , synced = 0] = microseconds;
    const shown = microseconds.map((us) => `${us.toFixed(us < 100 ? 1 : 0)} µs`);
    const percent = (100 * (synced / one - 1)).toFixed(0);
    lines.push(`| ${where}: ${write}, ${durability} | ${shown.join(" | ")} | ${percent} % |`);
  }
}
const table = `${lines.join("\n")}\n`;
console.log(table);
if (process.argv.includes("--write")) writeTable("synced", table);
