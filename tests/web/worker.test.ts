// Tests stores in workers without a worker: both ends of the port are in this process. The test's
// host answers the calls, and the test itself triggers the worker's death and the page's lifecycle
// events. tests/browser/worker.test.ts uses real workers.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import "fake-indexeddb/auto";
import { StoreError } from "../../web/src/errors.ts";
import { Emitter } from "../../web/src/host/emitter.ts";
import {
  type LifecycleEvent,
  noPageLifecycle,
  type PageLifecycle,
} from "../../web/src/host/page-lifecycle.ts";
import type { PageServices } from "../../web/src/open/environment.ts";
import { openHost } from "../../web/src/open/open-host.ts";
import { settingsFromOptions } from "../../web/src/open/options.ts";
import { fencedError } from "../../web/src/storage/log-storage.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { protocolVersion } from "../../web/src/tabs/messages.ts";
import type { Host } from "../../web/src/transport.ts";
import type {
  Durability,
  OpenOptions,
  StoreEvents,
  StoreStatus,
  StoreWarning,
  VerifyReport,
} from "../../web/src/types.ts";
import { buildId, compileModule } from "../../web/src/wasm/module.ts";
import { deferredModuleUrls } from "../../web/src/wasm/module-urls.ts";
import { startWorker, WorkerUnavailable } from "../../web/src/worker/start-worker.ts";
import { serveStore, type WorkerEnvironment } from "../../web/src/worker/store-server.ts";
import { WorkerHost } from "../../web/src/worker/worker-host.ts";
import { openStore as openPacked } from "./support/package.ts";
import { until } from "./support/until.ts";

const { locks } = navigator;
const row = (rowKey: string, n = 0) => ({ partitionKey: "p", rowKey, n });
let stores = 0;
const newName = () => `in-worker-${++stores}`;

class Page {
  readonly warnings: StoreWarning[] = [];
  readonly #listeners = new Set<(event: LifecycleEvent) => void>();
  hidden = false;
  asked = 0; // how often the marker was read
  lastSeen: Date | undefined; // the marker (last-seen-marker.ts) of its stores
  wiped = 0;
  ended = 0;
  pageServices: PageServices | undefined; // those that the worker received
  workerPort: MessagePort | undefined;
  fail: (reason: string) => void = () => {};
  readonly lifecycle: PageLifecycle = {
    hidden: () => this.hidden,
    watch: (listener) => {
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    },
  };

  tell(event: LifecycleEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
  get listeners(): number {
    return this.#listeners.size;
  }

  async host(
    options: OpenOptions = {},
    serve = serveStore,
    open: WorkerEnvironment["open"] = openHost,
  ): Promise<WorkerHost> {
    const { port1, port2 } = new MessageChannel();
    this.workerPort = port2;
    serve(port2, {
      locks,
      open: (settings, pageServices) => {
        this.pageServices = pageServices;
        return open(settings, pageServices);
      },
    });
    const failure = new Promise<string>((resolve) => {
      this.fail = resolve;
    });
    const given = settingsFromOptions({
      persistence: "memory",
      name: newName(),
      onWarning: (warning) => this.warnings.push(warning),
      ...options,
      thread: "worker",
    });
    return await WorkerHost.open({
      settings: {
        ...given,
        wasm: await compileModule(given.wasm),
        deferredModuleUrls: await deferredModuleUrls(),
      },
      thread: { port: port1, failure, end: () => void ++this.ended },
      pageServices: {
        lifecycle: this.lifecycle,
        persist: async () => {
          this.asked += 1;
          return true;
        },
        estimate: async () => undefined,
        lastSeenMarker: () => ({
          lastSeen: async () => this.lastSeen,
          set: (at) => {
            this.lastSeen = at;
          },
          clear: () => {
            this.wiped += 1;
            this.lastSeen = undefined;
          },
        }),
      },
      locks,
    });
  }

  async open(options: OpenOptions = {}): Promise<StoreHandle> {
    return new StoreHandle(options.name ?? "store", await this.host(options));
  }

  // Ends the worker as a browser does: closes its port and releases its locks.
  kill(): void {
    this.workerPort?.close();
  }
}

// A host that returns each call's arguments. The test emits its events.
class EchoHost implements Host {
  readonly events = new Emitter<StoreEvents>();
  readonly responses: Uint8Array[] = [];
  readonly status: StoreStatus = {
    state: "open",
    persistence: "memory",
    owner: "other-tab",
    pendingBytes: 1,
    lastPersistedAt: undefined,
    generation: 7,
    persisted: false,
    damage: [],
  };
  refusal: Error | undefined;
  durability: Durability | undefined;

  read = (request: Uint8Array) => {
    if (this.refusal !== undefined) throw this.refusal;
    return request;
  };
  readHttp = async (request: Uint8Array) => this.read(request);
  write = async (request: Uint8Array, durability?: Durability) => {
    this.durability = durability;
    const reply = this.read(request).slice();
    this.responses.push(reply);
    return reply;
  };
  listen = () => assert.fail("nobody listens");
  now = () => 0;
  flush = async () => {};
  stats = () => Promise.reject(new Error("there are none"));
  verify = async () => ({ ok: true }) as VerifyReport;
  compact = async () => {};
  async *snapshotChunks() {
    yield Uint8Array.of(1, 2, 3);
  }
  restore: Host["restore"] = async (file, { mode } = {}) => {
    let entities = 0;
    for await (const chunk of file.chunks()) entities += chunk.length;
    return { tables: mode === "merge" ? 1 : 0, entities };
  };
  on: Host["on"] = (event, listener) => this.events.on(event, listener);
  close = async () => {
    throw new StoreError("QuotaExceeded", "lost");
  };
}

// A worker that reports that it has started, and nothing else.
const deaf = (build = buildId, entitable = protocolVersion) =>
  function serve(port: MessagePort) {
    port.onmessage = () => {};
    port.postMessage({ type: "started", entitable, build });
  };

describe("a store in a worker", () => {
  test("reads, writes and rejects through both entry points like a store in the page", async () => {
    const page = new Page();
    const store = await page.open();
    const people = store.table("people");
    await people.createTable();
    await people.createEntity(row("1", 7));
    const file = await store.snapshot();
    await people.deleteEntity("p", "1");
    assert.deepEqual(await store.restore(new Blob([file as Uint8Array<ArrayBuffer>])), {
      tables: 1,
      entities: 1,
    });
    await store.restore(file, { mode: "merge" });
    await people.submitTransaction([
      ["create", row("2")],
      ["upsert", { ...row("3"), big: 2n ** 60n, when: new Date(0), bytes: Uint8Array.of(1, 2) }],
    ]);
    assert.equal((await people.getEntity("p", "1")).n, 7);
    const third = await people.getEntity("p", "3");
    assert.deepEqual([third.big, third.when], [2n ** 60n, new Date(0)]);
    const pages = people.listEntities().byPage({ maxPageSize: 2 });
    assert.equal((await pages.next()).value.length, 2);
    assert.equal((await pages.next()).value.length, 1);
    assert.equal(await people.count({ queryOptions: { filter: "n eq 7" } }), 1);
    assert.deepEqual((await people.partitionKeys().byPage().next()).value, ["p"]);
    const last = await people.listEntities({ order: "desc", top: 1 }).next();
    assert.equal(last.value.rowKey, "3");
    const exists = { name: "RestError", statusCode: 409, code: "EntityAlreadyExists" };
    await assert.rejects(people.createEntity(row("1")), exists);
    await assert.rejects(people.getEntity("p", "9"), { name: "RestError", statusCode: 404 });
    const url = "http://127.0.0.1:10002/people/people(PartitionKey='p',RowKey='1')";
    assert.equal((await store.fetch(url.replace("/people/", "/otheraccount/"))).status, 403);
    assert.equal((await store.stats()).rows, 3);
    await store.flush();
    await store.close();
    await store.close();
    assert.equal(store.status.state, "closed");
    assert.deepEqual([page.ended, page.listeners, page.warnings.length], [1, 0, 0]);
    for (const call of [() => people.getEntity("p", "1"), () => people.createEntity(row("4"))])
      await assert.rejects(call, { name: "StoreError", code: "StoreClosed" });
  });

  test("has live queries and a change feed", async () => {
    const page = new Page();
    const store = await page.open();
    const people = store.table<{ n: number }>("people");
    await people.createTable();
    const live = people.live({ queryOptions: { filter: "n gt 1" } });
    const count = people.liveCount();
    const feed = store.changes();
    await Promise.all([live.ready, count.ready, feed.ready]);
    await people.createEntity(row("1", 1));
    await people.createEntity(row("2", 2));
    await until(() => count.getSnapshot().data === 2);
    assert.deepEqual(live.getSnapshot().data, [await people.getEntity("p", "2")]);
    for (const expected of ["1", "2"]) {
      const { value } = await feed.next();
      assert.deepEqual(
        value?.changes.map(({ rowKey }) => rowKey),
        [expected],
      );
    }
    const wrong = people.live({ queryOptions: { filter: "n gt" } });
    await assert.rejects(wrong.ready, { name: "RestError", code: "InvalidInput" });
    await store.close();
    assert.equal((live.getSnapshot().error as StoreError).code, "StoreClosed");
    assert.deepEqual(await feed.next(), { done: true, value: undefined });
  });

  test("applies the writes of one turn in order, however many, and closes after them", async () => {
    const page = new Page();
    const store = await page.open({ persistence: "indexeddb", name: "in-order" });
    const table = store.table("people");
    await table.createTable();
    const writes = Array.from({ length: 200 }, (_, n) => table.upsertEntity(row("1", n)));
    const closing = store.close();
    await Promise.all(writes);
    await closing;
    const again = await new Page().open({ persistence: "indexeddb", name: "in-order" });
    assert.equal((await again.table("people").getEntity("p", "1")).n, 199);
    await again.close();
  });

  test("cancels a waiting write that is aborted", async () => {
    const store = await new Page().open({ persistence: "indexeddb" });
    const table = store.table("people");
    await table.createTable();
    const first = table.createEntity(row("1"));
    const aborted = AbortSignal.abort();
    await assert.rejects(table.createEntity(row("2"), { abortSignal: aborted }), {
      name: "AbortError",
    });
    const abort = new AbortController();
    const second = table.createEntity(row("3"), { abortSignal: abort.signal });
    abort.abort();
    await assert.rejects(second, { name: "AbortError" });
    await first;
    assert.equal((await store.stats()).rows, 1);
    await store.close();
  });

  test("reports the worker's status and events", async () => {
    const store = await new Page().open({ persistence: "indexeddb", durability: "deferred" });
    const { state, owner, persistence } = store.status;
    assert.deepEqual([state, owner, persistence], ["open", "self", "indexeddb"]);
    const persisted: Date[] = [];
    const states: StoreStatus["state"][] = [];
    store.on("persisted", ({ at }) => persisted.push(at));
    store.on("status", (status) => states.push(status.state));
    await store.table("people").createTable();
    assert(store.status.pendingBytes > 0);
    await store.flush();
    assert.equal(store.status.pendingBytes, 0);
    assert.equal(persisted.length, 1);
    assert.deepEqual(store.status.lastPersistedAt, persisted[0]);
    await store.close();
    assert.deepEqual(new Set(states), new Set(["closed"]));
  });

  test("reads the page's eviction marker, and sets it", async () => {
    const kept = { persistence: "indexeddb", name: "traced" } as const;
    const page = new Page();
    const store = await page.open(kept);
    await store.flush();
    assert.equal(page.lastSeen, undefined, "nothing was written");
    await store.table("people").createTable();
    assert(page.lastSeen !== undefined);
    await store.close();
    const later = new Page();
    const again = await later.open(kept);
    const evicted = new Page();
    evicted.lastSeen = new Date(5);
    const empty = await evicted.open({ persistence: "indexeddb" });
    const event = await new Promise<StoreEvents["evicted"]>((done) => empty.on("evicted", done));
    assert.deepEqual(
      [event, evicted.lastSeen, evicted.wiped],
      [{ lastSeen: new Date(5) }, undefined, 1],
    );
    assert(later.lastSeen !== undefined, "the log had data when it was opened");
    for (const opened of [again, empty]) await opened.close();
  });

  test("sets no eviction marker after the store was closed", async () => {
    const page = new Page();
    const host = await page.host({}, (port) => {
      const at = new Date(5);
      const status = new EchoHost().status;
      port.onmessage = ({ data }) => {
        if (data.type === "open") {
          port.postMessage({ from: "worker", type: "ready", status });
        } else if (data.type === "close") {
          port.postMessage({ type: "set-last-seen", at, resumeCount: 0 });
          port.postMessage({ type: "closed" });
        } else if (data.event === "suspend") {
          port.postMessage({ type: "set-last-seen", at, resumeCount: 0 });
        } else if (data.event === "resume") {
          // A message that was sent before the page was suspended.
          port.postMessage({ type: "set-last-seen", at, resumeCount: 0 });
          port.postMessage({ type: "persist" });
        }
      };
      port.postMessage({ type: "started", entitable: protocolVersion, build: buildId });
    });
    page.tell("suspend");
    page.tell("resume");
    await until(() => page.asked === 1);
    await host.close();
    assert.equal(page.lastSeen, undefined);
  });

  test("is opened with the given options, read-only if requested", async () => {
    const kept = { persistence: "indexeddb", name: "read-only" } as const;
    const first = await new Page().open(kept);
    await first.table("people").createTable();
    await first.close();
    const page = new Page();
    const store = await page.open({ ...kept, readOnly: true, requestPersistence: "on-open" });
    assert.equal(store.status.state, "read-only");
    await assert.rejects(store.table("people").createEntity(row("1")), { code: "NotSupported" });
    await until(() => page.asked === 1);
    await until(() => store.status.persisted);
    await store.close();
  });
});

describe("between a page and the host in its worker", () => {
  const open = async (host: EchoHost) =>
    await new Page().host({}, serveStore, () => Promise.resolve(host));

  test("messages and values are sent, and responses are transferred, not copied", async () => {
    const there = new EchoHost();
    const host = await open(there);
    const request = Uint8Array.of(1, 2, 3);
    assert.deepEqual(await host.read(request), request);
    assert.deepEqual(await host.readHttp(request), request);
    assert.deepEqual(await host.write(request, "relaxed"), request);
    assert.equal(there.durability, "relaxed");
    assert.equal(there.responses[0]?.buffer.byteLength, 0, "it was given away");
    assert.equal(request.length, 3, "the page's own is its own");
    await host.flush();
    await host.compact();
    assert.deepEqual(await host.verify(), { ok: true });
    await assert.rejects(host.stats(), { message: "there are none" });
    await assert.rejects(host.close(), { name: "StoreError", code: "QuotaExceeded" });
    assert.equal(host.status.state, "closed");
  });

  test("every failure is returned, as there is no other owner", async () => {
    const there = new EchoHost();
    const host = await open(there);
    there.refusal = new StoreError("StoreClosed", "The store is closed.");
    const calls = [() => host.read(Uint8Array.of(1)), () => host.write(Uint8Array.of(1))];
    for (const call of calls) await assert.rejects(call, { code: "StoreClosed" });
    there.refusal = fencedError("anything");
    for (const call of calls) await assert.rejects(call, { code: "StoreLocked" });
    await host.close().catch(() => {});
  });

  test("every event is forwarded, with the status", async () => {
    const there = new EchoHost();
    const host = await open(there);
    assert.deepEqual(host.status, there.status);
    const at = new Date(5);
    const status: StoreStatus = { ...there.status, generation: 8 };
    const events: StoreEvents = {
      status,
      persisted: { at },
      "persist-error": {
        error: new StoreError("QuotaExceeded", "full", { hint: "free some space" }),
        pendingBytes: 9,
        retryInMs: 1000,
      },
      reopened: { at },
      quota: { usage: 9, quota: 10 },
      evicted: { lastSeen: at },
      owner: { owner: "self" },
      "version-conflict": { ours: 1, theirs: 2 },
    };
    Object.assign(there.status, { generation: 8 });
    for (const name of Object.keys(events) as (keyof StoreEvents)[]) {
      const heard = new Promise((resolve) => host.on(name, resolve));
      there.events.emit(name, events[name]);
      assert.deepEqual(await heard, events[name], name);
    }
    assert.equal(host.status.generation, 8);
    await host.close().catch(() => {});
  });
});

describe("opening a store in a worker", () => {
  test("rejects with the errors of opening in the page", async () => {
    const options = { persistence: "indexeddb", name: "locked", tabs: "exclusive" } as const;
    const held = new AbortController();
    const holding = locks.request("entitable/locked", () => {
      return new Promise<void>((resolve) => {
        held.signal.addEventListener("abort", () => resolve());
      });
    });
    const page = new Page();
    await assert.rejects(page.open(options), { name: "StoreError", code: "StoreLocked" });
    assert.equal(page.ended, 1);
    const abort = new AbortController();
    const opening = page.open({ ...options, signal: abort.signal });
    abort.abort();
    await assert.rejects(opening, { name: "AbortError" });
    assert.deepEqual([page.ended, page.listeners], [2, 0]);
    held.abort();
    await holding;
  });

  test("fails with a script that fails, ends, or has another version", async () => {
    const page = new Page();
    const failing = page.host({}, () => {});
    await until(() => page.listeners === 1);
    page.fail("it threw");
    await assert.rejects(failing, (error: Error) => {
      assert(error instanceof WorkerUnavailable);
      return /it threw/.test(error.message);
    });
    const ending = page.host({}, deaf());
    await until(() => page.listeners === 1);
    page.kill();
    await assert.rejects(ending, WorkerUnavailable);
    await assert.rejects(page.host({}, deaf("another")), WorkerUnavailable);
    await assert.rejects(page.host({}, deaf(buildId, protocolVersion + 1)), WorkerUnavailable);
    assert.equal(page.ended, 4);
  });

  test("without worker support the store runs inline, with a warning", async () => {
    assert.throws(() => startWorker({ persistence: "memory" }), WorkerUnavailable);
    const warnings: StoreWarning[] = [];
    const store = await openPacked({
      persistence: "memory",
      thread: "worker",
      onWarning: (warning) => warnings.push(warning),
    });
    await store.table("people").createTable();
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ["WorkerUnavailable"],
    );
    await store.close();
  });

  test("rejects options that cannot be sent, and an invalid thread", async () => {
    const clock = { now: () => 0 };
    const invalid = { name: "StoreError", code: "ValidationFailed" };
    await assert.rejects(openPacked({ thread: "worker", clock }), {
      ...invalid,
      message: /functions can't be sent/,
    });
    await assert.rejects(openPacked({ thread: "thread" as "worker" }), invalid);
  });
});

describe("a worker that dies", () => {
  test("makes the outcome of calls unknown, and closes the store", async () => {
    const page = new Page();
    const store = await page.open({ persistence: "indexeddb" });
    const table = store.table("people");
    await table.createTable();
    const states: StoreStatus["state"][] = [];
    store.on("status", (status) => states.push(status.state));
    const calls = [table.createEntity(row("1")), table.getEntity("p", "1"), store.flush()];
    const outcomes = Promise.allSettled(calls);
    page.kill();
    for (const outcome of await outcomes) {
      assert.equal(outcome.status, "rejected");
      assert.equal(outcome.reason.code, "ConnectionLost");
      assert.match(outcome.reason.message, /unknown whether this call had an effect/);
    }
    assert.deepEqual(states, ["closed"]);
    assert.equal(store.status.state, "closed");
    await assert.rejects(table.getEntity("p", "1"), { code: "StoreClosed" });
    await store.close();
  });

  test("is noticed by its lock as well", async () => {
    const page = new Page();
    const store = await page.open({ name: "by-lock" });
    const lives = async () =>
      ((await locks.query()).held ?? []).filter(({ name }) => name?.includes("by-lock/client/"));
    const [lifecycle] = await lives();
    const waiting = async () =>
      (await locks.query()).pending?.some((p) => p.name === lifecycle?.name);
    while (!(await waiting())) await turn();
    const closed = new Promise<void>((resolve) => {
      store.on("status", ({ state }) => state === "closed" && resolve());
    });
    await locks.request(lifecycle?.name as string, { steal: true }, async () => {});
    await closed;
    page.kill();
  });

  test("while the store closes makes close() reject", async () => {
    const page = new Page();
    const store = await page.open({ durability: "deferred" });
    const closing = store.close();
    page.kill();
    await assert.rejects(closing, { code: "ConnectionLost" });
  });
});

describe("the page's lifecycle", () => {
  test("is forwarded to the worker, which stores pending writes", async () => {
    const page = new Page();
    page.hidden = true;
    const store = await page.open({
      persistence: "indexeddb",
      durability: "deferred",
      deferredDelayMs: 1000,
    });
    const lifecycle = page.pageServices?.lifecycle ?? noPageLifecycle;
    assert.equal(lifecycle.hidden(), true);
    page.hidden = false;
    page.tell("shown");
    await until(() => !lifecycle.hidden());
    await store.table("people").createTable();
    const persisted = new Promise((resolve) => store.on("persisted", resolve));
    page.hidden = true;
    page.tell("leaving");
    await persisted;
    assert.equal(store.status.pendingBytes, 0);
    await store.close();
  });

  test("makes a suspended page wait for its worker if work is pending", async (t) => {
    const page = new Page();
    const there = new EchoHost();
    const host = await page.host({}, serveStore, () => Promise.resolve(there));
    t.after(() => host.close().catch(() => {}));
    let looks = 0;
    t.mock.method(performance, "now", () => ++looks);
    const looksAt = (event: LifecycleEvent) => {
      looks = 0;
      page.tell(event);
      return looks;
    };
    assert(looksAt("leaving") > 10);
    page.hidden = true;
    assert.equal(looksAt("leaving"), 0, "it is only hidden");
    assert.equal(looksAt("suspend"), 0, "another tab is the owner");
    assert.equal(looksAt("resume"), 0);
    const stored = new Promise((resolve) => host.on("persisted", resolve));
    Object.assign(there.status, { pendingBytes: 0, owner: "self" });
    there.events.emit("persisted", { at: new Date() });
    await stored;
    page.hidden = false;
    assert.equal(looksAt("leaving"), 0);
    assert(looksAt("suspend") > 10);
    assert.equal(looksAt("suspend"), 0, "it has released the store already");
  });

  test("while suspended no lock is held; when resumed, the store continues", async () => {
    const page = new Page();
    const name = "sleeps";
    const store = await page.open({ persistence: "indexeddb", name });
    const table = store.table("people");
    await table.createTable();
    const ours = async () => {
      const { held = [], pending = [] } = await locks.query();
      return [...held, ...pending].filter((lock) => lock.name?.startsWith(`entitable/${name}`));
    };
    for (const n of [1, 2]) {
      page.tell("suspend");
      page.tell("suspend"); // first frozen, then in the back/forward cache
      while ((await ours()).length > 0) await turn();
      page.tell("resume");
      page.tell("resume");
      await table.createEntity(row(String(n)));
    }
    page.tell("suspend");
    page.tell("resume"); // immediately, so messages sent before the suspension are outdated
    await table.createEntity(row("3"));
    assert.equal((await store.stats()).rows, 3);
    assert.equal(store.status.state, "open");
    await store.close();
  });
});
