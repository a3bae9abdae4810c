// Compares entitable with other databases (its peers), in one Chromium and in Node. Writes the
// whole table. README.md describes the measurements, and `run` the options.

import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Browser } from "puppeteer-core";
import { flags, newProfile } from "../browser/support/browser.ts";
import { launch } from "../browser/support/puppeteer.ts";
import { databases, libraries } from "./peers/databases.ts";
import { expected } from "./peers/expected.ts";
import { Results } from "./peers/results.ts";
import { type RoundResult, runRound } from "./peers/round.ts";
import { type PeerSite, peerSite, staging } from "./peers/site.ts";
import { componentTable, count, functionTable, report } from "./peers/table.ts";
import { shuffled } from "./peers/workload.ts";
import { writeTable } from "./support/readme.ts";

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "100000" },
    rounds: { type: "string", default: "3" },
    only: { type: "string" },
    budget: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    package: { type: "string", default: staging },
    profile: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const seed = Number(options.seed);
const numbers = (list: string) => list.split(",").map(Number);
const sizes = numbers(options.sizes);
const only = options.only?.split(",");

// Returns the number of rounds for the size with this index. The last value of --rounds is for all
// further sizes.
const roundsOf = (size: number) =>
  numbers(options.rounds)
    .slice(0, size + 1)
    .at(-1) ?? 1;

// Returns how many seconds a database gets for a step. On a quiet machine, all but the slowest
// databases need far less.
const budgetOf = (entities: number) => Number(options.budget ?? Math.max(10, entities / 4000));

// If a round of a peer takes more seconds than this, the peer takes part in no further round.
const roundLimitOf = (entities: number) => Math.max(20, entities / 2000);

const all: Results[] = [];

interface BenchEnvironment {
  browser: Browser;
  site: PeerSite;
  node: { package: string; folder: string };
}

// Runs all rounds of one size. A database that stopped early takes part in no later round, and
// neither does a peer that took too long.
async function measure({ browser, site, node }: BenchEnvironment, size: number): Promise<void> {
  const entities = sizes[size] as number;
  const rounds = roundsOf(size);
  const results = new Results(entities, rounds);
  all.push(results);
  const expectedDigests = expected(entities);
  const budgetMs = budgetOf(entities) * 1000;
  const dropped = new Set(databases.filter(({ id }) => only?.includes(id) === false));
  for (let round = 1; round <= rounds; ++round) {
    for (const entry of shuffled(databases, seed + round)) {
      if (dropped.has(entry)) continue;
      const where = entry.runsIn === "node" ? node : undefined;
      const session = { id: entry.id, entities, seed: seed + round, budgetMs, node: where };
      const { profile } = options;
      const result = await runRound({
        browser,
        site,
        entry,
        session,
        expected: expectedDigests,
        profile,
      });
      results.add(entry.id, result);
      const tooLong = entry.ours !== true && result.seconds > roundLimitOf(entities);
      if (result.stopped !== undefined || tooLong) dropped.add(entry);
      console.error(`${count(entities)}, round ${round}: ${entry.title}, ${spent(result)}`);
      if (options.write) write(); // writes after each round, so that results are not lost
    }
  }
}

// Writes the results. Times of a profiled run are left out, because the profiler distorts them.
function write(): void {
  if (options.profile) writeTable("profile", componentTable(machine, all));
  else writeTable("peers", report(machine, all));
}

function spent({ seconds, longest, stopped }: RoundResult): string {
  const most = `${longest.seconds.toFixed(0)} of it for ${longest.step}`;
  return `${seconds.toFixed(0)} s, ${most}${stopped === undefined ? "" : `; ${stopped.why}`}`;
}

const site = await peerSite({
  page: new URL("peers/page.ts", import.meta.url),
  libraries,
  unpacked: options.package,
  named: options.profile,
});
const profile = await newProfile();
const folder = await mkdtemp(join(tmpdir(), "entitable-bench-"));
const node = { package: pathToFileURL(resolve(options.package, "dist/index.js")).href, folder };
const browser = await launch(profile, { args: [...flags, "--js-flags=--expose-gc"] });
const load = (loadavg()[0] ?? 0).toFixed(1);
const machine = `${await browser.version()}, Node ${process.version}, ${availableParallelism()} cores, load average ${load} at the start, seed ${seed}.`;
try {
  for (const size of sizes.keys()) await measure({ browser, site, node }, size);
  console.log(report(machine, all));
  if (options.profile)
    console.log(componentTable(machine, all), all.map(functionTable).join("\n\n"));
} finally {
  await browser.close();
  await site.close();
  await profile.remove();
  await rm(folder, { recursive: true, force: true });
}
