// Tests first downloads that begin with a seed, which `entitable sync --seed-out` has written.

import assert from "node:assert/strict";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { addSeed } from "../../../web/src/start-sync/seed.ts";
import type { SyncOptions, SyncTableOptions } from "../../../web/src/start-sync/types.ts";
import type { Store, StoreWarning } from "../../../web/src/types.ts";
import { openStore, packageFolder } from "../support/package.ts";
import { emulatorKey, run } from "../support/server-process.ts";
import { credential, startSync } from "../support/synced-store.ts";

const { serve }: typeof import("../../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

const rowCount = 2500;
const account = { name: credential.name, keys: [emulatorKey], authorize: true };
const folder = mkdtempSync(join(tmpdir(), "entitable-seed-"));
const file = join(folder, "people.seed");
let remote: Store;
let server: Awaited<ReturnType<typeof serve>>;
let url = "";

const put = (store: Store, rowKey: string, more: object = {}) =>
  store.table("people").upsertEntity({ partitionKey: "p", rowKey, ...more });

before(async () => {
  // The entities are older than the overlap of scans.
  let behindMs = 3_600_000;
  const clock = { now: () => Date.now() - behindMs };
  remote = await openStore({ persistence: "memory", account, clock });
  server = await serve(remote, { port: 0 });
  url = `http://127.0.0.1:${new URL(server.url).port}/${credential.name}`;
  await remote.table("people").createTable();
  const rows = Array.from({ length: rowCount }, (_, row) => String(10_000 + row));
  await remote
    .table("people")
    .bulk(rows.map((rowKey) => ["upsert", { partitionKey: "p", rowKey, row: 1 }]));
  behindMs = 0;
  const location = join(folder, "copy");
  const args = ["sync", url, "--table", "people", "--location", location, "--once"];
  const { code, err } = await run([...args, "--seed-out", file]);
  assert.deepEqual([code, err], [0, ""]);
});

after(async () => {
  await server?.close();
  await remote?.close();
  rmSync(folder, { recursive: true });
});

interface Started {
  readonly local: Store;
  readonly sync: Awaited<ReturnType<typeof startSync>>;
  /** How many entities the remote has returned with their properties. */
  readonly received: () => number;
}

async function start(
  t: TestContext,
  seed: SyncOptions["seed"] | undefined,
  local?: Store,
  table: SyncTableOptions = {},
): Promise<Started> {
  const store = local ?? (await openStore({ persistence: "memory", name: "local" }));
  let received = 0;
  const sync = await startSync(store, {
    remote: {
      url,
      credential,
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        const text = await response.text();
        received += text.split('"row":').length - 1;
        return new Response(text, { status: response.status, headers: response.headers });
      },
    },
    tables: { people: table },
    schedule: { minMs: 100, maxMs: 200 },
    budget: { entitiesPerSecond: 1_000_000 },
    ...(seed !== undefined && { seed }),
  });
  t.after(async () => {
    await sync.stop();
    await store.close();
  });
  return { local: store, sync, received: () => received };
}

async function rowsOf(store: Store): Promise<Map<string, string>> {
  const rows = new Map<string, string>();
  for await (const { etag, rowKey, row } of store.table("people").listEntities())
    rows.set(String(rowKey), `${etag} ${row}`);
  return rows;
}

async function tablesOf(store: Store): Promise<string> {
  const names: string[] = [];
  for await (const { name = "" } of store.serviceClient().listTables()) names.push(name);
  return names.join();
}

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + 60_000;
  while (!(await holds())) {
    assert(performance.now() < end, "it does not hold within a minute");
    await delay(10);
  }
};

const untilEqual = (local: Store, sync: Started["sync"]) =>
  until(async () => {
    await sync.now();
    return isDeepStrictEqual(await rowsOf(local), await rowsOf(remote));
  });

/** Returns the URL of a seed that the site answers. */
async function siteOf(t: TestContext, answer: (response: ServerResponse) => void): Promise<string> {
  const site = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => site.listen(0, resolve));
  t.after(() => site.close());
  t.after(() => site.closeAllConnections());
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}/people.seed`;
}

const blob = () => new Blob([readFileSync(file)]);

describe("a seed", () => {
  test("has the entities at once, and then only changes are read", async (t) => {
    await put(remote, "10000", { row: 2 });
    await put(remote, "new", { row: 2 });
    await remote.table("people").deleteEntity("p", "10001");
    const { local, received, sync } = await start(t, blob());
    assert.equal((await local.table("people").getEntity("p", "10002")).row, 1);
    assert.equal(await tablesOf(local), "people");
    assert.equal((await sync.now()).complete, true);
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
    // Those within the overlap are read again by each scan.
    assert(received() < 50, `${received()} entities`);
    await put(local, "local", { row: 3 });
    assert.equal((await sync.now()).complete, true);
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
    assert.deepEqual([sync.status.lost, sync.status.missesRepaired], [0, 0]);
  });

  test("can be downloaded", async (t) => {
    const site = createServer((_, response) => response.end(readFileSync(file)));
    await new Promise<void>((resolve) => site.listen(0, resolve));
    t.after(() => site.close());
    const { port } = site.address() as AddressInfo;
    const { local, sync } = await start(t, `http://127.0.0.1:${port}/people.seed`);
    assert.equal((await local.table("people").getEntity("p", "10002")).row, 1);
    assert.equal((await sync.now()).complete, true);
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
  });

  test("that does not arrive ends when the store closes", async (t) => {
    const store = await openStore({ persistence: "memory", name: "closing" });
    const seed = await siteOf(t, () => setTimeout(() => void store.close(), 200));
    const tables = { people: {} };
    const started = startSync(store, { remote: { url, credential }, tables, seed });
    await assert.rejects(started, { code: "StoreClosed" });
  });

  test("that arrives no further is as if there were none", async (t) => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const times: number[] = [];
    t.mock.method(AbortSignal, "timeout", (ms: number) => {
      times.push(ms);
      return timeout(ms === 30_000 ? 500 : ms);
    });
    const seed = await siteOf(t, (response) =>
      response.write(readFileSync(file).subarray(0, 1000)),
    );
    const { local, sync } = await start(t, seed);
    assert(times.includes(30_000));
    assert.equal((await sync.now()).complete, true);
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
  });

  test("is waited for as long as the store has not taken what has arrived", async (t) => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    t.mock.method(AbortSignal, "timeout", (ms: number) => timeout(ms === 30_000 ? 1000 : ms));
    const whole = readFileSync(file);
    const site = await siteOf(t, async (response) => {
      const size = Math.ceil(whole.length / 3);
      for (let from = 0; from < whole.length; from += size) {
        response.write(whole.subarray(from, from + size));
        await delay(50);
      }
      response.end();
    });
    const local = await openStore({ persistence: "memory", name: "slow" });
    const restore = local.restore.bind(local);
    local.restore = async (source, options) => {
      const slow = new TransformStream<Uint8Array, Uint8Array>({
        transform: async (chunk, controller) => {
          await delay(2200);
          controller.enqueue(chunk);
        },
      });
      const stream = (source as ReadableStream<Uint8Array>).pipeThrough(slow);
      return await restore(stream, options);
    };
    const { received, sync } = await start(t, site, local);
    assert.equal((await sync.now()).complete, true);
    assert(received() < 50, `${received()} entities`);
  });

  test("is not needed: without it, or if it is damaged, everything is downloaded", async (t) => {
    const missing = await siteOf(t, (response) => response.writeHead(404).end());
    const reasons = new Map<string | Blob, RegExp>([
      ["http://127.0.0.1:1/none", /fetch failed/],
      [missing, /status 404/],
      [new Blob(["no snapshot"]), /ends without its end record/],
    ]);
    for (const [seed, reason] of reasons) {
      const warnings: StoreWarning[] = [];
      const onWarning = (warning: StoreWarning) => warnings.push(warning);
      const store = await openStore({ persistence: "memory", name: "local", onWarning });
      const { local, sync } = await start(t, seed, store);
      const [{ code = "", message = "" } = {}, ...others] = warnings;
      assert.deepEqual([code, others], ["SeedNotUsed", []]);
      assert.match(message, reason);
      assert.equal((await sync.now()).complete, true);
      assert.deepEqual(await rowsOf(local), await rowsOf(remote));
    }
  });

  test("that is damaged anywhere leaves nothing, and everything is downloaded", async (t) => {
    const whole = readFileSync(file);
    const flipped = Buffer.from(whole);
    flipped[whole.length >> 1] = (flipped[whole.length >> 1] as number) ^ 1;
    for (const bytes of [flipped, whole.subarray(0, whole.length - 100)]) {
      const { local, received, sync } = await start(t, new Blob([new Uint8Array(bytes)]));
      assert.equal(await tablesOf(local), "people");
      assert.equal((await sync.now()).complete, true);
      assert.deepEqual(await rowsOf(local), await rowsOf(remote));
      assert(received() >= rowCount);
    }
  });

  test("of other entities costs time, and its entities leave the store", async (t) => {
    const other = await openStore({ persistence: "memory" });
    t.after(() => other.close());
    await other.table("people").createTable();
    const rows = ["10005", ...Array.from({ length: 700 }, (_, row) => `a${row}`)];
    for (const rowKey of rows) await put(other, rowKey, { row: 7 });
    await other.table("cities").createTable();
    const future = BigInt(Date.now() + 3_600_000) * 10_000n;
    const plain = new Blob([await other.snapshot()]);
    await addSeed(other, new Map([["people", [{ from: "", to: undefined, watermark: future }]]]));
    for (const seed of [plain, new Blob([await other.snapshot()])]) {
      const { local, sync } = await start(t, seed);
      assert.equal(await tablesOf(local), "people");
      await untilEqual(local, sync);
      assert.deepEqual([sync.status.lost, sync.status.suspects], [0, []]);
    }
  });

  test("that lacks entities, has others and says that it is new is repaired", async (t) => {
    const other = await openStore({ persistence: "memory" });
    t.after(() => other.close());
    await other.restore(blob());
    await other.table("EntitableSeed").deleteTable();
    for (let row = 0; row < 20; ++row) {
      await other.table("people").deleteEntity("p", String(10_100 + row));
      await put(other, String(10_200 + row), { row: 7 });
    }
    for (let row = 0; row < 300; ++row) await put(other, `a${row}`, { row: 7 });
    const watermark = BigInt(Date.now()) * 10_000n;
    await addSeed(other, new Map([["people", [{ from: "", to: undefined, watermark }]]]));
    const { local, sync } = await start(t, new Blob([await other.snapshot()]));
    await untilEqual(local, sync);
    assert.deepEqual([sync.status.lost, sync.status.suspects], [0, []]);
    assert.equal(sync.status.missesRepaired, 40);
  });

  test("that names wrong ranges is read again", async (t) => {
    const other = await openStore({ persistence: "memory" });
    t.after(() => other.close());
    await other.restore(blob());
    const seed = other.table("EntitableSeed");
    await seed.createTable();
    const rows = [{ range: "no JSON" }, { range: "[1]" }, { range: '["b","a"]', watermark: 1n }];
    for (const [row, more] of rows.entries())
      await seed.upsertEntity({ partitionKey: "people", rowKey: String(row), ...more }, "Replace");
    const { local, sync } = await start(t, new Blob([await other.snapshot()]));
    assert.equal((await sync.now()).complete, true);
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
    assert.equal(sync.status.missesRepaired, 0);
  });

  test("replaces nothing that is written while it is downloaded", async (t) => {
    const local = await openStore({ persistence: "memory", name: "busy" });
    const seed = await siteOf(t, async (response) => {
      await local.table("cities").createTable();
      await local.table("cities").upsertEntity({ partitionKey: "c", rowKey: "1" });
      response.end(readFileSync(file));
    });
    const { sync } = await start(t, seed, local);
    assert.equal((await local.table("cities").getEntity("c", "1")).rowKey, "1");
    assert.equal((await sync.now()).complete, true);
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
  });

  test("takes no write for the remote's that is made as soon as it is restored", async (t) => {
    const local = await openStore({ persistence: "memory", name: "early" });
    const restore = local.restore.bind(local);
    local.restore = async (...options) => {
      const report = await restore(...options);
      await put(local, "mine", { row: 4 });
      await local.table("drafts").createTable();
      await local.table("drafts").upsertEntity({ partitionKey: "d", rowKey: "1" });
      return report;
    };
    const { received, sync } = await start(t, blob(), local);
    assert.equal((await sync.now()).complete, true);
    assert.equal((await remote.table("people").getEntity("p", "mine")).row, 4);
    assert.equal((await local.table("drafts").getEntity("d", "1")).rowKey, "1");
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
    assert(received() < 50, `${received()} entities`);
  });

  test("is not taken again if the process ends before it has removed what it needs", async (t) => {
    const { local, sync } = await start(t, blob());
    assert.equal((await sync.now()).complete, true);
    await sync.stop();
    await put(local, "offline", { row: 3 });
    for (const rows of [[], [{ from: "", to: undefined, watermark: 1n }]]) {
      await addSeed(local, new Map([["people", rows]]));
      const again = await start(t, blob(), local);
      assert.equal((await again.sync.now()).complete, true);
      assert.equal(await tablesOf(local), "people");
      assert.deepEqual(await rowsOf(local), await rowsOf(remote));
      await again.sync.stop();
    }
  });

  test("has only what matches the filter, and the rest is not read again", async (t) => {
    await put(remote, "10010", { row: 5 });
    const { local, received, sync } = await start(t, blob(), undefined, { filter: "row gt 4" });
    assert.equal((await rowsOf(local)).size, 0);
    assert.equal((await sync.now()).complete, true);
    assert.deepEqual([...(await rowsOf(local)).keys()], ["10010"]);
    assert(received() < 50, `${received()} entities`);
  });

  test("is not used by a store that has tables", async (t) => {
    const local = await openStore({ persistence: "memory", name: "used" });
    await local.table("cities").createTable();
    const { sync } = await start(t, blob(), local);
    assert.equal(await tablesOf(local), "cities,people");
    assert.equal((await sync.now()).complete, true);
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
  });

  test("must be a file or a URL, of whole tables", async (t) => {
    const no = 5 as unknown as string;
    for (const seed of [no, "", null as unknown as string])
      await assert.rejects(start(t, seed), { code: "ValidationFailed", message: /^seed must/ });
    const partitions = start(t, blob(), undefined, { partitions: ["p"] });
    await assert.rejects(partitions, {
      code: "ValidationFailed",
      message: /people has partitions/,
    });
  });

  test("that was restored by a process that has ended is used, with what was written", async (t) => {
    const local = await openStore({ persistence: "memory", name: "restored" });
    const mode = { synced: ["people", "EntitableSeed"] } as unknown as "replace";
    await local.restore(blob(), { mode });
    await put(local, "later", { row: 6 });
    const { received, sync } = await start(t, blob(), local);
    assert.equal(await tablesOf(local), "people");
    assert.equal((await sync.now()).complete, true);
    assert.equal((await remote.table("people").getEntity("p", "later")).row, 6);
    assert.deepEqual(await rowsOf(local), await rowsOf(remote));
    assert(received() < 50, `${received()} entities`);
  });

  test("is no reason to fail if what it has brought cannot be deleted", async (t) => {
    const local = await openStore({ persistence: "memory", name: "kept" });
    const tableClient = local.tableClient.bind(local);
    local.tableClient = (name) => {
      const client = tableClient(name);
      if (name === "EntitableSeed") client.deleteTable = () => Promise.reject(new Error("no"));
      return client;
    };
    const { sync } = await start(t, blob(), local);
    assert.equal((await sync.now()).complete, true);
    local.tableClient = tableClient;
    await sync.stop();
    await start(t, blob(), local);
    assert.equal(await tablesOf(local), "people");
  });

  test("that was read after the time of a late clock is continued", async (t) => {
    const clock = { now: () => Date.now() - 300_000 };
    const local = await openStore({ persistence: "memory", name: "late", clock });
    const { now } = Date;
    t.mock.method(Date, "now", () => now() - 300_000);
    const { received, sync } = await start(t, blob(), local);
    t.mock.restoreAll();
    assert.equal((await sync.now()).complete, true);
    assert(received() < 50, `${received()} entities`);
  });
});

const seedArgs = (out: string, location: string, from = url) => [
  ...["sync", from, "--table", "people", "--location", location, "--once", "--seed-out", out],
];

test("--seed-out finds a wrong path before anything is read", async () => {
  const location = join(folder, "unread");
  const { code, err } = await run(seedArgs(join(folder, "none", "out.seed"), location));
  assert.equal(code, 1);
  assert.match(err, /ENOENT/);
  assert.equal(existsSync(location), false);
});

test("--seed-out replaces the last file when the new one is complete", async () => {
  const out = join(folder, "last.seed");
  writeFileSync(out, "last");
  const last = openSync(out, "r");
  const { code, err } = await run(seedArgs(out, join(folder, "again")));
  assert.deepEqual([code, err], [0, ""]);
  assert(readFileSync(last, "utf8") === "last");
  closeSync(last);
  assert(readFileSync(out).length > 1000);
  assert.equal(existsSync(`${out}.tmp`), false);
});

test("--seed-out refuses a store that has other tables", async () => {
  const location = join(folder, "others");
  const others = await openStore({ persistence: "file", path: location });
  await others.table("users").createTable();
  await others.close();
  const out = join(folder, "others.seed");
  const { code, err } = await run(seedArgs(out, location));
  assert.equal(code, 1);
  assert.match(err, /has the table users, too/);
  assert.equal(existsSync(out), false);
});

test("--seed-out refuses a store with writes that the remote does not have", async () => {
  const location = join(folder, "pending");
  const local = await openStore({ persistence: "file", path: location });
  const offline = () => Promise.reject(new TypeError("offline"));
  const sync = await startSync(local, { remote: { url, fetch: offline }, tables: { people: {} } });
  await put(local, "pending");
  await sync.stop();
  await local.close();
  const out = join(folder, "pending.seed");
  const { code, err } = await run([...seedArgs(out, location), "--direction", "pull"]);
  assert.equal(code, 1);
  assert.match(err, /people has writes that the remote does not have/);
  assert.equal(existsSync(out), false);
});

test("--seed-out refuses a remote whose ETags do not follow from Timestamps", async (t) => {
  const proxy = createServer(async (request, response) => {
    const headers = new Headers(request.headers as Record<string, string>);
    headers.delete("connection");
    const answer = await fetch(new URL(request.url ?? "", url), { headers });
    const text = (await answer.text()).replaceAll("datetime'", "own'");
    for (const [name, value] of answer.headers)
      if (!/^(content-length|content-encoding|transfer-encoding|connection|keep-alive)$/.test(name))
        response.setHeader(name, value);
    response.statusCode = answer.status;
    response.end(text);
  });
  await new Promise<void>((resolve) => proxy.listen(0, resolve));
  t.after(() => proxy.close());
  t.after(() => proxy.closeAllConnections());
  const from = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/${credential.name}`;
  const out = join(folder, "own.seed");
  const args = [...seedArgs(out, join(folder, "own"), from), "--direction", "pull"];
  const { code, err } = await run(args);
  assert.equal(code, 1);
  assert.match(err, /the ETags of the remote/);
  assert.equal(existsSync(out), false);
});

test("--seed-out needs --once", async () => {
  const args = ["sync", url, "--table", "people", "--location", folder, "--seed-out", file];
  const { code, err } = await run(args);
  assert.notEqual(code, 0);
  assert.match(err, /--seed-out needs --once/);
});
