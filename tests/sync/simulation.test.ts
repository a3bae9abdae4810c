// Simulates clients, other writers and accidents around a remote table that has every weakness that
// the services have, and checks the invariants of sync. Runs in processes of their own: node:test
// makes promises slow, and each mutant has its own instances of all modules.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { mutants } from "./mutants.ts";
import { recordedSeeds } from "./recorded-seeds.ts";

const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
const defaultSeeds = process.env["ENTITABLE_ALL"] ? 10_000 : 200;
const seeds = Number(process.env["ENTITABLE_ROUNDS"] ?? defaultSeeds);

/** Runs a script of this folder. Returns the objects that it prints, one in each line. */
function run(script: string, ...args: string[]): Record<string, unknown>[] {
  const path = new URL(script, import.meta.url).pathname;
  const options = { encoding: "utf8", maxBuffer: 1 << 26 } as const;
  const { stdout, stderr } = spawnSync(process.execPath, [path, ...args], options);
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  assert(lines.length > 0, stderr);
  return lines.map((line) => JSON.parse(line));
}

const simulate = (from: number, count: number, ...more: string[]) =>
  run("simulate.ts", "--from", String(from), "--seeds", String(count), ...more)[0] ?? {};

test("clients and a weak table stay in step in every order of events", (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const { failure, ...counts } = simulate(seed, seeds);
  const text = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  t.diagnostic(text.join(", "));
  assert.equal(failure, undefined, JSON.stringify(failure));
});

test("clients that follow a feed stay in step, too", (t) => {
  const from = seed - (seed % 13) + 11;
  const { failure, ...counts } = simulate(from, Math.ceil(seeds / 4), "--every", "13");
  t.diagnostic(`${counts["seeds"]} seeds from ${from}, ${counts["steps"]} steps`);
  assert.equal(failure, undefined, JSON.stringify(failure));
});

test("seeds that have failed do not fail any more", () => {
  for (const { seed: recorded, found } of recordedSeeds) {
    const { failure } = simulate(recorded, 1);
    assert.equal(failure, undefined, `${found} ${JSON.stringify(failure)}`);
  }
});

test("the same seed gives the same events", () => {
  assert.deepEqual(simulate(1, 3), simulate(1, 3, "--trace"));
});

test("each mutant is found", (t) => {
  assert(mutants.length >= 21);
  const found = run("canaries.ts");
  assert.deepEqual(
    found.map(({ name }) => name),
    mutants.map(({ name }) => name),
  );
  for (const { name, seed: at, message } of found) {
    t.diagnostic(`${name}: ${at}: ${message}`);
    assert(message, `no seed of 2,000 finds ${name}`);
  }
});
