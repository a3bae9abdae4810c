// Measures a store of many times its memory limit, in Node files or in a page: time and memory of
// loading, upserts, reads, scans, explain(), verification, snapshots, a restore and closing. Memory
// is the resident set of the Node process or of the page's process, sampled during each step.

import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../web/support/package.ts";
import { LargeStore, type Place, type Step } from "./larger-than-memory-steps.ts";

const { values, positionals } = parseArgs({
  options: { chromium: { type: "boolean", default: false } },
  allowPositionals: true,
});
const { chromium } = values;
const entities = Number(positionals[0] ?? (chromium ? 2_000_000 : 8_000_000));
const mebibyte = 1024 * 1024;
const memoryLimit = 64 * mebibyte;
const sampleMs = chromium ? 200 : 50;

const steps: readonly [Step, string][] = [
  ["load", "load, in transactions of 100"],
  ["replace", "upserts (Replace) at random, 100 in flight"],
  ["merge", "upserts (Merge) at random, 100 in flight"],
  ["read", "point reads at random"],
  ["scan", "scan of all, little returned"],
  ["explain", "explain of a table scan"],
  ["verify", "verify()"],
  ["snapshotStream", "snapshot, as a stream"],
  ["restoreStream", "restore of that stream into a second store"],
  ["snapshot", "snapshot()"],
  ["close", "close()"],
  ["openAndCount", "open and count"],
];

function inNode(): Place {
  const path = join(tmpdir(), `entitable-bench-${process.pid}`);
  const store = new LargeStore({ openStore }, { persistence: "file", path, memoryLimit }, entities);
  return {
    run: (step) => store[step](),
    megabytes: async () => process.memoryUsage().rss / mebibyte,
    async remove() {
      for (const folder of [path, `${path}-copy`])
        await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

// Imported only for Chromium, because its libraries take memory.
const place = chromium
  ? await (await import("./support/large-store-page.ts")).inChromium(entities, memoryLimit)
  : inNode();

async function measure(step: Step, name: string): Promise<string> {
  console.error(`${name}…`);
  let peak = 0;
  const sample = async () => {
    peak = Math.max(peak, await place.megabytes());
  };
  const sampling = setInterval(() => void sample().catch(() => {}), sampleMs);
  const began = performance.now();
  const result = await place.run(step);
  const seconds = (performance.now() - began) / 1000;
  clearInterval(sampling);
  await sample();
  return `| ${name} | ${seconds.toFixed(1)} | ${result} | ${peak.toFixed(0)} |`;
}

try {
  const where = chromium ? "Chromium" : "Node files";
  const lines = [
    `| ${entities.toLocaleString("en")} entities, ${where} | s | rate | RSS, MiB |`,
    "|---|---:|---:|---:|",
    `| before opening | | | ${(await place.megabytes()).toFixed(0)} |`,
  ];
  for (const [step, name] of steps) lines.push(await measure(step, name));
  console.log(lines.join("\n"));
} finally {
  await place.remove();
}
