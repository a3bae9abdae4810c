// Runs sync over HTTP against a process of `entitable serve`, behind a proxy with faults.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { profileOf } from "../../../web/src/sync-remote/profile.ts";
import { syncOverHttp } from "../support/real-sync.ts";
import { emulatorKey, killAllServers, ServerProcess, start } from "../support/server-process.ts";
import { asCosmos } from "./as-cosmos.ts";

after(killAllServers);

const credential = { name: "devstoreaccount1", key: emulatorKey };

const seed = Number(process.env.ENTITABLE_SEED ?? 1);

for (const hasReceipts of [true, false]) {
  const name = `${hasReceipts ? "with" : "without"} receipts, seed ${seed}`;
  test(`stores and the remote are in step after faults, ${name}`, async (t) => {
    const served = await start(["--in-memory", "--empty-pages", "0.1", "--scans", "azure"]);
    const url = served.endpoint();
    const options = { url, credential, table: "people", seed, hasReceipts, steps: 40 };
    const result = await syncOverHttp(options);
    t.diagnostic(JSON.stringify(result));
    assert(result.restarts >= 3 && result.faults >= 40 && result.full >= 2);
    await served.signal("SIGTERM");
  });
}

test(`stores and a server that is killed are in step afterwards, seed ${seed}`, async (t) => {
  const location = mkdtempSync(join(tmpdir(), "entitable-sync-"));
  t.after(() => rmSync(location, { recursive: true }));
  let served = await start(["--location", location]);
  const url = served.endpoint();
  const args = ["serve", "--port", String(served.port), "--location", location];
  const result = await syncOverHttp({
    url,
    credential,
    table: "people",
    seed,
    hasReceipts: true,
    steps: 40,
    async onStep(step) {
      if (step % 14 !== 13) return;
      await served.signal("SIGKILL"); // with requests on their way
      served = await new ServerProcess(args, {}).listening();
    },
  });
  t.diagnostic(JSON.stringify(result));
  await served.signal("SIGTERM");
});

test(`stores and a remote like Cosmos DB are in step after faults, seed ${seed}`, async (t) => {
  const served = await start(["--in-memory"]);
  const { traits, ...rest } = profileOf("cosmos");
  const result = await syncOverHttp({
    url: served.endpoint(),
    credential,
    table: "people",
    seed,
    hasReceipts: true,
    steps: 40,
    profile: { ...rest, traits: { ...traits, staleReadMs: 50 } },
    through: (send) => asCosmos(send, 40),
  });
  t.diagnostic(JSON.stringify(result));
  await served.signal("SIGTERM");
});
