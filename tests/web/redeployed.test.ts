// Tests tabs that share a store after the site was redeployed: an old tab has the files that it
// loaded before, but the files of its deferred modules are gone. All tabs run in one process
// (support/simulated-tabs.ts).

import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import "../../web/src/client/live-connection.ts"; // loaded before virtual time begins
import { RequestEncoder } from "../../web/src/client/request-encoder.ts";
import "../../web/src/host/sync-host.ts";
import { encodeHttpRequest } from "../../web/src/rest/http-message.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { isAnnouncement } from "../../web/src/tabs/messages.ts";
import type { SharedHost, SharedHostOptions } from "../../web/src/tabs/shared-host.ts";
import type { Store } from "../../web/src/types.ts";
import { platformRandom } from "../../web/src/util/random.ts";
import { createEngine, type DeferredModuleUrls } from "../../web/src/wasm/engine.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { openHost } from "./support/open-host.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { simulatedTest as test } from "./support/simulated-test.ts";
import { type Simulation, sleep, until } from "./support/simulation.ts";

const urlsIn = (folder: string) => ({
  rest: `${folder}/entitable.rest.wasm`,
  live: `${folder}/entitable.live.wasm`,
  snapshot: `${folder}/entitable.snapshot.wasm`,
  sync: `${folder}/entitable.sync.wasm`,
});
// Reading these files fails, as a download fails with status 404.
const removedFiles = urlsIn("file:///removed");
const filesOfPackage = new URL("../../web/src/wasm/", import.meta.url);
const url = "http://localhost/shop/people";
const json = { "Content-Type": "application/json" };
const row = (rowKey: string, n: number) => ({ partitionKey: "p", rowKey, n });

// A fifth of this is how long an owner waits for other tabs before it gives up a call.
const ownerTimeoutMs = 2000;

class Tabs {
  readonly origin = new Origin();
  readonly all: Tab[] = [];
  readonly #urls: DeferredModuleUrls;

  // `urls`: of the deferred modules of old tabs. By default, their files do not exist.
  constructor(urls = removedFiles) {
    this.#urls = urls;
  }

  async open(
    age: "old" | "new",
    options: Partial<SharedHostOptions> = {},
    urls = this.#urls,
  ): Promise<Store> {
    const tab = new Tab(this.origin);
    if (age === "old") tab.deferredModuleUrls = urls;
    this.all.push(tab);
    const store = new StoreHandle("shop", await tab.open({ ownerTimeoutMs, ...options }));
    await store.table("people").createTable();
    return store;
  }

  // How often a tab became the owner.
  get ownerships(): number {
    return this.all.reduce((sum, { openCount }) => sum + openCount, 0);
  }

  async close(): Promise<void> {
    for (const { host } of this.all) await host?.close();
  }
}

const body = (n: number) => JSON.stringify({ n });

const put = (store: Store, rowKey: string, n: number) =>
  store.fetch(`${url}(PartitionKey='p',RowKey='${rowKey}')`, {
    method: "PUT",
    headers: json,
    body: body(n),
  });

// Unlike fetch(), calls the host at once.
async function putNow(host: SharedHost, rowKey: string, n: number): Promise<void> {
  const request = {
    method: "PUT",
    url: `${url}(PartitionKey='p',RowKey='${rowKey}')`,
    headers: Object.entries(json),
    body: new TextEncoder().encode(body(n)),
    clientIp: "",
  };
  await host.write(encodeHttpRequest(request, platformRandom));
}

async function valuesIn(store: Store): Promise<unknown[]> {
  const values = [];
  for await (const { n } of store.table("people").listEntities()) values.push(n);
  return values;
}

// A call that needs a deferred module. Resolves to a text, the same in every tab.
type Call = (store: Store, snapshot: Uint8Array) => Promise<string>;

async function liveStatus(store: Store): Promise<string> {
  await using live = store.table("people").live();
  await live.ready;
  return live.getSnapshot().status;
}

async function openFeed(store: Store): Promise<string> {
  const feed = store.changes();
  await feed.ready;
  return String((await feed.return()).done);
}

const calls: [string, Call][] = [
  ["a live query", liveStatus],
  ["the change feed", openFeed],
  ["explain", async (store) => typeof (await store.table("people").explain())],
  ["fetch", async (store) => String((await store.fetch(url)).status)],
  ["a write by fetch", async (store) => String((await put(store, "1", 1)).status)],
  ["snapshot", async (store) => typeof (await store.snapshot()).length],
  ["verify", async (store) => String((await store.verify()).ok)],
  ["restore", async (store, file) => String((await store.restore(file)).tables)],
  ["merge", async (store, file) => String((await store.restore(file, { mode: "merge" })).tables)],
];

async function snapshotOfNewTab(): Promise<Uint8Array> {
  const tabs = new Tabs();
  const snapshot = await (await tabs.open("new")).snapshot();
  await tabs.close();
  return snapshot;
}

// A folder to which the files of deferred modules can be copied, and their URLs.
async function emptyFolder(simulation: Simulation, t: TestContext) {
  const folder = await simulation.real(() => mkdtemp(join(tmpdir(), "entitable-")));
  t.after(() => rm(folder, { recursive: true }));
  const publish = (name: string) =>
    simulation.real(() => copyFile(new URL(name, filesOfPackage), join(folder, name)));
  return { urls: urlsIn(pathToFileURL(folder).href), publish };
}

const reloadHint = { name: "StoreError", code: "WasmLoadFailed", hint: /^Reload the page/ };

describe("an old owner hands the store over to a new tab", () => {
  for (const [name, call] of calls) {
    for (const caller of ["owner", "follower"] as const) {
      test(`for ${name} of the ${caller}`, async () => {
        const snapshot = await snapshotOfNewTab();
        const tabs = new Tabs();
        const [oldTab, newTab] = [await tabs.open("old"), await tabs.open("new")];
        await oldTab.table("people").createEntity(row("0", 0));
        const expected = await call(await new Tabs().open("new"), snapshot);
        const [first, second] = caller === "owner" ? [oldTab, newTab] : [newTab, oldTab];
        assert.equal(await call(first, snapshot), expected);
        await until(() => oldTab.status.owner === "other-tab");
        assert.equal(newTab.status.owner, "self");
        assert.equal(await call(second, snapshot), expected);
        await second.table("people").upsertEntity(row("9", 9));
        assert((await valuesIn(first)).includes(9));
        assert.equal(tabs.ownerships, 2);
        await tabs.close();
      });
    }
  }

  for (const durability of ["strict", "relaxed", "deferred"] as const) {
    for (const caller of ["owner", "follower"] as const) {
      test(`and keeps writes of the ${caller} in the order of their calls (${durability})`, async () => {
        const tabs = new Tabs();
        const oldTab = await tabs.open("old", { durability });
        const newTab = await tabs.open("new", { durability });
        const table = (caller === "owner" ? oldTab : newTab).table("people");
        const host = tabs.all[caller === "owner" ? 0 : 1]?.host as SharedHost;
        await Promise.all([
          table.upsertEntity(row("1", 1)),
          putNow(host, "1", 2),
          putNow(host, "2", 2),
          table.upsertEntity(row("2", 3)),
        ]);
        assert.deepEqual(await valuesIn(oldTab), [2, 3]);
        assert.deepEqual(await valuesIn(newTab), [2, 3]);
        assert.equal(newTab.status.owner, "self");
        await tabs.close();
      });
    }
  }

  test("while it stores a strict group", async () => {
    const tabs = new Tabs();
    const [oldTab, newTab] = [await tabs.open("old"), await tabs.open("new")];
    for (let i = 0; i < 5; ++i) {
      const write = (store: Store) => store.table("people").upsertEntity(row(String(i), i));
      await Promise.all([write(oldTab), write(newTab), oldTab.table("people").explain()]);
    }
    assert.deepEqual(await valuesIn(oldTab), [0, 1, 2, 3, 4]);
    assert.equal(newTab.status.owner, "self");
    await tabs.close();
  });

  for (const fails of [false, true]) {
    test(`with its deferred writes${fails ? ", which it cannot store" : ""}`, async () => {
      const tabs = new Tabs();
      const { origin } = tabs;
      const disk = new ControlledStorage(new MemoryStorage(origin.files));
      origin.disk = ({ name }) => (name === "tab 0" ? disk : new MemoryStorage(origin.files));
      const oldTab = await tabs.open("old", { durability: "deferred" });
      const newTab = await tabs.open("new", { durability: "deferred" });
      await oldTab.flush();
      if (fails) disk.failing = "quota";
      await oldTab.table("people").upsertEntity(row("1", 1));
      await newTab.table("people").upsertEntity(row("2", 2));
      await oldTab.table("people").explain();
      assert.deepEqual(await valuesIn(newTab), [1, 2]);
      assert.deepEqual(await valuesIn(oldTab), [1, 2]);
      assert.equal(newTab.status.owner, "self");
      await tabs.close();
    });
  }

  test("for a write of a synced table, with deferred writes of others", async (simulation) => {
    const tabs = new Tabs();
    const { files } = tabs.origin;
    await simulation.real(async () => {
      const host = await openHost({
        engine: await createEngine(),
        storage: new MemoryStorage(files),
      });
      const encoder = new RequestEncoder();
      await encoder.createTable("cities", (message) => host.write(message.slice()));
      await (await host.startSync()).setSynced("cities", "begin");
      await host.close();
    });
    const oldTab = await tabs.open("old", { durability: "deferred" });
    const newTab = await tabs.open("new", { durability: "deferred" });
    await oldTab.flush();
    const errors: string[] = [];
    oldTab.on("persist-error", ({ error }) => errors.push(error.message));
    await oldTab.table("people").upsertEntity(row("1", 1));
    await oldTab.table("cities").upsertEntity(row("2", 2));
    assert.equal(newTab.status.owner, "self");
    assert.deepEqual(errors, []);
    assert.deepEqual(await valuesIn(newTab), [1]);
    assert.equal((await newTab.table("cities").getEntity("p", "2"))["n"], 2);
    await tabs.close();
  });

  test("and does not come back while it is suspended", async () => {
    const tabs = new Tabs();
    const [oldTab, newTab] = [await tabs.open("old"), await tabs.open("new")];
    const [a, b] = tabs.all as [Tab, Tab];
    const explained = oldTab.table("people").explain();
    await until(() => oldTab.status.owner === "other-tab");
    a.dispatch("suspend");
    await until(() => newTab.status.owner === "self");
    b.kill();
    await sleep(2 * ownerTimeoutMs);
    assert.equal(tabs.ownerships, 2);
    await tabs.open("new");
    a.dispatch("resume");
    await explained;
    await oldTab.close();
    await tabs.all[2]?.host?.close();
  });

  test("and releases the lock at once if it is suspended while it stores", async () => {
    const tabs = new Tabs();
    const { origin } = tabs;
    const disk = new ControlledStorage(new MemoryStorage(origin.files));
    origin.disk = ({ name }) => (name === "tab 0" ? disk : new MemoryStorage(origin.files));
    const [oldTab, newTab] = [await tabs.open("old"), await tabs.open("new")];
    disk.auto = false;
    const written = oldTab.table("people").upsertEntity(row("1", 1));
    const storing = await disk.next();
    const explained = oldTab.table("people").explain();
    await until(() => oldTab.status.owner === "other-tab");
    await sleep(2 * ownerTimeoutMs);
    assert.equal(newTab.status.owner, "other-tab");
    const [a] = tabs.all as [Tab];
    a.dispatch("suspend");
    a.freeze();
    await until(() => newTab.status.owner === "self");
    a.thaw();
    disk.auto = true;
    await storing.succeed();
    a.dispatch("resume");
    await Promise.all([written, explained]);
    assert.deepEqual(await valuesIn(newTab), [1]);
    await tabs.close();
  });

  for (const count of [1, 2]) {
    test(`that dies while it opens the store, with ${count - 1} others`, async () => {
      const tabs = new Tabs();
      const oldTab = await tabs.open("old");
      for (let i = 0; i < count; ++i) await tabs.open("new");
      const [, b] = tabs.all as [Tab, Tab];
      await oldTab.table("people", { durability: "deferred" }).upsertEntity(row("0", 0));
      const written = put(oldTab, "1", 1);
      await until(() => b.opening);
      b.kill();
      if (count === 1) await assert.rejects(written, reloadHint);
      else assert.equal((await written).status, 204);
      assert.deepEqual(await valuesIn(oldTab), count === 1 ? [0] : [0, 1]);
      assert.equal(tabs.ownerships, 3);
      for (const { host, dead } of tabs.all) if (!dead) await host?.close();
    });
  }

  test("or to one that replaces it while it looks for others", async () => {
    const tabs = new Tabs();
    const oldTab = await tabs.open("old");
    const [a] = tabs.all as [Tab];
    const outcome = put(oldTab, "1", 1).catch((error: Error) => error);
    await sleep(ownerTimeoutMs / 10);
    a.freeze();
    const newTab = await tabs.open("new");
    assert.equal(newTab.status.owner, "self");
    a.thaw();
    const ended = await outcome;
    // It may give up the call before it learns that it was replaced.
    if (ended instanceof Error) await assert.rejects(Promise.reject(ended), reloadHint);
    else assert.equal(ended.status, 204);
    await until(() => oldTab.status.owner === "other-tab");
    assert.deepEqual(await valuesIn(oldTab), ended instanceof Error ? [] : [1]);
    assert.equal(tabs.ownerships, 2);
    await tabs.close();
  });

  test("but not while an exclusive tab waits for the store", async () => {
    const tabs = new Tabs();
    const oldTab = await tabs.open("old");
    const waiting = assert.rejects(
      tabs.open("new", { exclusive: true, waitMs: 3 * ownerTimeoutMs }),
      { code: "StoreLocked" },
    );
    await sleep(ownerTimeoutMs);
    const newTab = await tabs.open("new");
    await assert.rejects(oldTab.table("people").explain(), reloadHint);
    assert.equal(tabs.ownerships, 1);
    await waiting;
    await sleep(ownerTimeoutMs / 10); // until the owner learns that the exclusive tab has left
    await oldTab.table("people").explain();
    assert.equal(newTab.status.owner, "self");
    await tabs.close();
  });

  test("past other old tabs", async () => {
    const tabs = new Tabs();
    const stores = [];
    for (const age of ["old", "old", "old", "new", "old"] as const)
      stores.push(await tabs.open(age));
    for (const store of stores) assert.equal((await store.fetch(url)).status, 200);
    assert.equal(stores[3]?.status.owner, "self");
    assert.equal(tabs.ownerships, 4);
    await tabs.close();
  });
});

describe("old tabs without a new one", () => {
  test("give the reason also if the first call is a write of a follower", async () => {
    const tabs = new Tabs();
    const [first, second] = [await tabs.open("old"), await tabs.open("old")];
    await assert.rejects(put(second, "1", 1), reloadHint);
    assert.equal(tabs.ownerships, 2);
    assert.deepEqual(await valuesIn(first), []);
    await tabs.close();
  });

  test("do not hand the store over to a tab that could not serve them", async () => {
    for (const why of ["exclusive", "account"]) {
      const tabs = new Tabs();
      const store = await tabs.open("old");
      const isExclusive = why === "exclusive";
      // All other tabs have another account, if the owner can believe it.
      if (!isExclusive)
        tabs.origin.alterMessage = (message) =>
          isAnnouncement(message) && message.type === "hello"
            ? { ...message, account: "other" }
            : message;
      const waiting = tabs.open("new", { exclusive: isExclusive, waitMs: 3 * ownerTimeoutMs });
      await (isExclusive ? sleep(ownerTimeoutMs / 2) : waiting);
      await assert.rejects(store.table("people").explain(), reloadHint);
      assert.equal(tabs.ownerships, 1);
      await store.close();
      await waiting;
      await tabs.close();
    }
  });

  test("do not hand it over for a failure that may be temporary", async () => {
    const tabs = new Tabs(urlsIn("http://127.0.0.1:1")); // a port that fetch() rejects
    const [first, second] = [await tabs.open("old"), await tabs.open("new")];
    await assert.rejects(first.table("people").explain(), reloadHint);
    await assert.rejects(put(second, "1", 1), reloadHint);
    assert.equal(tabs.ownerships, 1);
    await tabs.close();
  });

  test("do not wait for others if the store is exclusive", async (simulation) => {
    const tabs = new Tabs();
    const store = await tabs.open("old", { exclusive: true });
    const start = simulation.now;
    await assert.rejects(store.table("people").explain(), reloadHint);
    assert(simulation.now - start < ownerTimeoutMs / 5);
    await tabs.close();
  });

  test("give the reason to a write if the store is closed while it looks for others", async () => {
    const tabs = new Tabs();
    const store = await tabs.open("old");
    const rejected = assert.rejects(putNow(tabs.all[0]?.host as SharedHost, "1", 1), reloadHint);
    await sleep(ownerTimeoutMs / 10);
    await store.close();
    await rejected;
  });

  test("send a write to a later tab if they are suspended while they look for it", async () => {
    const tabs = new Tabs();
    const store = await tabs.open("old");
    const [a] = tabs.all as [Tab];
    const written = put(store, "1", 1);
    await sleep(ownerTimeoutMs / 10);
    a.dispatch("suspend");
    const newTab = await tabs.open("new");
    a.dispatch("resume");
    assert.equal((await written).status, 204);
    assert.deepEqual(await valuesIn(newTab), [1]);
    await tabs.close();
  });

  test("reject the call, and do not hand the store over again", async () => {
    for (const count of [1, 2, 3]) {
      const tabs = new Tabs();
      const stores: Store[] = [];
      for (let i = 0; i < count; ++i) stores.push(await tabs.open("old"));
      for (let i = 0; i < 3; ++i) {
        for (const store of stores) {
          await assert.rejects(store.table("people").explain(), reloadHint);
          await assert.rejects(put(store, "1", 1), reloadHint);
          await store.table("people").upsertEntity(row("0", i));
        }
      }
      assert.equal(tabs.ownerships, count);
      for (const store of stores) assert.deepEqual(await valuesIn(store), [2]);
      await tabs.close();
    }
  });

  test("hand it over to a new tab that is opened later", async () => {
    const tabs = new Tabs();
    const [first, second] = [await tabs.open("old"), await tabs.open("old")];
    await assert.rejects(first.snapshot(), reloadHint);
    const newTab = await tabs.open("new");
    assert.equal((await first.fetch(url)).status, 200);
    assert.equal((await second.fetch(url)).status, 200);
    assert.equal(newTab.status.owner, "self");
    await tabs.close();
  });

  test("hand it over to one of them that has loaded the file meanwhile", async (simulation, t) => {
    const { urls, publish } = await emptyFolder(simulation, t);
    const tabs = new Tabs();
    const first = await tabs.open("old");
    const second = await tabs.open("old", {}, urls);
    await assert.rejects(first.snapshot(), reloadHint);
    assert.equal(second.status.owner, "self");
    await publish("entitable.snapshot.wasm");
    assert.equal((await second.verify()).ok, true);
    const [, b] = tabs.all as [Tab, Tab];
    b.dispatch("suspend");
    await until(() => first.status.owner === "self");
    b.dispatch("resume");
    await second.flush();
    assert(await first.snapshot());
    assert.equal(second.status.owner, "self");
    await tabs.close();
  });

  test("serve such calls once the files can be loaded", async (simulation, t) => {
    const { urls, publish } = await emptyFolder(simulation, t);
    const tabs = new Tabs(urls);
    const [first, second] = [await tabs.open("old"), await tabs.open("old")];
    await assert.rejects(first.snapshot(), reloadHint);
    await assert.rejects(liveStatus(second), reloadHint);
    await publish("entitable.snapshot.wasm");
    assert.equal((await first.verify()).ok, true);
    await assert.rejects(second.fetch(url), reloadHint);
    await publish("entitable.rest.wasm");
    assert.equal((await second.fetch(url)).status, 200);
    await assert.rejects(liveStatus(second), reloadHint);
    await publish("entitable.live.wasm");
    for (const store of [first, second]) assert.equal(await liveStatus(store), "ready");
    assert.equal(tabs.ownerships, 2);
    await tabs.close();
  });
});
