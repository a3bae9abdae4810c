// Tests live queries whose rows cannot be read at first, and those whose changes fill the memory.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { ListenerConnection } from "../../web/src/transport.ts";
import type { LiveQuery, Store } from "../../web/src/types.ts";
import { requestKind } from "../../web/src/util/engine-message-kinds.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";

const rowCount = 4000; // several pages and many parts
const item = (i: number, text = "x".repeat(1000)) => ({
  partitionKey: "p",
  rowKey: String(i).padStart(5, "0"),
  text,
});

// Reading fails as long as this returns true.
let fails: () => boolean;

class FailingStorage extends MemoryStorage {
  override async readParts(...call: Parameters<MemoryStorage["readParts"]>): Promise<void> {
    if (fails()) throw new StorageError("aborted", "injected");
    await super.readParts(...call);
  }
}

async function open(files: Map<string, Uint8Array>): Promise<Store> {
  const engine = await createEngine();
  return new StoreHandle("test", await openHost({ engine, storage: new FailingStorage(files) }));
}

let store: Store;

beforeEach(async () => {
  fails = () => false;
  const files = new Map<string, Uint8Array>();
  const first = await open(files);
  await first.table("items").createTable();
  await first
    .table("items")
    .bulk(Array.from({ length: rowCount }, (_, i) => ["upsert", item(i)] as const));
  await first.compact();
  await first.close();
  store = await open(files);
});
afterEach(async () => {
  mock.timers.reset();
  await store.close();
});

// Not until(): timers are simulated.
async function turns(isOver = () => false): Promise<void> {
  for (let i = 0; i < 200 && !isOver(); ++i) await turn();
}

// Opens a live query of all rows, whose second page cannot be read.
async function openHalf(): Promise<LiveQuery<readonly object[]>> {
  let reads = 0;
  fails = () => ++reads > 2; // the first two are for the first page
  mock.timers.enable({ apis: ["setTimeout"] });
  const live = store.table("items").live();
  await assert.rejects(live.ready, { code: "ConnectionLost" });
  assert.equal(reads, 3);
  assert.deepEqual(live.getSnapshot().data, undefined);
  return live;
}

describe("a live query whose rows cannot be read", () => {
  test("is read again later, from its start", async () => {
    const live = await openHalf();
    mock.timers.tick(1000);
    await turns();
    assert.equal(live.getSnapshot().status, "error");
    fails = () => false;
    mock.timers.tick(1000);
    await turns();
    assert.equal(live.getSnapshot().status, "error"); // each delay is twice as long
    mock.timers.tick(1000);
    await turns(() => live.getSnapshot().status === "ready");
    assert.equal(live.getSnapshot().data?.length, rowCount);
    live.close();
  });

  test("never shows a part of its rows", async () => {
    const live = await openHalf();
    fails = () => false;
    const lengths = new Set<number | undefined>();
    live.subscribe(() => lengths.add(live.getSnapshot().data?.length));
    await store.table("items").upsertEntity(item(0, "changed"));
    await store.table("items").deleteEntity("p", item(1).rowKey);
    await turns();
    mock.timers.tick(1000);
    await turns(() => live.getSnapshot().status === "ready");
    assert.deepEqual([...lengths], [rowCount - 1]);
    live.close();
  });

  test("does not delay others", async () => {
    const live = await openHalf();
    fails = () => false;
    const one = store.table("items").liveEntity("p", "new");
    await one.ready;
    await store.table("items").createEntity({ partitionKey: "p", rowKey: "new" });
    assert.equal(one.getSnapshot().data?.rowKey, "new");
    one.close();
    live.close();
  });
});

test("a feed is opened again if memory runs out while it is being opened", async () => {
  const host = await openHost({ engine: await createEngine(), storage: new MemoryStorage() });
  let opens = 0;
  const { listen } = host;
  host.listen = (listener) => {
    const connection = listen.call(host, listener);
    const send: ListenerConnection["send"] = (request, respond, fail) => {
      // As ChangeListeners does: the request gets no response.
      if (request[0] === requestKind.openFeed && ++opens === 1) listener.onReset();
      else connection.send(request, respond, fail);
    };
    return { send, close: () => connection.close() };
  };
  const own = new StoreHandle("own", host);
  const feed = own.changes();
  await feed.ready;
  assert.equal(opens, 2);
  await own.table("items").createTable();
  assert.deepEqual((await feed.next()).value?.tables, [{ table: "items", op: "create" }]);
  await own.close();
});

test("deferred writes are acknowledged although their changes make the memory grow", async () => {
  const host = await openHost({
    engine: await createEngine(),
    storage: new MemoryStorage(),
    durability: "deferred",
    memoryLimit: 512 * 1024 * 1024,
  });
  const large = new StoreHandle("large", host);
  await large.table("items").createTable();
  const feed = large.changes({ before: true });
  await feed.ready;
  const properties = Array.from({ length: 15 }, (_, i) => [`text${i}`, "x".repeat(30_000)]);
  const row = (i: number) => ({ ...item(i), ...Object.fromEntries(properties) });
  // Memory is measured after 8 of these (checkWrites of memory-guard.ts). Before that, the engine
  // passes on the changes of those that were made, whose rows make its memory grow.
  const writes = Array.from({ length: 15 }, (_, i) => large.table("items").createEntity(row(i)));
  await Promise.all(writes);
  for (const _ of writes) assert.equal((await feed.next()).value?.changes.length, 1);
  await large.close();
});
