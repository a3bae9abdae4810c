// Two profiles of Chromium and a process of Node sync with `entitable serve`, behind proxies with
// faults, and are killed again and again (support/sync-soak). `tests/soak sync-browsers` runs it
// for longer, and tests/differential/sync-soak.test.ts with Azurite.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { killAllServers, start } from "../web/support/server-process.ts";
import { seed, soakSettings, timeout } from "./support/sync-soak/settings.ts";
import { type SoakOptions, soak } from "./support/sync-soak/soak.ts";

after(killAllServers);

test(`two browsers and a process stay in step with a server, seed ${seed}`, {
  timeout,
}, async (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const served = await start(["--in-memory"]);
  const url = served.endpoint();
  const result = await soak({ ...soakSettings, url, isReliable: true });
  t.diagnostic(JSON.stringify(result));
  await served.signal("SIGTERM");
});

test("a store that forgets an acknowledged write is found", async () => {
  const served = await start(["--in-memory"]);
  const options: SoakOptions = {
    url: served.endpoint(),
    seed,
    isReliable: true,
    minutes: 0.2,
    kills: 0,
    browsers: 0,
    forgets: true,
  };
  await assert.rejects(soak(options), /own-node-\d: written .*, found/);
  await served.signal("SIGTERM");
});
