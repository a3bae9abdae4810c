// Tests Sync.endTable().

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { SyncHost } from "../../../web/src/host/sync-host.ts";
import { settingsOf } from "../../../web/src/start-sync/options.ts";
import { platformClock } from "../../../web/src/start-sync/platform.ts";
import { StoreSync } from "../../../web/src/start-sync/store-sync.ts";
import type { Sync } from "../../../web/src/start-sync/types.ts";
import { pageActivity } from "../../../web/src/sync-session/activity.ts";
import type { Store } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";
import { credential, startSync } from "../support/synced-store.ts";

const url = `http://127.0.0.1:10002/${credential.name}`;

/** What startSync() uses of a store in this thread. */
interface Host {
  startSync(): Promise<SyncHost>;
}

interface World {
  readonly local: Store;
  readonly remote: Store;
  readonly sync: Sync;
  /** Whether the remote can be reached. */
  isOnline: boolean;
  requests: number;
  start(tables: Record<string, object>): Promise<Sync>;
}

async function open(t: TestContext): Promise<World> {
  const options = { persistence: "memory", onWarning: () => {} } as const;
  const remote = await openStore({ ...options, account: { name: credential.name } });
  const local = await openStore({ ...options, name: "local" });
  for (const table of ["people", "lamps"]) await remote.table(table).createTable();
  const send: typeof fetch = async (input, init) => {
    world.requests += 1;
    if (!world.isOnline) throw new TypeError("The network is down.");
    return await (remote.fetch as typeof fetch)(input, init);
  };
  const start = (tables: Record<string, object>) =>
    startSync(local, {
      remote: { url, fetch: send },
      tables,
      schedule: { minMs: 100, maxMs: 200 },
    });
  const world: { -readonly [K in keyof World]: World[K] } = {
    local,
    remote,
    isOnline: true,
    requests: 0,
    start,
    sync: undefined as unknown as Sync,
  };
  world.sync = await start({ people: {}, lamps: {} });
  t.after(async () => {
    await world.sync.stop();
    await local.close();
    await remote.close();
  });
  return world;
}

const write = (store: Store, table: string, rowKey: string) =>
  store.table(table).upsertEntity({ partitionKey: "p", rowKey });

async function rowsOf(store: Store, table: string): Promise<string> {
  const rows: string[] = [];
  for await (const { rowKey } of store.table(table).listEntities()) rows.push(String(rowKey));
  return rows.join();
}

test("the entities of the table stay, and are not synced any more", async (t) => {
  const { local, remote, start, sync } = await open(t);
  await write(local, "people", "1");
  assert.equal((await sync.now()).complete, true);
  await sync.endTable("people");
  assert.deepEqual(Object.keys(sync.status.tables), ["lamps"]);
  await write(local, "people", "2");
  await write(remote, "people", "3");
  await write(local, "lamps", "4");
  assert.equal((await sync.now()).complete, true);
  assert.deepEqual([await rowsOf(local, "people"), await rowsOf(remote, "people")], ["1,2", "1,3"]);
  assert.equal(await rowsOf(remote, "lamps"), "4");
  await sync.endTable("people"); // has no effect
  // The name is free for another sync, once the table is empty again.
  await assert.rejects(start({ people: {} }), { code: "ValidationFailed" });
  await local.table("people").deleteTable();
  const again = await start({ people: {} });
  assert.equal((await again.now()).complete, true);
  assert.equal(await rowsOf(local, "people"), "1,3");
  await again.stop();
});

test("it is refused while the remote does not have all local writes", async (t) => {
  const world = await open(t);
  const { local, remote, sync } = world;
  await write(local, "people", "1");
  assert.equal((await sync.now()).complete, true);
  world.isOnline = false;
  await write(local, "people", "2");
  await assert.rejects(sync.endTable("people"), { code: "TableHasPendingOperations" });
  world.isOnline = true;
  assert.equal((await sync.now()).complete, true);
  assert.equal(await rowsOf(remote, "people"), "1,2");
  await sync.endTable("people");
});

test('with "discard", local writes that were not sent never are', async (t) => {
  const world = await open(t);
  const { local, remote, sync } = world;
  await sync.now();
  world.isOnline = false;
  await write(local, "people", "1");
  await sync.endTable("people", { pending: "discard" });
  world.isOnline = true;
  assert.equal((await sync.now()).complete, true);
  assert.equal(await rowsOf(local, "people"), "1");
  assert.equal(await rowsOf(remote, "people"), "");
  assert.equal(sync.status.pending, 0);
});

test("two calls at once end one session, also if both are refused", async (t) => {
  const world = await open(t);
  const { local, sync } = world;
  await sync.now();
  world.isOnline = false;
  await write(local, "people", "1");
  const calls = [sync.endTable("people"), sync.endTable("people"), sync.endTable("people")];
  for (const { status } of await Promise.allSettled(calls)) assert.equal(status, "rejected");
  world.isOnline = true;
  assert.equal((await sync.now()).complete, true);
  await Promise.all([sync.endTable("people"), sync.endTable("people")]);
  await sync.stop();
  const { requests } = world;
  await delay(600); // sync polls within 200 ms
  assert.equal(world.requests, requests);
});

test("stop() waits for a call of endTable()", async (t) => {
  const world = await open(t);
  const { local, sync } = world;
  await sync.now();
  world.isOnline = false;
  await write(local, "people", "1");
  const steps: string[] = [];
  const ending = sync.endTable("people").finally(() => steps.push("ended"));
  const stopping = sync.stop().then(() => steps.push("stopped"));
  await assert.rejects(ending, { code: "TableHasPendingOperations" });
  await stopping;
  assert.deepEqual(steps, ["ended", "stopped"]);
});

test("a paused sync stays paused, and other tables are refused", async (t) => {
  const { local, sync } = await open(t);
  sync.pause();
  await write(local, "people", "1");
  await assert.rejects(sync.endTable("people"), { code: "TableHasPendingOperations" });
  assert.equal(sync.status.phase, "paused");
  await assert.rejects(sync.endTable("cities"), { code: "ValidationFailed" });
  await assert.rejects(sync.endTable("people", { pending: "keep" as "refuse" }), {
    code: "ValidationFailed",
  });
});

test("the next owner syncs the other tables, and shows the one whose sync has ended", async (t) => {
  const { local, remote, sync } = await open(t);
  await write(local, "people", "1");
  assert.equal((await sync.now()).complete, true);
  await sync.endTable("people");
  await sync.stop();
  // A tab that has not been told becomes the owner.
  const host = await (local as unknown as Host).startSync();
  const next = (isNextOwner: boolean) =>
    StoreSync.open({
      store: {
        createTable: async () => {},
        stats: () => local.stats(),
      },
      host,
      settings: settingsOf({
        remote: { url, fetch: remote.fetch as typeof fetch },
        tables: { people: {}, lamps: {} },
      }),
      environment: { clock: platformClock, activity: pageActivity() },
      isNextOwner,
      isPaused: false,
    });
  await assert.rejects(next(false), { code: "ValidationFailed" });
  const owner = await next(true);
  t.after(() => owner.stop());
  await write(local, "people", "2");
  await write(local, "lamps", "3");
  assert.equal((await owner.now()).complete, true);
  assert.deepEqual([await rowsOf(remote, "people"), await rowsOf(remote, "lamps")], ["1", "3"]);
  const { people, lamps } = owner.status.tables;
  assert.match(String(people?.error?.message), /people has rows that the remote does not know/);
  assert.deepEqual([people?.phase, lamps?.error], ["stopped", undefined]);
  await owner.endTable("people");
  assert.deepEqual(Object.keys(owner.status.tables), ["lamps"]);
  assert.equal(await rowsOf(local, "people"), "1,2");
});

test("a store with a version can be synced", async (t) => {
  const store = await openStore({ persistence: "memory", name: "versioned", version: 1 });
  t.after(() => store.close());
  const remote = await openStore({ persistence: "memory", account: { name: credential.name } });
  t.after(() => remote.close());
  await remote.table("people").createTable();
  await write(remote, "people", "1");
  const sync = await startSync(store, {
    remote: { url, fetch: remote.fetch as typeof fetch },
    tables: { people: {} },
  });
  assert.equal((await sync.now()).complete, true);
  assert.equal(await rowsOf(store, "people"), "1");
});
