// Two stores in files and `entitable serve` behind a proxy with faults: edits on both sides,
// restarts and conflicts, until both stores have the same rows.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { FaultProxy } from "../support/fault-proxy.ts";
import { type Random, seededRandom } from "../support/random.ts";
import { killAllServers, start } from "../support/server-process.ts";
import { SyncedStore, type TableOptions, table, waitUntilEqual } from "../support/synced-store.ts";

after(killAllServers);

const seed = Number(process.env.ENTITABLE_SEED ?? 1);
const steps = 60;

const policies: readonly [string, TableOptions][] = [
  ["remote", { conflict: "remote", receipts: true }],
  ["merge", { conflict: "merge", receipts: true }],
  ["local", { conflict: "local", receipts: true }],
  ["a function", { conflict: longer, receipts: true }],
];

/** The longer text wins; of two that are equally long, the remote's. */
function longer({ local, remote }: { local?: Entity; remote?: Entity }) {
  const length = (entity?: Entity) => String(entity?.["text"] ?? "").length;
  return length(local) > length(remote) ? "local" : "remote";
}
type Entity = Record<string, unknown> | undefined;

for (const [name, options] of policies) {
  test(`two stores are in step after faults, and ${name} wins, seed ${seed}`, async (t) => {
    const [a, b, proxy] = await openBoth(t, options);
    const random = seededRandom(seed);
    await a.store.table(table).createEntity({ partitionKey: "p", rowKey: "first" });
    await waitUntilEqual(a, b); // both are connected
    proxy.percent = 2;
    for (let step = 0; step < steps; ++step) {
      const store = random.below(2) === 0 ? a : b;
      if (step % 15 === 14) await store.restart();
      else await write(store, random, step);
      await delay(random.below(60));
    }
    proxy.percent = 0;
    await waitUntilEqual(a, b);
    assert((await a.rows()).size > 0);
    for (const { sync } of [a, b]) {
      assert.equal(sync.status.parked, 0);
      assert.equal(sync.status.outcomeUnknown, 0);
    }
    t.diagnostic(`${proxy.total} faults, ${a.sync.status.lost} and ${b.sync.status.lost} lost`);
  });
}

async function openBoth(t: TestContext, options: TableOptions) {
  const path = mkdtempSync(join(tmpdir(), "entitable-start-sync-"));
  const served = await start(["--in-memory"]);
  const proxy = await FaultProxy.start(served.endpoint(), seededRandom(seed));
  const open = (name: string) => SyncedStore.open({ path, name, url: proxy.url, table: options });
  const [a, b] = [await open("a"), await open("b")];
  t.after(async () => {
    await a.close();
    await b.close();
    await proxy[Symbol.asyncDispose]();
    await served.signal("SIGTERM");
    rmSync(path, { recursive: true });
  });
  return [a, b, proxy] as const;
}

async function write({ store }: SyncedStore, random: Random, step: number): Promise<void> {
  const people = store.table(table);
  const key = {
    partitionKey: ["p", "o'q"][random.below(2)] as string,
    rowKey: `${random.below(8)}`,
  };
  const text = `${step}`.repeat(1 + random.below(3));
  if (random.below(5) === 0) {
    await people.deleteEntity(key.partitionKey, key.rowKey).catch(ignoreAbsent);
  } else if (random.below(3) === 0) {
    await people.submitTransaction([
      ["upsert", { ...key, text }],
      ["upsert", { ...key, rowKey: "all", [`s${step}`]: step, share: 0.5 }],
    ]);
  } else await people.upsertEntity({ ...key, text, big: 12345678901n, at: new Date(0) });
}

function ignoreAbsent(error: { statusCode?: number }): void {
  if (error.statusCode !== 404) throw error;
}
