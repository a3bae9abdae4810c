// Tests that local writes are checked against the limits of Cosmos DB once a remote is known to be
// one, with a store as the remote.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Store, TransactionAction } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";
import { credential, startSync } from "../support/synced-store.ts";
import { asCosmos } from "../sync-remote/as-cosmos.ts";

const url = `http://127.0.0.1:10002/${credential.name}`;
const onWarning = () => {};

type Send = typeof fetch;

interface World {
  /** Opens the local store, again if it was closed. */
  open(): Promise<Store>;
  readonly remote: Store;
  /** Syncs with the remote, which says that it is this service. */
  start(local: Store, server: string): ReturnType<typeof startSync>;
}

async function openWorld(t: TestContext): Promise<World> {
  const path = mkdtempSync(join(tmpdir(), "entitable-limits-"));
  const account = { name: credential.name };
  const remote = await openStore({ persistence: "memory", onWarning, account });
  await remote.table("people").createTable();
  const stores: Store[] = [remote];
  t.after(async () => {
    for (const store of stores) await store.close();
    rmSync(path, { recursive: true });
  });
  return {
    remote,
    async open() {
      const store = await openStore({ persistence: "file", path, onWarning });
      stores.push(store);
      return store;
    },
    async start(local, server) {
      const plain = remote.fetch as Send;
      const send = server === cosmos ? (asCosmos(plain) as Send) : plain;
      const named: Send = async (input, init) => {
        const response = await send(input, init);
        response.headers.set("Server", server);
        return response;
      };
      const sync = await startSync(local, {
        remote: { url, fetch: named },
        tables: { people: {} },
        schedule: { minMs: 100, maxMs: 200 },
      });
      t.after(() => sync.stop());
      return sync;
    },
  };
}

const cosmos = "Microsoft-HTTPAPI/2.0";
const azure = "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0";

const longest = "r".repeat(255);
const tooLong = `${longest}r`;

const put = (store: Store, rowKey: string, properties: object = { age: 1 }) =>
  store.table("people").upsertEntity({ partitionKey: "p", rowKey, ...properties }, "Replace");

const large = (bytes: number): TransactionAction[] =>
  Array.from({ length: 100 }, (_, i) => [
    "upsert",
    { partitionKey: "large", rowKey: String(i), text: "x".repeat(bytes / 100) },
  ]);

async function rowKeysOf(store: Store): Promise<string[]> {
  const keys: string[] = [];
  for await (const { rowKey } of store.table("people").listEntities()) keys.push(String(rowKey));
  return keys;
}

const refusal = (code: string, statusCode: number, hint: string) => ({
  name: "RestError",
  code,
  statusCode,
  hint: `The table "people" is synced with Cosmos DB, ${hint}`,
});

const longRowKey = refusal(
  "PropertyValueTooLarge",
  400,
  "whose row keys have at most 255 bytes; this rowKey has 256. Use a hash, or part of the text.",
);
const reservedName = refusal(
  "PropertyNameInvalid",
  400,
  'which reserves the property name "ETag". Use another name.',
);
const storedName = refusal(
  "PropertyNameInvalid",
  400,
  'which reserves the property names id, rid, etag and ResourceId. The stored entity with partitionKey "p" and rowKey "a" has one of them. Replace it by an entity without it.',
);
const largeTransaction = refusal(
  "RequestBodyTooLarge",
  413,
  "whose transactions have at most 2 MB, including headers. Write fewer entities at once; bulk() does so.",
);

test("writes that Cosmos DB cannot store are refused, and the largest others reach it", async (t) => {
  const world = await openWorld(t);
  const local = await world.open();
  const sync = await world.start(local, cosmos);
  await sync.now();
  const people = local.table("people");
  await assert.rejects(put(local, tooLong), longRowKey);
  await assert.rejects(put(local, "a", { ETag: 1 }), reservedName);
  await assert.rejects(people.submitTransaction(large(1_950_000)), largeTransaction);
  await assert.rejects(
    people.submitTransaction([
      ["create", { partitionKey: "p", rowKey: "a" }],
      ["create", { partitionKey: "p", rowKey: tooLong }],
    ]),
    { ...longRowKey, message: /^1:The property value exceeds/ },
  );
  await put(local, longest);
  await put(local, "a", { _etag: 1 });
  await people.submitTransaction(large(1_850_000));
  await people.bulk(large(1_950_000));
  const report = await sync.now();
  assert.deepEqual([report.complete, report.parked, report.lost], [true, 0, 0]);
  assert.deepEqual(await rowKeysOf(world.remote), await rowKeysOf(local));
  assert.equal((await rowKeysOf(local)).length, 102);
});

test("the limits hold in the next process before it has reached the remote", async (t) => {
  const world = await openWorld(t);
  let local = await world.open();
  const sync = await world.start(local, cosmos);
  await sync.now();
  await sync.stop();
  await assert.rejects(put(local, tooLong), longRowKey);
  await local.close();
  local = await world.open();
  await assert.rejects(put(local, tooLong), longRowKey);
  const other = await world.start(local, azure);
  await other.now();
  await put(local, tooLong);
  assert.equal((await other.now()).parked, 0);
});

test("what was written before the remote was known is parked, and can be deleted", async (t) => {
  const world = await openWorld(t);
  const local = await world.open();
  let sync = await world.start(local, azure);
  await sync.now();
  await sync.stop();
  await put(local, tooLong);
  await put(local, "a", { id: 1 });
  sync = await world.start(local, cosmos);
  for (const end = Date.now() + 60_000; sync.status.parked === 0 && Date.now() < end; )
    await delay(10);
  assert.deepEqual((await sync.now()).parked, 1);
  assert.deepEqual(await rowKeysOf(local), ["a", tooLong]);
  await assert.rejects(put(local, tooLong), longRowKey);
  await local.table("people").deleteEntity("p", tooLong);
  const merged = { partitionKey: "p", rowKey: "a", age: 1 };
  await assert.rejects(local.table("people").upsertEntity(merged, "Merge"), storedName);
  await local.table("people").upsertEntity(merged, "Replace");
});
