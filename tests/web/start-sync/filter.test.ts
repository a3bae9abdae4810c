// Tests the options `filter` and `remote.version`, with a store as the remote.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { SyncHost } from "../../../web/src/host/sync-host.ts";
import { changeFilter } from "../../../web/src/start-sync/table-filter.ts";
import type { SyncOptions, SyncTableOptions } from "../../../web/src/start-sync/types.ts";
import type { SyncStore } from "../../../web/src/sync/store.ts";
import { OwnerStore } from "../../../web/src/sync-store/owner-store.ts";
import type { Clock, Store } from "../../../web/src/types.ts";
import { openStore, packageFolder } from "../support/package.ts";
import { emulatorKey } from "../support/server-process.ts";
import { credential, startSync } from "../support/synced-store.ts";

const { serve }: typeof import("../../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

const account = { name: credential.name, keys: [emulatorKey], authorize: true };
const url = `http://127.0.0.1:10002/${credential.name}`;

interface World {
  readonly local: Store;
  readonly remote: Store;
  readonly requests: Request[];
  start(
    table: SyncTableOptions,
    options?: Partial<SyncOptions["remote"]>,
  ): ReturnType<typeof startSync>;
}

async function open(t: TestContext, clock: Clock = Date): Promise<World> {
  const options = { persistence: "memory", onWarning: () => {} } as const;
  const remote = await openStore({ ...options, clock, account: { name: credential.name } });
  const local = await openStore({ ...options, name: "local" });
  await remote.table("people").createTable();
  const requests: Request[] = [];
  t.after(async () => {
    await local.close();
    await remote.close();
  });
  return {
    local,
    remote,
    requests,
    async start(table, more = {}) {
      const send: typeof fetch = async (input, init) => {
        requests.push(new Request(input, init));
        return await (remote.fetch as typeof fetch)(input, init);
      };
      const sync = await startSync(local, {
        remote: { url, fetch: send, ...more },
        tables: { people: table },
        schedule: { minMs: 100, maxMs: 200 },
      });
      t.after(() => sync.stop());
      return sync;
    },
  };
}

const put = (store: Store, rowKey: string, age: number) =>
  store.table("people").upsertEntity({ partitionKey: "p", rowKey, age });

async function rowsOf(store: Store): Promise<string> {
  const rows: string[] = [];
  for await (const { rowKey } of store.table("people").listEntities()) rows.push(String(rowKey));
  return rows.join();
}

/** As a process that begins to keep only what has the age 11, and ends meanwhile. */
async function beginFilter(local: Store): Promise<void> {
  const host = (await (
    local as Store & { startSync(): Promise<SyncHost> }
  ).startSync()) as SyncHost;
  const store = new OwnerStore(host, "people");
  let steps = 0;
  const ending: SyncStore = {
    commit: store.commit,
    read: (look) => store.read(look),
    stored: () => store.stored(),
    transact: async (decide) => {
      steps += 1;
      if (steps === 3) throw new Error("The process has ended.");
      return await store.transact(decide);
    },
  };
  const isEleven = (_: string, properties: ReadonlyMap<string, { value: unknown }>) =>
    properties.get("age")?.value === 11;
  await assert.rejects(changeFilter(ending, "age eq 11", isEleven), /The process has ended/);
}

/** The queries of the scans that return whole entities. */
const scansOf = (requests: readonly Request[]): Record<string, string>[] =>
  requests
    .map(({ url }) => new URL(url))
    .filter(({ pathname }) => pathname.endsWith("/people()"))
    .map(({ searchParams }) => Object.fromEntries(searchParams))
    .filter((query) => query.$select === undefined && query.$top === undefined);

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + 60_000;
  while (!(await holds())) {
    assert(performance.now() < end, "it does not hold within a minute");
    await delay(10);
  }
};

describe("a table with a filter", () => {
  test("has what matches, and what leaves the filter leaves the store", async (t) => {
    const { local, remote, start } = await open(t);
    for (const [rowKey, age] of [
      ["a", 1],
      ["b", 20],
      ["c", 3],
    ] as const)
      await put(remote, rowKey, age);
    const sync = await start({ filter: "age lt 10" });
    assert.equal((await sync.now()).complete, true);
    assert.equal(await rowsOf(local), "a,c");
    await put(remote, "a", 30);
    await put(remote, "b", 2);
    await until(async () => (await rowsOf(local)) === "b,c");
    await put(local, "d", 40);
    await put(local, "c", 50);
    await until(async () => (await rowsOf(local)) === "b");
    assert.equal(await rowsOf(remote), "a,b,c,d");
    assert.equal(sync.status.missesRepaired, 0);
  });

  test("asks the remote to filter only what it reads first, and comparisons", async (t) => {
    const { local, remote, requests, start } = await open(t);
    await put(remote, "a", 1);
    const sync = await start({ filter: "age lt 10" });
    await sync.now();
    await put(remote, "b", 2);
    await until(async () => (await rowsOf(local)) === "a,b");
    const filters = requests.map(({ url }) => new URL(url).searchParams.get("$filter") ?? "");
    const deltas = filters.filter((filter) => filter.includes("Timestamp ge"));
    assert(deltas.length > 0 && deltas.every((filter) => !filter.includes("age")));
    assert.equal(scansOf(requests)[0]?.$filter, "(age lt 10)");
  });

  test("is read again if the filter is another one, also with many entities", async (t) => {
    const { local, remote, requests, start } = await open(t);
    for (let row = 0; row < 120; ++row) await put(remote, String(100 + row), row % 12);
    let sync = await start({ filter: "age lt 10" });
    assert.equal((await sync.now()).complete, true);
    assert.equal((await rowsOf(local)).split(",").length, 100);
    await sync.stop();
    requests.length = 0;
    sync = await start({ filter: "age ge 9" });
    assert.equal((await sync.now()).complete, true);
    assert.equal((await rowsOf(local)).split(",").length, 30);
    assert.deepEqual(sync.status.suspects, []);
    const filters = scansOf(requests).map(({ $filter = "" }) => $filter);
    assert(filters.some((filter) => filter === "(age ge 9)"));
    assert(filters.every((filter) => /age ge 9|Timestamp ge/.test(filter)));
    await sync.stop();
    sync = await start({});
    assert.equal((await sync.now()).complete, true);
    assert.equal((await rowsOf(local)).split(",").length, 120);
  });

  test("keeps only what matches a filter that it did not have, also offline", async (t) => {
    const { local, remote, requests, start } = await open(t);
    for (let row = 0; row < 1200; ++row) await put(remote, String(1000 + row), row % 12);
    let sync = await start({});
    assert.equal((await sync.now()).complete, true);
    await sync.stop();
    await put(local, "1011", 40);
    requests.length = 0;
    sync = await start({ filter: "age lt 1" }, { fetch: () => Promise.reject(new TypeError()) });
    // What the remote does not have yet stays.
    assert.equal((await rowsOf(local)).split(",").length, 101);
    assert.match(await rowsOf(local), /,1011,/);
    await sync.stop();
    sync = await start({ filter: "age lt 1" });
    assert.equal((await sync.now()).complete, true);
    assert.equal((await rowsOf(local)).split(",").length, 100);
    assert.equal((await remote.table("people").getEntity("p", "1011")).age, 40);
    assert.deepEqual([sync.status.missesRepaired, sync.status.suspects], [0, []]);
    // Nothing is read again but changes.
    const scans = scansOf(requests);
    assert(scans.length > 0 && scans.every(({ $filter = "" }) => /Timestamp ge/.test($filter)));
  });

  test("is read again if a process ended while it removed what another filter refused", async (t) => {
    // The entities are older than the overlap of scans.
    let behindMs = 3_600_000;
    const clock = { now: () => Date.now() - behindMs };
    const { local, remote, requests, start } = await open(t, clock);
    for (let row = 0; row < 1200; ++row) await put(remote, String(1000 + row), row % 12);
    behindMs = 0;
    const count = async () => (await rowsOf(local)).split(",").length;
    const restart = async (table: SyncTableOptions) => {
      const sync = await start(table);
      assert.equal((await sync.now()).complete, true);
      assert.deepEqual([sync.status.missesRepaired, sync.status.suspects], [0, []]);
      await sync.stop();
    };
    await restart({});
    await beginFilter(local);
    assert.equal(await count(), 283);
    await restart({ filter: "age gt 5" });
    assert.equal(await count(), 600);
    await beginFilter(local);
    await restart({});
    assert.equal(await count(), 1200);
    await beginFilter(local);
    requests.length = 0;
    await restart({ filter: "age eq 11" });
    assert.equal(await count(), 100);
    // It continues, and nothing is read again but changes.
    const scans = scansOf(requests);
    assert(scans.length > 0 && scans.every(({ $filter = "" }) => /Timestamp ge/.test($filter)));
  });

  test("sees what leaves the filter in the remote's feed", async (t) => {
    const remote = await openStore({ persistence: "memory", account });
    const server = await serve(remote, { port: 0, feed: true });
    const local = await openStore({ persistence: "memory", onWarning: () => {} });
    t.after(async () => {
      await local.close();
      await server.close();
      await remote.close();
    });
    await remote.table("people").createTable();
    for (const [rowKey, age] of Object.entries({ a: 1, b: 20, c: 3 }))
      await put(remote, rowKey, age);
    const options = {
      remote: {
        url: `http://127.0.0.1:${new URL(server.url).port}/${credential.name}`,
        credential,
      },
      schedule: { minMs: 600_000 },
    };
    let sync = await startSync(local, { ...options, tables: { people: { filter: "age lt 10" } } });
    await until(async () => sync.status.following);
    assert.equal(await rowsOf(local), "a,c");
    await put(remote, "a", 30);
    await put(remote, "b", 2);
    await until(async () => (await rowsOf(local)) === "b,c");
    await put(local, "c", 50);
    await until(async () => (await rowsOf(local)) === "b");
    // With another filter, the feed alone does not bring what has not changed.
    await sync.stop();
    sync = await startSync(local, { ...options, tables: { people: { filter: "age gt 10" } } });
    await until(async () => (await rowsOf(local)) === "a,c");
    await sync.stop();
  });

  test("is refused if the filter is invalid, or names Timestamp", async (t) => {
    const { start } = await open(t);
    await assert.rejects(start({ filter: "age lt" }), {
      code: "ValidationFailed",
      message: /^tables\.people\.filter: Syntax error at position \d+/,
    });
    await assert.rejects(start({ filter: "substringof('a', name)" }), { code: "ValidationFailed" });
    const timestamp = "Timestamp gt datetime'2026-01-01T00:00:00Z'";
    await assert.rejects(start({ filter: timestamp }), /must not name Timestamp/);
    await assert.rejects(start({ filter: 7 as unknown as string }), { code: "ValidationFailed" });
  });
});

test("the version is a header of each request", async (t) => {
  const { remote, requests, start } = await open(t);
  await put(remote, "a", 1);
  const sync = await start({}, { version: "2018-03-28" });
  assert.equal((await sync.now()).complete, true);
  const versions = new Set(requests.map(({ headers }) => headers.get("x-ms-version")));
  assert.deepEqual([...versions], ["2018-03-28"]);
  await assert.rejects(start({}, { version: "new" }), { code: "ValidationFailed" });
});
