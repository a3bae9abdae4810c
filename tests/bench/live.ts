// Measures live queries of entitable and of other databases in one Chromium. README.md describes
// the measurements, and `run` the options.

import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { flags, newProfile } from "../browser/support/browser.ts";
import { launch } from "../browser/support/puppeteer.ts";
import { type ComparedLiveDatabase, liveDatabases, liveLibraries } from "./live/databases.ts";
import { LiveResults } from "./live/results.ts";
import { isMeasured, type LiveGroup, type LiveSizes, liveGroups, runGroup } from "./live/round.ts";
import { liveReport } from "./live/table.ts";
import { peerSite, staging } from "./peers/site.ts";
import { shuffled } from "./peers/workload.ts";
import { writeTable } from "./support/readme.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    only: { type: "string" },
    groups: { type: "string" },
    small: { type: "boolean", default: false },
    budget: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    package: { type: "string", default: staging },
    write: { type: "boolean", default: false },
  },
});

const full: LiveSizes = {
  rows: 100_000,
  total: 1_000_000,
  queries: 10_000,
  watches: 100_000,
  list: 10_000,
  inserts: 20_000,
  insertsMs: 4000,
  messages: 200,
  listMs: 3000,
};
const small: LiveSizes = {
  rows: 10_000,
  total: 20_000,
  queries: 1000,
  watches: 10_000,
  list: 1000,
  inserts: 4000,
  insertsMs: 500,
  messages: 50,
  listMs: 1000,
};

// If a group of a peer takes more seconds than this, it takes part in only so many rounds.
const slowSeconds = 30;
const slowRounds = 3;

interface Job {
  entry: ComparedLiveDatabase;
  group: LiveGroup;
}

// What is measured in a round, in the order of the table.
function jobs(): Job[] {
  const only = options.only?.split(",");
  const groups = options.groups?.split(",");
  return liveDatabases.flatMap((entry) => {
    if (only?.includes(entry.id) === false) return [];
    return (Object.keys(liveGroups) as LiveGroup[])
      .filter((group) => groups?.includes(group) !== false)
      .filter((group) => isMeasured(entry.id, group))
      .map((group) => ({ entry, group }));
  });
}

const sizes = options.small ? small : full;
const rounds = Number(options.rounds);
const seed = Number(options.seed);
const results = new LiveResults();
const site = await peerSite({
  page: new URL("live/page.ts", import.meta.url),
  libraries: liveLibraries,
  unpacked: options.package,
  named: false,
});
const profile = await newProfile();
const browser = await launch(profile, { args: [...flags, "--js-flags=--expose-gc"] });
const load = (loadavg()[0] ?? 0).toFixed(1);
const machine = `${await browser.version()}, ${availableParallelism()} cores, load average ${load} at the start, seed ${seed}`;

let report = "";

async function measure(): Promise<void> {
  const dropped = new Set<string>();
  for (let round = 1; round <= rounds; ++round) {
    for (const { entry, group } of shuffled(jobs(), seed + round)) {
      const name = `${entry.title}, ${group}`;
      if (dropped.has(name)) continue;
      const budgetMs = Number(options.budget) * 1000;
      const result = await runGroup(group, { browser, site, entry, round, sizes, budgetMs });
      if (!browser.connected) throw new Error("The browser was closed.");
      results.add(entry.id, group, result);
      const { seconds, stopped } = result;
      const isSlow = entry.id !== "entitable" && seconds > slowSeconds && round >= slowRounds;
      if (stopped !== undefined || isSlow) dropped.add(name);
      console.error(`round ${round}: ${name}, ${seconds.toFixed(0)} s ${stopped ?? ""}`);
    }
    // after each round, so that results are not lost
    const done = round === 1 ? "one round" : `medians of ${round} rounds`;
    report = liveReport(`${machine}, ${done}.`, results, sizes);
    if (options.write) writeTable("live", report);
  }
}

try {
  await measure();
  console.log(report);
} finally {
  await browser.close();
  await site.close();
  await profile.remove();
}
