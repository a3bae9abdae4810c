// Tests that stores which share a beacon see each other's changes without scans of the table.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "../support/package.ts";
import { emulatorKey } from "../support/server-process.ts";
import { credential, startSync } from "../support/synced-store.ts";

const url = `http://127.0.0.1:10002/${credential.name}`;
const shared = { persistence: "memory", onWarning: () => {} } as const;

test("with a beacon, polls scan only what was changed", async (t) => {
  const account = { name: credential.name, keys: [emulatorKey], authorize: true };
  const remote = await openStore({ ...shared, account });
  t.after(() => remote.close());
  const requests: URL[] = [];
  const send: typeof fetch = (input, init) => {
    requests.push(new URL(String(input)));
    return (remote.fetch as typeof fetch)(input, init);
  };
  const open = async (name: string) => {
    const local = await openStore({ ...shared, name });
    t.after(() => local.close());
    const sync = await startSync(local, {
      remote: { url, credential, fetch: send },
      tables: { people: { beacon: "beacons" } },
      schedule: { minMs: 100, maxMs: 100 },
    });
    return { people: local.table("people"), sync };
  };
  const until = async (holds: () => boolean | Promise<boolean>) => {
    const end = performance.now() + 60_000;
    while (!(await holds())) {
      assert(performance.now() < end, "it does not hold within a minute");
      await delay(10);
    }
  };
  const [a, b] = [await open("a"), await open("b")];
  await a.people.createEntity({ partitionKey: "p", rowKey: "1" });
  await until(async () => (await b.people.count()) === 1 && b.sync.status.phase === "idle");
  await delay(1000);
  const before = requests.length;
  for (const rowKey of ["2", "3", "4"]) {
    await a.people.createEntity({ partitionKey: "p", rowKey });
    await until(async () => (await b.people.count()) === Number(rowKey));
  }
  const filters = requests
    .slice(before)
    .filter(({ pathname }) => pathname.endsWith("/people()"))
    .map(({ searchParams }) => searchParams.get("$filter") ?? "");
  assert(filters.length >= 3, `${filters.length} scans`);
  for (const filter of filters) assert.match(filter, /^PartitionKey eq 'p' and Timestamp ge/);
});
