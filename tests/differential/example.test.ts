// The example's tests that need servers: its own tests, unchanged, against Azurite; and `npm run
// dev`.

import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { spawnAzurite } from "./backends.ts";

const cwd = fileURLToPath(new URL("../../demo/example", import.meta.url));

test("the example passes its tests against Azurite", async (t) => {
  const { child, base } = await spawnAzurite();
  t.after(() => child.kill("SIGKILL"));
  const chromium = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  const env = { ENTITABLE_CHROMIUM: chromium, ...process.env, AZURITE_TABLES: base, NO_COLOR: "1" };
  const run = await promisify(execFile)("npm", ["run", "test:azurite"], { cwd, env });
  // The skipped tests need failures that Azurite cannot simulate. All others pass.
  const [, good = "", unitTests = ""] =
    /^ +Tests +(\d+) passed \| 3 skipped \((\d+)\)$/m.exec(run.stdout) ?? [];
  const [, appTests = ""] = /^Running (\d+) tests /m.exec(run.stdout) ?? [];
  assert.match(run.stdout, /^ +2 skipped$/m);
  const [, appGood = ""] = /^ +(\d+) passed \(/m.exec(run.stdout) ?? [];
  assert(Number(good) >= 5 && Number(good) === Number(unitTests) - 3, run.stdout);
  assert(Number(appGood) >= 10 && Number(appGood) === Number(appTests) - 2, run.stdout);
});

test("the example has a list to play with", async (t) => {
  const child = spawn(process.execPath, ["dev.ts"], {
    cwd,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  let site: string | undefined;
  // Vite prints more later.
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    said += chunk;
    site = /http:\/\/\S+:\d+\//.exec(said)?.[0];
    if (site !== undefined) break;
  }
  child.stdout.resume();
  assert.match(await (await fetch(site ?? "")).text(), /main\.tsx/);
  assert.match(await (await fetch(`${site}offline.html`)).text(), /offline\.tsx/);
  const { endpoint, table, sas } = await (await fetch(`${site}session.json`)).json();
  const rows = await (await fetch(`${endpoint}/${table}()?${sas}`)).json();
  assert.ok(rows.value.length > 20);
  const unsigned = await fetch(`${endpoint}/${table}()`);
  assert.equal(unsigned.status, 403);
});
