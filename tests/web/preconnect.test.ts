// Tests the work that begins before an opening store has the lock. The owner uses its results once.
// Without ownership they are discarded, and do not block other tabs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Preconnect } from "../../web/src/open/preconnect.ts";
import {
  deleteDatabase,
  listDatabaseStores,
  mountPoint,
} from "../../web/src/storage/idbfs-database.ts";
import { createEngine, type Engine } from "../../web/src/wasm/engine.ts";
import { IdbfsFixture, idbfsDatabase } from "./support/idbfs-fixture.ts";
import { loadAll } from "./support/storage-contract.ts";

async function begin({ exists = true } = {}) {
  const { store } = new IdbfsFixture();
  if (exists) (await idbfsDatabase(mountPoint(store))).close();
  const engines: Promise<Engine>[] = [];
  const startEngine = () => {
    const starting = createEngine();
    engines.push(starting);
    return starting;
  };
  const preconnect = new Preconnect({ store, factory: indexedDB, startEngine });
  preconnect.start();
  return { store, engines, preconnect };
}

const unused = () => assert.fail("nothing was reopened");

test("early work is used once, and later calls begin their own", async () => {
  const { engines, preconnect } = await begin();
  for (const count of [1, 2]) {
    const [engine, storage] = await preconnect.openEngineAndStorage(unused);
    assert.equal(engine, await engines[count - 1]);
    assert.equal(engines.length, count);
    assert.equal((await loadAll(storage)).segments.length, count - 1);
    await storage.claim(count, Uint8Array.from([count]));
    preconnect.discard(); // does not close what openEngineAndStorage() has returned
    assert.equal(engine.firstLiveSequence, 1);
    await storage.close();
    engine.close();
  }
});

test("unused results are discarded", async () => {
  const { store, engines, preconnect } = await begin();
  preconnect.discard();
  await deleteDatabase(indexedDB, mountPoint(store), 1000);
  const engine = (await engines[0]) as Engine;
  assert.throws(() => engine.firstLiveSequence, { code: "StoreClosed" });
});

test("a waiting connection lets the database be deleted, and is reopened", async () => {
  const { store, preconnect } = await begin();
  await new Promise((connected) => setTimeout(connected, 20));
  await deleteDatabase(indexedDB, mountPoint(store), 1000);
  assert(!(await listDatabaseStores(indexedDB)).includes(store));
  const [engine, storage] = await preconnect.openEngineAndStorage(unused);
  await loadAll(storage);
  await storage.claim(1, Uint8Array.from([1]));
  await storage.close();
  engine.close();
});

test("looking for a database that does not exist does not create it", async () => {
  const { store, engines, preconnect } = await begin({ exists: false });
  preconnect.discard();
  await engines[0];
  await new Promise((looked) => setTimeout(looked, 20));
  assert(!(await listDatabaseStores(indexedDB)).includes(store));
});

test("an engine that cannot be started rejects only the call that uses it", async () => {
  const { store } = new IdbfsFixture();
  const startEngine = () => Promise.reject(new Error("no code"));
  const preconnect = new Preconnect({ store, factory: indexedDB, startEngine });
  preconnect.start();
  preconnect.discard();
  preconnect.start();
  await new Promise((failed) => setTimeout(failed, 5));
  await assert.rejects(preconnect.openEngineAndStorage(unused), /no code/);
});
