// Kills processes that write to a synced store, behind a proxy with faults. Every write that was
// acknowledged must reach the remote.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { FaultProxy } from "../support/fault-proxy.ts";
import { seededRandom } from "../support/random.ts";
import { killAllServers, start } from "../support/server-process.ts";
import { SyncedStore, table, waitUntilEqual } from "../support/synced-store.ts";

after(killAllServers);

const seed = Number(process.env.ENTITABLE_SEED ?? 1);
const kills = Number(process.env.ENTITABLE_KILLS ?? 5);
const writer = fileURLToPath(new URL("../support/sync-writer.ts", import.meta.url));

/** Runs a writer, and kills it some time after its first write. Returns its last number. */
async function writeAndKill(path: string, url: string, first: number, ms: number): Promise<number> {
  const child = spawn(process.execPath, [writer, path, url, `${first}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const ended = once(child, "close");
  await once(child.stdout, "data");
  await delay(ms);
  child.kill("SIGKILL");
  await ended;
  return Number(out.split("\n").at(-2));
}

test(`writes of processes that are killed reach the remote, seed ${seed}`, async (t) => {
  const path = mkdtempSync(join(tmpdir(), "entitable-sync-kills-"));
  const served = await start(["--in-memory"]);
  const random = seededRandom(seed);
  await using proxy = await FaultProxy.start(served.endpoint(), random);
  t.after(() => rmSync(path, { recursive: true }));
  proxy.percent = 2;
  let last = -1;
  for (let kill = 0; kill < kills; ++kill)
    last = await writeAndKill(path, proxy.url, last + 1, random.below(600));
  proxy.percent = 0;
  const options = { path, url: proxy.url, table: { receipts: true, conflict: "local" } } as const;
  const killed = await SyncedStore.open({ ...options, name: "killed" });
  const other = await SyncedStore.open({ ...options, name: "other" });
  await waitUntilEqual(killed, other);
  for (let number = 0; number <= last; ++number) {
    const row = await other.store.table(table).getEntity("p", `${Math.floor(number / 100)}`);
    assert.equal(row[`s${number}`], number);
  }
  assert.equal(other.sync.status.lost + killed.sync.status.lost, 0);
  t.diagnostic(`${last + 1} writes, ${proxy.total} faults`);
  await killed.close();
  await other.close();
  await served.signal("SIGTERM");
});
