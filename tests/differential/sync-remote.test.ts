// Runs sync over HTTP against Azurite, behind a proxy with faults.

import assert from "node:assert/strict";
import { test } from "node:test";
import { syncOverHttp } from "../web/support/real-sync.ts";
import { spawnAzurite } from "./backends.ts";
import { account, key } from "./sign.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? 1);

for (const hasReceipts of [true, false]) {
  const name = `${hasReceipts ? "with" : "without"} receipts, seed ${seed}`;
  test(`stores and Azurite are in step after faults, ${name}`, async (t) => {
    const { child, base: url } = await spawnAzurite();
    try {
      const credential = { name: account, key };
      const options = { url, credential, table: "people", seed, hasReceipts, steps: 40 };
      const result = await syncOverHttp(options);
      t.diagnostic(JSON.stringify(result));
      assert(result.restarts >= 3 && result.faults >= 40);
    } finally {
      child.kill("SIGKILL");
    }
  });
}
