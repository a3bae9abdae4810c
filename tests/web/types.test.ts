// Compiles types.test-d.ts and the tests themselves.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("the types are correct", () => {
  const tsc = fileURLToPath(new URL("../../node_modules/.bin/tsc", import.meta.url));
  const run = spawnSync(tsc, ["-p", import.meta.dirname], { encoding: "utf8" });
  assert.equal(run.stdout, "");
  assert.equal(run.status, 0, run.stderr);
});
