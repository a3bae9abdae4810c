// Two profiles of Chromium and a process of Node sync with Azurite, as
// tests/browser/sync-soak.test.ts does with `entitable serve`. README.md says what Azurite breaks.

import { test } from "node:test";
import { seed, soakSettings, timeout } from "../browser/support/sync-soak/settings.ts";
import { soak } from "../browser/support/sync-soak/soak.ts";
import { spawnAzurite } from "./backends.ts";

test(`two browsers and a process stay in step with Azurite, seed ${seed}`, {
  timeout,
}, async (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const { child, base: url } = await spawnAzurite();
  try {
    t.diagnostic(JSON.stringify(await soak({ ...soakSettings, url, isReliable: false })));
  } finally {
    child.kill("SIGKILL");
  }
});
