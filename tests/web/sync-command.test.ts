// Runs `entitable sync` as a process, against `entitable serve`.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import * as util from "node:util";
import { parseArguments } from "../../web/src/server/arguments.ts";
import { UsageError } from "../../web/src/server/usage-error.ts";
import { openStore } from "./support/package.ts";
import { killAllServers, run, ServerProcess, start } from "./support/server-process.ts";
import { startSync } from "./support/synced-store.ts";

after(killAllServers);

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "entitable-sync-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function rowsIn(path: string, table: string): Promise<string> {
  const store = await openStore({ persistence: "file", path });
  const rows: unknown[] = [];
  for await (const { rowKey } of store.table(table).listEntities()) rows.push(rowKey);
  await store.close();
  return rows.join();
}

/** Writes a row to the remote, through another store. */
async function writeRow(url: string, rowKey: string): Promise<void> {
  const store = await openStore({ persistence: "memory" });
  const { emulatorKey } = await import("./support/server-process.ts");
  const credential = { name: "devstoreaccount1", key: emulatorKey };
  const sync = await startSync(store, { remote: { url, credential }, tables: { people: {} } });
  await store.table("people").createEntity({ partitionKey: "p", rowKey });
  assert.equal((await sync.now()).complete, true);
  await sync.stop();
  await store.close();
}

describe("entitable sync", () => {
  test("--once makes a copy of a table, and sends what was written there", async (t) => {
    const served = await start(["--in-memory"]);
    await writeRow(served.endpoint(), "1");
    const folder = newFolder(t);
    const args = ["sync", served.endpoint(), "--table", "people", "--location", folder, "--once"];
    const first = await run(args);
    assert.deepEqual([first.code, first.err], [0, ""]);
    assert.equal(await rowsIn(folder, "people"), "1");
    await writeRow(served.endpoint(), "2");
    assert.equal((await run([...args, "--consistent", "partition"])).code, 0);
    assert.equal(await rowsIn(folder, "people"), "1,2");
    await served.signal("SIGTERM");
  });

  test("--once fails if the remote cannot be reached, without its signature", async (t) => {
    const url = "http://127.0.0.1:1/devstoreaccount1?sv=2019-02-02&sig=secret";
    const folder = newFolder(t);
    const args = ["sync", url, "--table", "people", "--location", folder, "--once"];
    const { code, err, out } = await run(args);
    assert.equal(code, 1);
    assert.match(err, /do not have the same yet/);
    assert(!(err + out).includes("secret"));
  });

  test("follows the remote until it is stopped", async (t) => {
    const served = await start(["--in-memory"]);
    await writeRow(served.endpoint(), "1");
    const folder = newFolder(t);
    const args = ["sync", served.endpoint(), "--table", "people", "--location", folder];
    const syncing = await new ServerProcess(args, {}).printed(/^idle: 0 pending/);
    const { code } = await syncing.signal("SIGTERM");
    assert.equal(code, 0);
    assert.equal(await rowsIn(folder, "people"), "1");
    await served.signal("SIGTERM");
  });

  test("prints its options", async () => {
    const { code, out } = await run(["sync", "--help"]);
    assert.equal(code, 0);
    assert.match(out, /--once/);
  });
});

const url = "https://lamps.table.core.windows.net";
const complete = ["sync", url, "--table", "people", "--location", "here"];

const wrong: readonly [words: readonly string[], message: RegExp][] = [
  [["sync"], /one URL/],
  [["sync", url, url], /one URL/],
  [["sync", url], /--table NAME/],
  [["sync", url, "--table", "people"], /--location FOLDER/],
  [["sync", "lamps", "--table", "people", "--location", "here"], /http/],
  [[...complete, "--table"], /--table needs a value/],
  [[...complete, "--direction", "down"], /--direction must be both, pull, push, not down/],
  [[...complete, "--conflict", "mine"], /--conflict must be remote, merge, local, not mine/],
  [[...complete, "--consistent", "table"], /--consistent must be partition, not table/],
  [[...complete, "--once=yes"], /no option --once/],
  [[...complete, "--port", "1"], /no option --port/],
];

for (const [words, message] of wrong) {
  test(`${words.join(" ")} is refused`, () => {
    assert.throws(
      () => parseArguments(words, util),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  });
}

test("the credential is a key of the environment, the emulator's key, or in the URL", () => {
  const credentialOf = (at: string, env = {}) => {
    const words = ["sync", at, "--table", "people", "--location", "here"];
    const command = parseArguments(words, util, { env });
    assert(typeof command === "object" && "sync" in command);
    return command.sync.credential;
  };
  const env = { AZURE_STORAGE_KEY: "a2V5" };
  assert.deepEqual(credentialOf(url, env), { name: "lamps", key: "a2V5" });
  assert.equal(credentialOf(url), undefined);
  assert.equal(credentialOf(`${url}?sig=x`, env), undefined);
  const emulator = credentialOf("http://127.0.0.1:10002/devstoreaccount1");
  assert.equal(emulator?.name, "devstoreaccount1");
});
