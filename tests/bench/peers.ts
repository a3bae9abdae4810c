// entitable beside its peers: the whole table, in one Chromium. README.md says what is measured, and `run` what can be asked for.

import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import puppeteer, { type Browser } from "puppeteer-core";
import { executable, flags, newProfile } from "../browser/support/browser.ts";
import { expected } from "./peers/expected.ts";
import { Results } from "./peers/results.ts";
import { roster } from "./peers/roster.ts";
import { runRound } from "./peers/round.ts";
import { type PeerSite, peerSite } from "./peers/site.ts";
import { count, profiles, report } from "./peers/table.ts";
import { shuffled } from "./peers/workload.ts";
import { writeTable } from "./support/readme.ts";

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "100000" },
    rounds: { type: "string", default: "3" },
    only: { type: "string" },
    budget: { type: "string", default: "120" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    package: { type: "string" },
    profile: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const seed = Number(options.seed);
const numbers = (list: string) => list.split(",").map(Number);
const sizes = numbers(options.sizes);
const only = options.only?.split(",");

// The last of --rounds is for all further sizes.
const roundsOf = (size: number) =>
  numbers(options.rounds)
    .slice(0, size + 1)
    .at(-1) ?? 1;

const all: Results[] = [];

// All rounds of one size. A contestant that stops before its end takes no part in later ones.
async function measure(browser: Browser, site: PeerSite, size: number): Promise<void> {
  const entities = sizes[size] as number;
  const rounds = roundsOf(size);
  const results = new Results(entities, rounds);
  all.push(results);
  const wanted = expected(entities);
  const out = new Set(roster.filter(({ id }) => only?.includes(id) === false));
  for (let round = 1; round <= rounds; ++round) {
    for (const entry of shuffled(roster, seed + round)) {
      if (out.has(entry)) continue;
      const started = performance.now();
      const budgetMs = Number(options.budget) * 1000;
      const session = { id: entry.id, entities, seed: seed + round, budgetMs };
      const { profile } = options;
      const result = await runRound({ browser, site, entry, session, expected: wanted, profile });
      results.add(entry.id, result);
      if (result.stopped !== undefined) out.add(entry);
      const seconds = Math.round((performance.now() - started) / 1000);
      const stopped = result.stopped === undefined ? "" : `, ${result.stopped.why}`;
      console.error(`${count(entities)}, round ${round}: ${entry.title}, ${seconds} s${stopped}`);
      if (options.write) writeTable("peers", report(machine, all)); // what is done is not lost
    }
  }
}

const site = await peerSite(options.package, options.profile);
const profile = await newProfile();
const browser = await puppeteer.launch({
  executablePath: executable(),
  headless: true,
  userDataDir: profile.folder,
  args: flags,
  protocolTimeout: 3_600_000,
});
const load = (loadavg()[0] ?? 0).toFixed(1);
const machine = `${await browser.version()}, ${availableParallelism()} cores, load average ${load} at the start, seed ${seed}.`;
try {
  for (const size of sizes.keys()) await measure(browser, site, size);
  console.log(report(machine, all));
  if (options.profile) console.log(all.map(profiles).join("\n\n"));
} finally {
  await browser.close();
  await site.close();
  await profile.remove();
}
