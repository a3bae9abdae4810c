// Runs simulations of tests/sync over the real engine: each commit is made in the engine, too, and
// both stores must have the same (tests/sync/engine-mirror.ts).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
const defaultSeeds = process.env["ENTITABLE_ALL"] ? 200 : 4;
const seeds = Number(process.env["ENTITABLE_ROUNDS"] ?? defaultSeeds);

test("clients stay in step over the real engine", (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const script = fileURLToPath(new URL("../sync/simulate.ts", import.meta.url));
  const args = [script, "--engine", "--from", String(seed), "--seeds", String(seeds)];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const line = stdout.split("\n").find((text) => text.startsWith("{"));
  assert(line, stderr);
  const { failure, ...counts } = JSON.parse(line) as Record<string, unknown>;
  t.diagnostic(JSON.stringify(counts));
  assert.equal(failure, undefined, JSON.stringify(failure));
});
