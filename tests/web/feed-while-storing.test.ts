// Tests the change feed if it is opened while a write is being stored.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { ChangeFeed, Table } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { openHost } from "./support/open-host.ts";

let storage: ControlledStorage;
let store: StoreHandle;
let lamps: Table;
let earlier: ChangeFeed; // opened before all writes

beforeEach(async () => {
  storage = new ControlledStorage(new MemoryStorage(new Map()));
  store = new StoreHandle("feed", await openHost({ engine: await createEngine(), storage }));
  lamps = store.table("lamps");
  await lamps.createTable();
  earlier = store.changes();
  await earlier.ready;
  storage.auto = false;
});

const put = (rowKey: string) => lamps.upsertEntity({ partitionKey: "desk", rowKey });

async function nextKey(feed: ChangeFeed): Promise<string | undefined> {
  const { value } = await feed.next();
  return value?.changes[0]?.rowKey;
}

// Opens a feed while the write of row "1" is being stored.
async function openWhileStoring() {
  const written = put("1").then(
    () => "written",
    () => "failed",
  );
  const call = await storage.next();
  const feed = store.changes();
  let isReady = false;
  feed.ready.then(
    () => {
      isReady = true;
    },
    () => {},
  );
  await sleep(10);
  assert.equal(isReady, false);
  return { written, call, feed, isReady: () => isReady };
}

describe("a feed that is opened while a write is being stored", () => {
  test("is ready when the write is visible, and has later writes only", async () => {
    const { written, call, feed } = await openWhileStoring();
    const later = put("2");
    await call.succeed();
    await feed.ready;
    assert.equal((await lamps.getEntity("desk", "1")).rowKey, "1");
    assert.equal(await written, "written");
    await (await storage.next()).succeed();
    await later;
    assert.equal(await nextKey(feed), "2");
    assert.deepEqual([await nextKey(earlier), await nextKey(earlier)], ["1", "2"]);
    storage.auto = true;
    await store.close();
  });

  test("is ready when the write has failed", async () => {
    const { written, call, feed } = await openWhileStoring();
    await call.fail("quota");
    await feed.ready;
    assert.equal(await written, "failed");
    storage.auto = true;
    await put("2");
    assert.deepEqual([await nextKey(feed), await nextKey(earlier)], ["2", "2"]);
    await store.close();
  });

  test("waits as long as it is unknown whether the write is stored", async () => {
    const { call, feed, isReady } = await openWhileStoring();
    await call.storeAndFail("unknown");
    await sleep(10);
    assert.equal(isReady(), false);
    const retry = await storage.next();
    await retry.succeed();
    await feed.ready;
    storage.auto = true;
    await put("2");
    assert.equal(await nextKey(feed), "2");
    await store.close();
  });

  test("may be closed before it is ready", async () => {
    const { call, feed } = await openWhileStoring();
    await feed.return();
    await assert.rejects(feed.ready, { name: "AbortError" });
    await call.succeed();
    storage.auto = true;
    await put("2");
    assert.deepEqual([await nextKey(earlier), await nextKey(earlier)], ["1", "2"]);
    await store.close();
  });

  test("rejects if nothing can be stored any more", async () => {
    const { call, feed } = await openWhileStoring();
    await call.fail("gone");
    await assert.rejects(feed.ready, { failure: "gone" });
    await assert.rejects(store.changes().ready, { failure: "gone" });
    await store.close().catch(() => {});
  });
});
