// Tests what a tab sees and reports while its deferred writes go to the next owner of the store.

import assert from "node:assert/strict";
import { describe } from "node:test";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { Store, StoreEvents } from "../../web/src/types.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { simulatedTest as test } from "./support/simulated-test.ts";
import { until } from "./support/simulation.ts";

interface Tabs {
  origin: Origin;
  a: Tab;
  b: Tab;
  first: Store; // of `a`, the owner
  second: Store; // of `b`, a follower
}

async function open(tab: Tab): Promise<Store> {
  return new StoreHandle("shop", await tab.open());
}

async function openTabs(): Promise<Tabs> {
  const origin = new Origin();
  const [a, b] = [new Tab(origin), new Tab(origin)];
  const first = await open(a);
  await first.table("people").createTable();
  return { origin, a, b, first, second: await open(b) };
}

const row = (rowKey: string, n = 0) => ({ partitionKey: "p", rowKey, n });

const deferredTable = (store: Store) => store.table("people", { durability: "deferred" });

async function storedRows(origin: Origin): Promise<Record<string, unknown>> {
  await using last = await open(new Tab(origin));
  const rows: Record<string, unknown> = {};
  for await (const { rowKey, n } of last.table("people").listEntities()) rows[rowKey as string] = n;
  return rows;
}

function persistErrors(store: Store): StoreEvents["persist-error"][] {
  const events: StoreEvents["persist-error"][] = [];
  store.on("persist-error", (event) => events.push(event));
  return events;
}

test("a tab that becomes the owner reads its acknowledged writes at once", async () => {
  const { a, second } = await openTabs();
  await deferredTable(second).createEntity(row("1", 7));
  a.kill();
  const read = new Promise((resolve, reject) => {
    second.on("owner", () => {
      second.table("people").getEntity("p", "1").then(resolve, reject);
    });
  });
  assert.equal(((await read) as { n: number }).n, 7);
  assert.equal((await second.table("people").getEntity("p", "1"))["n"], 7);
  await second.close();
});

test("deferred writes that depend on each other are reported if they fail when repeated", async () => {
  const { origin, a, second } = await openTabs();
  origin.latencyMs = () => 0; // so that the owner has not stored the writes when it ends
  const events = persistErrors(second);
  const table = deferredTable(second);
  const { etag } = await table.createEntity(row("1", 1));
  const update = await table.updateEntity(row("1", 2), "Replace", { etag: etag as string });
  await table.updateEntity(row("1", 3), "Replace", { etag: update.etag as string });
  await table.upsertEntity(row("2", 4), "Replace");
  a.kill();
  await second.flush();
  assert.equal(events.length, 1);
  const { error, retryInMs } = events[0] as StoreEvents["persist-error"];
  assert.match(error.message, /2 acknowledged writes could not be applied again/);
  assert.equal((error.cause as { statusCode?: number }).statusCode, 412);
  assert.equal(retryInMs, undefined);
  await second.close();
  assert.deepEqual(await storedRows(origin), { "1": 1, "2": 4 });
});

describe("close()", () => {
  test("hands over the deferred writes of an owner that was replaced", async () => {
    const { origin, a, first, second } = await openTabs();
    await deferredTable(first).createEntity(row("1", 1));
    a.freeze();
    await second.table("people").createEntity(row("2", 2));
    a.thaw();
    await until(() => first.status.owner !== "self");
    await first.close(); // its engine is still being closed
    await second.close();
    assert.deepEqual(await storedRows(origin), { "1": 1, "2": 2 });
  });

  test("hands them over if it finds that the owner was replaced", async () => {
    const { origin, a, first, second } = await openTabs();
    await deferredTable(first).createEntity(row("1", 1));
    a.freeze();
    await second.table("people").createEntity(row("2", 2));
    const closed = first.close();
    a.thaw();
    await closed;
    await second.close();
    assert.deepEqual(await storedRows(origin), { "1": 1, "2": 2 });
  });

  test("rejects if acknowledged writes cannot be applied again", async () => {
    const { origin, a, first, second } = await openTabs();
    await first.table("people").createEntity(row("1", 1));
    await first.compact(); // the next owner has to load the part
    const events = persistErrors(second);
    await deferredTable(second).upsertEntity(row("1", 2), "Merge");
    origin.disk = () => {
      const disk = new MemoryStorage(origin.files);
      disk.readParts = () => Promise.reject(new StorageError("aborted", "cannot be read"));
      return disk;
    };
    a.kill();
    await assert.rejects(second.close(), /cannot be read/);
    assert.match(events[0]?.error.message ?? "", /cannot be read/);
    assert((events[0]?.pendingBytes ?? 0) > 0);
    origin.disk = () => new MemoryStorage(origin.files);
    assert.deepEqual(await storedRows(origin), { "1": 1 });
  });
});
