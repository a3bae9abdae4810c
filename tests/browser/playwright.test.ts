// Runs fixture/tables.spec.ts and the site's test by Playwright's own runner, in real Chromium.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newProject } from "../web/support/project.ts";
import { codeBlockWith } from "../web/support/readme.ts";
import { executable, flags } from "./support/browser.ts";
import { serve } from "./support/server.ts";

const exec = promisify(execFile);

// The application that the site's test uses.
const app = `<!doctype html>
<title>lamps</title>
<button>Add</button>
<script>
  document.querySelector("button").onclick = () =>
    fetch("http://127.0.0.1:10002/devstoreaccount1/lamps", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ PartitionKey: "desk", RowKey: "0042" }),
    });
</script>`;

test("entitable/playwright", async (t) => {
  const project = newProject(["@playwright/test"]);
  t.after(() => rmSync(project, { recursive: true }));
  const spec = fileURLToPath(new URL("fixture/tables.spec.ts", import.meta.url));
  copyFileSync(spec, join(project, "tables.spec.ts"));
  writeFileSync(
    join(project, "readme.spec.ts"),
    codeBlockWith("demo/site/pages/recipes/playwright.md", "js", "entitable/playwright"),
  );
  const site = await serve(project, { override: () => ({ body: app }) });
  t.after(() => site.close());
  const launchOptions = { executablePath: executable(), args: flags };
  const config = { workers: 1, reporter: "json", use: { baseURL: site.url, launchOptions } };
  writeFileSync(
    join(project, "playwright.config.js"),
    `export default ${JSON.stringify(config)};\n`,
  );
  const cli = join(project, "node_modules/@playwright/test/cli.js");
  const run = await exec(process.execPath, [cli, "test"], { cwd: project }).catch((e) => e);
  const report = JSON.parse(run.stdout);
  const { expected, unexpected, flaky, skipped } = report.stats;
  assert.deepEqual([expected, unexpected, flaky, skipped], [11, 0, 0, 0], run.stdout);
});
