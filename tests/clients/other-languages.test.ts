// Runs Debian's Python and Go clients against `entitable serve`. Each of their checks is a test
// here. The clients are system packages (scripts/setup), so the system's Python and Go run them.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { emulatorKey, killAllServers, start } from "../web/support/server-process.ts";

after(killAllServers);

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const certificate = pathOf("../web/support/localhost.pem");

// A line that checks.py prints.
type Line = { checks: number } | { name: string; error: string | null };

async function checksOf(
  [program, ...words]: [string, ...string[]],
  checksMin: number,
  context: TestContext,
): Promise<void> {
  const served = await start(["--in-memory", "--auth", "strict"]);
  const secure = await start(["--in-memory", "--cert", certificate, "--key", certificate]);
  const child = spawn(program, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      PYTHONIOENCODING: "utf-8",
      ENTITABLE_URL: served.endpoint(),
      ENTITABLE_ACCOUNT: "devstoreaccount1",
      ENTITABLE_KEY: emulatorKey,
      ENTITABLE_SECURE_URL: secure.endpoint(),
      ENTITABLE_CERTIFICATE: certificate,
    },
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    complaints += text;
  });
  let planned = 0;
  let ran = 0;
  for await (const text of createInterface(child.stdout)) {
    const line = JSON.parse(text) as Line;
    if ("checks" in line) {
      planned = line.checks;
      continue;
    }
    ++ran;
    await context.test(line.name, () => assert(line.error === null, line.error ?? ""));
  }
  const [code] = await closed;
  assert.equal(code, 0, complaints);
  assert.equal(ran, planned, complaints);
  assert(ran >= checksMin, `${ran} checks`);
}

const python = (script: string): [string, ...string[]] => [
  "/usr/bin/python3",
  "-B",
  pathOf(script),
];

test("azure.data.tables", (context) => checksOf(python("data_tables.py"), 28, context));

test("azure.cosmosdb.table", (context) => checksOf(python("cosmosdb_table.py"), 24, context));

test("azure-sdk-for-go/storage", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "entitable-go-"));
  try {
    const program = join(folder, "storage");
    await promisify(execFile)("/usr/bin/go", ["build", "-o", program, "."], {
      cwd: pathOf("go-storage"),
      env: {
        PATH: process.env["PATH"],
        GO111MODULE: "off",
        GOPATH: "/usr/share/gocode",
        GOCACHE: join(folder, "cache"),
      },
    });
    await checksOf([program], 24, context);
  } finally {
    await rm(folder, { recursive: true });
  }
});
