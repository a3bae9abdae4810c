// Stores in workers, in real Chromium: they behave like stores in a page, share with tabs of both
// kinds, and close when their worker ends. (tests/web/worker.test.ts has more tests, without a
// worker.)

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import type { OpenOptions, Store } from "../../web/src/index.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { staging } from "./support/package-site.ts";
import { launch } from "./support/puppeteer.ts";
import { blankPage, type Site, type SiteOptions, serve } from "./support/server.ts";
import { lifecycle, ownerOf, tabsOfOneBrowser, until } from "./support/shared-tabs.ts";

type Package = typeof import("../../web/src/index.ts");

let profile: Profile;
let context: BrowserContext;
let sites: Site[] = [];

before(async () => {
  profile = await newProfile();
  context = await profile.open();
});

after(async () => {
  await context.close();
  for (const site of sites) await site.close();
  await profile.remove();
});

interface Ended {
  code: string;
  message: string;
  states: string[];
  acknowledged: number;
}

// A function of the page. Functions that are passed to evaluate() run in the page and cannot use
// variables of this file.
declare function entitable(): Promise<Package>;

async function newPage(options: SiteOptions = {}): Promise<Page> {
  const site = await serve(staging, {
    headers: { "content-security-policy": `script-src 'self' 'wasm-unsafe-eval'` },
    ...options,
    override: (path) => options.override?.(path) ?? blankPage(path),
  });
  sites = [...sites, site];
  const page = await context.newPage();
  await page.addInitScript(() => {
    (globalThis as { entitable?: unknown }).entitable = () => import("/dist/index.js" as string);
  });
  await page.goto(site.url);
  return page;
}

// Runs in the page: uses many features of a store, and returns the results as plain values.
async function tour(options: Record<string, string>): Promise<unknown> {
  const { openStore, deleteStore } = await entitable();
  const warnings: string[] = [];
  const seen: unknown[] = [];
  const failure = (error: {
    name: string;
    code?: string;
    statusCode?: number;
    message: string;
    hint?: string;
  }) => seen.push([error.name, error.code, error.statusCode, error.message, error.hint]);
  const kept: OpenOptions = {
    ...options,
    onWarning: ({ code }: { code: string }) => warnings.push(code),
  };
  const store = await openStore({ name: "tour", account: { name: "acct" }, ...kept });
  const persisted = new Promise((resolve) => store.on("persisted", resolve));
  const people = store.table("people");
  await people.createTable();
  await persisted;
  await people.createEntity({ partitionKey: "p", rowKey: "1", name: "ü 😀", n: 7 });
  await people.submitTransaction(
    Array.from({ length: 100 }, (_, i) => ["create", { partitionKey: "q", rowKey: String(i) }]),
  );
  const { etag, timestamp, ...read } = await people.getEntity("p", "1");
  seen.push(read, typeof etag, typeof timestamp);
  const plan = await people.explain({ queryOptions: { filter: "PartitionKey eq 'q'" } });
  seen.push([plan.kind, plan.rowsRead]);
  const pages = people.listEntities().byPage({ maxPageSize: 60 });
  for await (const page of pages) seen.push(page.length);
  await people.createEntity({ partitionKey: "p", rowKey: "1" }).catch(failure);
  await people.getEntity("p", "2").catch(failure);
  await people
    .createEntity({ partitionKey: "p", rowKey: "3" }, { abortSignal: AbortSignal.abort() })
    .catch(failure);
  const answer = await store.fetch("https://acct.table.core.windows.net/people()?$top=1", {
    headers: { Accept: "application/json;odata=nometadata" },
  });
  const { value } = (await answer.json()) as { value: object[] };
  seen.push(answer.status, value.length);
  await people.deleteEntity("p", "1");
  const { lastPersistedAt, ...status } = store.status;
  const { memoryBytes, ...stats } = await store.stats();
  seen.push(status, typeof lastPersistedAt, stats.rows, stats.tables);
  await store.compact();
  seen.push((await store.verify()).ok);
  await store.close();
  await people.getEntity("p", "1").catch(failure);
  seen.push(store.status.state);
  await deleteStore("tour");
  return { seen, warnings: warnings.filter((code) => code !== "StorageNotPersisted") };
}

describe("a store in a worker", () => {
  test("behaves like a store in the page", async () => {
    const page = await newPage();
    const inline = (await page.evaluate(tour, {})) as { warnings: string[] };
    let workers = 0;
    page.on("worker", () => ++workers);
    assert.deepEqual(await page.evaluate(tour, { thread: "worker" }), inline);
    assert.equal(workers, 1);
    await until(() => page.workers().length === 0); // closing the store ends the worker
    assert.deepEqual(inline.warnings, []);
    assert.match(JSON.stringify(inline), /has no entity with partitionKey/);
    for (const wasm of ["/dist/wasm/entitable.wasm", "dist/wasm/entitable.wasm"])
      assert.deepEqual(await page.evaluate(tour, { thread: "worker", wasm }), inline);
    assert.equal(workers, 3);
    await page.close();
  });

  test("accepts the module as a Response, checks signatures, and keeps its data after a reload", async () => {
    const page = await newPage();
    const status = await page.evaluate(async () => {
      const { openStore } = await entitable();
      const wasm = await fetch("/dist/wasm/entitable.wasm");
      const account = { name: "acct", keys: ["a2V5"], authorize: true };
      const store = await openStore({ name: "kept", thread: "worker", wasm, account });
      await store.table("people").createTable();
      return (await store.fetch("https://acct.table.core.windows.net/Tables")).status;
    });
    assert.equal(status, 403);
    await page.reload(); // the store is not closed; the browser releases the worker's lock
    const tables = await page.evaluate(async () => {
      const { openStore } = await entitable();
      await using store = await openStore({ name: "kept", thread: "worker" });
      return (await store.stats()).tables.map(({ name }) => name);
    });
    assert.deepEqual(tables, ["people"]);
    await page.close();
  });

  test("whose worker is killed closes; pending calls have unknown outcomes, and no acknowledged write is lost", async () => {
    const page = await newPage();
    await page.evaluate(async () => {
      const { openStore } = await entitable();
      const store = await openStore({ name: "killed", thread: "worker" });
      const table = store.table("people");
      await table.createTable();
      const states: string[] = [];
      store.on("status", ({ state }) => states.push(state));
      let acknowledged = 0;
      const work = async () => {
        for (;;) {
          await table.createEntity({ partitionKey: "p", rowKey: String(acknowledged) });
          acknowledged += 1;
        }
      };
      const ended = work().catch(({ code, message }: { code: string; message: string }) => {
        return { code, message, states, acknowledged };
      });
      Object.assign(globalThis, { ended });
    });
    const [worker] = page.workers();
    await worker?.evaluate(() => self.close());
    const found = await page.evaluate(async () => {
      const { ended } = globalThis as unknown as { ended: Promise<Ended> };
      const { openStore } = await entitable();
      const said = await ended;
      await using store = await openStore({ name: "killed", thread: "worker" });
      return { ...said, rows: (await store.stats()).rows };
    });
    assert.match(found.message, /unknown whether this call had an effect/);
    assert.deepEqual([found.code, found.states], ["ConnectionLost", ["closed"]]);
    assert(found.rows === found.acknowledged || found.rows === found.acknowledged + 1);
    await page.close();
  });
});

// Runs in the page: uses tables, then sends REST requests, opens live queries, and verifies the
// store, first while the server fails to deliver the deferred module for each, then when it
// succeeds.
async function splitModule(thread: "inline" | "worker"): Promise<unknown[]> {
  const { openStore, deleteStore } = await entitable();
  const seen: unknown[] = [];
  const recordRequests = async () => seen.push(await (await fetch("/asked")).json());
  const store = await openStore({ name: "halves", account: { name: "acct" }, thread });
  const people = store.table("people");
  await people.createTable();
  await people.createEntity({ partitionKey: "p", rowKey: "1", n: 7 });
  seen.push((await people.getEntity("p", "1")).n);
  await recordRequests();
  const list = () => store.fetch("https://acct.table.core.windows.net/people()?$select=n");
  const see = ({ code, message }: { code: string; message: string }) =>
    void seen.push(code, message.replace(/http:.*/, "…"));
  await list().catch(see);
  await people.createEntity({ partitionKey: "p", rowKey: "2", n: 8 });
  const answers = await Promise.all([list(), people.getEntity("p", "2"), list()]);
  seen.push(answers[0].status, answers[1].n, answers[2].status);
  seen.push((await people.explain()).rowsRead);
  await recordRequests();
  await people.live().ready.catch(see);
  const [live, count] = [people.live(), people.liveCount()];
  seen.push((await live.ready).length, await count.ready);
  await people.createEntity({ partitionKey: "p", rowKey: "3", n: 9 });
  seen.push(live.getSnapshot().data?.length);
  await recordRequests();
  await store.verify().catch(see);
  seen.push((await store.verify()).ok, (await store.snapshot()).length > 0);
  await recordRequests();
  await store.close();
  await deleteStore("halves");
  return seen;
}

describe("a deferred module", () => {
  for (const thread of ["inline", "worker"] as const) {
    test(`is loaded for the first call, and again if loading failed (${thread})`, async () => {
      const requested: string[] = [];
      const page = await newPage({
        override: (path) => {
          if (path === "/asked")
            return { type: "application/json", body: JSON.stringify(requested) };
          const [name] = /[^/]+\.wasm$/.exec(path) ?? [];
          if (name === undefined) return undefined;
          const fails = name !== "entitable.core.wasm" && !requested.includes(name);
          requested.push(name);
          return fails ? { status: 503, body: "" } : undefined;
        },
      });
      const [core, rest, live, snapshot] = ["core", "rest", "live", "snapshot"].map(
        (name) => `entitable.${name}.wasm`,
      );
      assert.deepEqual(await page.evaluate(splitModule, thread), [
        7,
        [core],
        "WasmLoadFailed",
        "entitable.rest.wasm could not be loaded: HTTP status 503 for …",
        200,
        8,
        200,
        2,
        [core, rest, rest],
        "WasmLoadFailed",
        "entitable.live.wasm could not be loaded: HTTP status 503 for …",
        2,
        2,
        3,
        [core, rest, rest, live, live],
        "WasmLoadFailed",
        "entitable.snapshot.wasm could not be loaded: HTTP status 503 for …",
        true,
        true,
        [core, rest, rest, live, live, snapshot, snapshot],
      ]);
      await page.close();
    });
  }

  test("is not requested if the complete module is given", async () => {
    const requested = new Set<string>();
    const page = await newPage({
      override: (path) => {
        const [name] = /[^/]+\.wasm$/.exec(path) ?? [];
        if (name !== undefined) requested.add(name);
        return undefined;
      },
    });
    const wasm = "/dist/wasm/entitable.wasm";
    const inline = await page.evaluate(tour, { wasm });
    assert.deepEqual(await page.evaluate(tour, { thread: "worker", wasm }), inline);
    assert.deepEqual([...requested], ["entitable.wasm"]);
    await page.close();
  });
});

describe("if no worker can start, the store runs in the page, with a warning", () => {
  const none: Record<string, SiteOptions> = {
    "where a CSP forbids it": { headers: { "content-security-policy": "worker-src 'none'" } },
    "where its script is missing": {
      override: (path) =>
        path.endsWith("entitable-worker.js") ? { status: 404, body: "not found" } : undefined,
    },
    "where the host answers with a page": {
      override: (path) =>
        path.endsWith("entitable-worker.js") ? { body: "<!doctype html>app" } : undefined,
    },
    "where its script is another's": {
      override: (path) =>
        path.endsWith("entitable-worker.js")
          ? { type: "text/javascript", body: "throw new Error('not here')" }
          : undefined,
    },
  };
  for (const [where, options] of Object.entries(none)) {
    test(where, async () => {
      const page = await newPage(options);
      const inline = (await page.evaluate(tour, {})) as { seen: unknown };
      const instead = await page.evaluate(tour, { thread: "worker" });
      assert.deepEqual(instead, { seen: inline.seen, warnings: ["WorkerUnavailable"] });
      assert.deepEqual(page.workers(), []);
      await page.close();
    });
  }
});

describe("when tabs with and without a worker share a store, the owner", () => {
  const newTabs = tabsOfOneBrowser();
  const threads = [
    ["worker", "inline"],
    ["inline", "worker"],
    ["worker", "worker"],
  ] as const;
  for (const [first, second] of threads) {
    for (const end of ["is closed", "freezes, and wakes"]) {
      test(`(${first}, then ${second}) ${end}`, async (t) => {
        const tabs = await newTabs(t);
        const owner = await tabs.tab({ thread: first });
        const other = await tabs.tab({ thread: second });
        assert.deepEqual([await ownerOf(owner), await ownerOf(other)], ["self", "other-tab"]);
        void tabs.work(owner, "first");
        void tabs.work(other, "second");
        await until(() => tabs.reported("first") > 20 && tabs.reported("second") > 20);
        if (end === "is closed") await owner.close();
        else await lifecycle(owner, "frozen");
        const before = tabs.reported("second");
        await until(() => tabs.reported("second") > before + 20);
        assert.equal(await ownerOf(other), "self");
        if (end !== "is closed") {
          await lifecycle(owner, "active");
          const asleep = tabs.reported("first");
          await until(() => tabs.reported("first") > asleep + 20);
          assert.equal(await ownerOf(owner), "other-tab");
        }
        await tabs.check(other);
      });
    }
  }
});

// By Puppeteer, because Playwright disables the back/forward cache.
describe("a page in the back/forward cache", () => {
  for (const thread of ["inline", "worker"] as const) {
    test(`holds no lock, and its store (${thread}) continues when the page is shown again`, async (t) => {
      const { folder, remove } = await newProfile();
      const site = await serve(staging, {
        headers: { "cache-control": "no-cache" }, // with "no-store", the page would not be cached
        override: (path) => (path.endsWith("/") ? { body: "<!doctype html>a page" } : undefined),
      });
      const browser = await launch(
        { folder },
        { ignoreDefaultArgs: ["--disable-back-forward-cache"] },
      );
      t.after(async () => {
        await browser.close();
        await site.close();
        await remove();
      });
      const page = await browser.newPage();
      await page.goto(site.url);
      await page.evaluate(async (how) => {
        const { openStore } = (await import("/dist/index.js" as string)) as Package;
        const store = await openStore({ name: "cached", thread: how });
        await store.table("people").createTable();
        Object.assign(globalThis, { store });
      }, thread);
      await page.goto(`${site.url}elsewhere/`);
      const heldOrWanted = () =>
        page.evaluate(async () => {
          const { held = [], pending = [] } = await navigator.locks.query();
          return held.length + pending.length;
        });
      await until(async () => (await heldOrWanted()) === 0);
      await page.goBack();
      const rows = await page.evaluate(async () => {
        const { store } = globalThis as unknown as { store: Store };
        await store.table("people").createEntity({ partitionKey: "p", rowKey: "1" });
        return (await store.stats()).rows;
      });
      assert.equal(rows, 1);
    });
  }
});
