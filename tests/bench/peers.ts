// entitable beside its peers: the whole table, in one Chromium. README.md says what is measured, and `run` what can be asked for.

import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import puppeteer, { type Browser } from "puppeteer-core";
import { executable, flags, newProfile } from "../browser/support/browser.ts";
import { expected } from "./peers/expected.ts";
import { Results } from "./peers/results.ts";
import { roster } from "./peers/roster.ts";
import { runRound } from "./peers/round.ts";
import { type PeerSite, peerSite } from "./peers/site.ts";
import { count, everybody, growth, profiles, summary } from "./peers/table.ts";
import { shuffled } from "./peers/workload.ts";

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

let failed = false;

// All rounds of one size. A contestant that fails, or whose time is up, takes no part in later ones.
async function measure(browser: Browser, site: PeerSite, size: number): Promise<Results> {
  const entities = sizes[size] as number;
  const rounds = roundsOf(size);
  const results = new Results(entities, rounds);
  const wanted = expected(entities);
  const out = new Set(roster.filter(({ id }) => only?.includes(id) === false));
  for (let round = 1; round <= rounds; ++round) {
    for (const entry of shuffled(roster, seed + round)) {
      if (out.has(entry)) continue;
      const started = performance.now();
      const budgetMs = Number(options.budget) * 1000;
      const session = { id: entry.id, entities, seed: seed + round, budgetMs };
      try {
        const { profile } = options;
        const round = { browser, site, entry, session, expected: wanted, profile };
        const result = await runRound(round);
        results.add(entry.id, result);
        if (result.over !== undefined) out.add(entry);
      } catch (error) {
        failed = true;
        out.add(entry);
        console.error(entry.title, error);
      }
      const seconds = Math.round((performance.now() - started) / 1000);
      console.error(`${count(entities)}, round ${round}: ${entry.title}, ${seconds} s`);
    }
  }
  return results;
}

function report(all: readonly Results[], version: string): string {
  const cores = availableParallelism();
  const parts = [`${version}, ${cores} cores, seed ${seed}.`];
  for (const results of all) {
    const { entities, rounds } = results;
    parts.push(
      `### ${count(entities)} entities, ${rounds === 1 ? "one round" : `medians of ${rounds} rounds`}`,
    );
    parts.push(summary(results));
    parts.push(
      `Everybody${rounds === 1 ? "" : ", with the least and the most"}:`,
      everybody(results, options.budget),
    );
  }
  if (all.length > 1) parts.push("### What grows", growth(all));
  return parts.join("\n\n");
}

function write(text: string): void {
  const file = new URL("README.md", import.meta.url);
  const [begin, end] = ["<!-- peers: written by the command -->", "<!-- /peers -->"];
  const old = readFileSync(file, "utf8");
  const [from, to] = [old.indexOf(begin), old.indexOf(end)];
  if (from < 0 || to < from) throw new Error("README.md has no place for the table");
  const before = old.slice(0, from + begin.length);
  writeFileSync(file, `${before}\n\n${text}\n\n${old.slice(to)}`);
}

const site = await peerSite(options.package);
const profile = await newProfile();
const browser = await puppeteer.launch({
  executablePath: executable(),
  headless: true,
  userDataDir: profile.folder,
  args: flags,
  protocolTimeout: 3_600_000,
});
try {
  const version = await browser.version();
  const all: Results[] = [];
  for (const size of sizes.keys()) all.push(await measure(browser, site, size));
  const text = report(all, version);
  if (options.write && !failed) write(text);
  else console.log(text);
  if (options.profile) console.log(all.map(profiles).join("\n\n"));
} finally {
  await browser.close();
  await site.close();
  await profile.remove();
}
if (failed) process.exitCode = 1;
