// entitable/playwright under Playwright's own runner, in real Chromium: fixture/tables.spec.ts.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newProject } from "../web/support/project.ts";
import { executable, flags } from "./support/browser.ts";

const exec = promisify(execFile);

test("entitable/playwright", async (t) => {
  const project = newProject(["@playwright/test"]);
  t.after(() => rmSync(project, { recursive: true }));
  const spec = fileURLToPath(new URL("fixture/tables.spec.ts", import.meta.url));
  copyFileSync(spec, join(project, "tables.spec.ts"));
  const launchOptions = { executablePath: executable(), args: flags };
  const config = { workers: 1, reporter: "json", use: { launchOptions } };
  writeFileSync(
    join(project, "playwright.config.js"),
    `export default ${JSON.stringify(config)};\n`,
  );
  const cli = join(project, "node_modules/@playwright/test/cli.js");
  const run = await exec(process.execPath, [cli, "test"], { cwd: project }).catch((e) => e);
  const report = JSON.parse(run.stdout);
  const { expected, unexpected, flaky, skipped } = report.stats;
  assert.deepEqual([expected, unexpected, flaky, skipped], [6, 0, 0, 0], run.stdout);
});
