// The example's own tests, unchanged, against Azurite.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { spawnAzurite } from "./sides.ts";

test("the example passes its tests against Azurite", async (t) => {
  const { child, base } = await spawnAzurite();
  t.after(() => child.kill("SIGKILL"));
  const cwd = fileURLToPath(new URL("../../demo/example", import.meta.url));
  const chromium = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  const env = { ENTITABLE_CHROMIUM: chromium, ...process.env, AZURITE_TABLES: base, NO_COLOR: "1" };
  const run = await promisify(execFile)("npm", ["run", "test:azurite"], { cwd, env });
  assert.match(run.stdout, /^ +Tests +5 passed \(5\)$/m);
  assert.match(run.stdout, /^ +5 passed \(/m);
});
