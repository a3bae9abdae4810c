// Runs sync over HTTP against Azurite, behind a proxy with faults.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { generateAccountSas, generateTableSas } from "../../web/src/data-tables/sas.ts";
import { Http } from "../../web/src/sync-remote/http.ts";
import { HttpRemote } from "../../web/src/sync-remote/http-remote.ts";
import { profileOf } from "../../web/src/sync-remote/profile.ts";
import { checkDoctor } from "../web/support/doctor-process.ts";
import { checkEdgeEntities } from "../web/support/edge-entities.ts";
import { syncOverHttp } from "../web/support/real-sync.ts";
import { spawnAzurite } from "./backends.ts";
import { account, key } from "./sign.ts";

const credential = { name: account, key };
const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
const seed = Number(process.env.ENTITABLE_SEED ?? 1);

async function createTable(http: Http): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const body = '{"TableName":"people"}';
  await http.send({ method: "POST", path: "Tables", headers, body });
}

for (const hasReceipts of [true, false]) {
  const name = `${hasReceipts ? "with" : "without"} receipts, seed ${seed}`;
  test(`stores and Azurite are in step after faults, ${name}`, async (t) => {
    const { child, base: url } = await spawnAzurite();
    try {
      const options = { url, credential, table: "people", seed, hasReceipts, steps: 40 };
      const result = await syncOverHttp(options);
      t.diagnostic(JSON.stringify(result));
      assert(result.restarts >= 3 && result.faults >= 40 && result.full >= 2);
    } finally {
      child.kill("SIGKILL");
    }
  });
}

test("Azurite's entities with any keys and values are written, read and scanned", async () => {
  const { child, base: url } = await spawnAzurite();
  try {
    const http = new Http({ url, credential, now });
    await createTable(http);
    const profile = profileOf("azurite");
    const remote = new HttpRemote(http, { table: "people", client: "me", profile });
    await checkEdgeEntities(remote, () => false, ["zero"]); // -0 becomes 0
  } finally {
    child.kill("SIGKILL");
  }
});

test("Azurite is measured by the command", async (t) => {
  const { child, base: url } = await spawnAzurite();
  try {
    const report = await checkDoctor(url, []);
    t.diagnostic(report);
    assert.match(report, /: Azurite$/m);
    assert.match(report, /A filter by Timestamp works/);
    assert.match(report, /A batch of 100 operations is executed/);
    assert.match(report, /A page of https:\/\/app\.example cannot write/);
    const measured = JSON.parse(await checkDoctor(url, ["--json"]));
    assert.equal(measured.probe.profile.isTimestampInETag, true);
    assert(Math.abs(measured.clock.aheadMs) <= measured.clock.uncertainMs);
  } finally {
    child.kill("SIGKILL");
  }
});

test("Azurite accepts a push with an account's signature, but not with a table's", async () => {
  const { child, base: url } = await spawnAzurite();
  try {
    await createTable(new Http({ url, credential, now }));
    const permissions = { query: true, add: true, update: true, delete: true };
    const signatures = {
      applied: generateAccountSas(credential, { permissions: { ...permissions, write: true } }),
      unauthorized: generateTableSas("people", credential, { permissions }),
    };
    for (const [kind, signature] of Object.entries(signatures)) {
      const http = new Http({ url, credential: { signature }, now });
      const profile = profileOf("azurite");
      const remote = new HttpRemote(http, { table: "people", client: "me", profile });
      const members = [{ key: "p\x001", base: { kind: "absent" }, intended: new Map() }] as const;
      const token = randomUUID();
      const push = { partition: "p", token, upTo: 1, groups: 1, members, idleKeys: [] };
      assert.equal((await remote.push(push, Number.POSITIVE_INFINITY)).kind, kind);
      assert.equal((await remote.read("p\x002")).kind, "absent");
    }
  } finally {
    child.kill("SIGKILL");
  }
});
