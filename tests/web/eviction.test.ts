// Tests the event "evicted". It is emitted if a store that held data is found empty, but not if the
// store was deleted or never held data. The test simulates the page's localStorage and Cache API.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import "fake-indexeddb/auto";
import { noPageLifecycle } from "../../web/src/host/page-lifecycle.ts";
import type { PageServices } from "../../web/src/open/environment.ts";
import { lastSeenMarker } from "../../web/src/open/last-seen-marker.ts";
import { openHost } from "../../web/src/open/open-host.ts";
import { settingsFromOptions } from "../../web/src/open/options.ts";
import { deleteStore } from "../../web/src/open-store.ts";
import { deleteDatabase, mountPoint } from "../../web/src/storage/idbfs-database.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { OpenOptions } from "../../web/src/types.ts";
import { until } from "./support/until.ts";

const pageServices: PageServices = {
  lifecycle: noPageLifecycle,
  persist: async () => false,
  estimate: async () => undefined,
  lastSeenMarker,
};

let remembered = new Map<string, string>();
let cached = new Map<string, Set<string>>();

const localStorage = {
  getItem: (key: string) => remembered.get(key) ?? null,
  setItem: (key: string, value: string) => void remembered.set(key, value),
  removeItem: (key: string) => void remembered.delete(key),
};
const caches = {
  async open(name: string) {
    const urls = cached.get(name) ?? new Set();
    cached.set(name, urls);
    return {
      put: async (url: string) => void urls.add(url),
      delete: async (url: string) => urls.delete(url),
    };
  },
  async match(url: string, { cacheName }: { cacheName: string }) {
    return cached.get(cacheName)?.has(url) ? new Response() : undefined;
  },
};

function give(globals: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}
const inPage = () => give({ document: {}, localStorage, caches });
const inWorker = () => give({ document: undefined, localStorage: undefined, caches });

beforeEach(() => {
  remembered = new Map();
  cached = new Map();
  inPage();
});
afterEach(() => give({ document: undefined, localStorage: undefined, caches: undefined }));

let stores = 0;
const newName = () => `evicted-${++stores}`;

async function open(name: string, options: OpenOptions = {}) {
  const settings = settingsFromOptions({ name, persistence: "indexeddb", ...options });
  const store = new StoreHandle(name, await openHost(settings, pageServices));
  const events: Date[] = [];
  store.on("evicted", ({ lastSeen }) => events.push(lastSeen)); // right after it was opened
  return { store, events };
}

// Opens the store, waits until an event would have fired, and closes it. Resolves to the events.
async function visit(
  name: string,
  { write = false, ...options }: OpenOptions & { write?: boolean } = {},
) {
  const { store, events } = await open(name, options);
  if (write) await store.table("people").createTable();
  for (let i = 0; i < 10; ++i) await turn();
  await store.close();
  return events;
}

const evict = (name: string) => deleteDatabase(indexedDB, mountPoint(name), 1000);

describe("a store whose data the browser evicted", () => {
  test("reports it once, on the next opening, with the time when data was last seen", async () => {
    const name = newName();
    const before = Date.now();
    assert.deepEqual(await visit(name, { write: true }), []);
    const after = Date.now();
    await evict(name);
    const [lastSeen, ...more] = await visit(name);
    assert(lastSeen !== undefined && lastSeen.getTime() >= before && lastSeen.getTime() <= after);
    assert.deepEqual([more, await visit(name)], [[], []]);
  });

  test("reports it again if it held data again", async () => {
    const name = newName();
    for (let i = 0; i < 3; ++i) {
      assert.equal((await visit(name, { write: true })).length, i === 0 ? 0 : 1);
      await evict(name);
    }
  });

  test("reports it to every tab, read-only or not", async () => {
    const name = newName();
    await visit(name, { write: true });
    await evict(name);
    const [first, second] = await Promise.all([open(name, { readOnly: true }), open(name)]);
    await until(() => first.events.length === 1 && second.events.length === 1);
    await second.store.close();
    await first.store.close();
  });

  test("reports it even if an immediate write sets the marker again", async () => {
    const name = newName();
    await visit(name, { write: true });
    const [key, old] = [...remembered][0] as [string, string];
    remembered.set(key, new Date(5).toISOString());
    await evict(name);
    const { store, events } = await open(name);
    await store.table("people").createTable();
    await until(() => events.length === 1);
    assert.deepEqual(events, [new Date(5)]);
    assert((remembered.get(key) ?? "") >= old);
    await store.close();
  });

  test("that was written by a worker reports it if a page has seen the data", async () => {
    const name = newName();
    inWorker();
    await visit(name, { write: true });
    await evict(name);
    inPage();
    assert.deepEqual(await visit(name), []);
    inWorker();
    await visit(name, { write: true });
    inPage();
    await visit(name, { readOnly: true });
    await evict(name);
    assert.equal((await visit(name)).length, 1);
  });
});

describe("nothing is reported", () => {
  test("of a store that was deleted, by a page or a worker", async () => {
    for (const where of [inPage, inWorker]) {
      const name = newName();
      await visit(name, { write: true });
      where();
      await deleteStore(name);
      inPage();
      for (let i = 0; i < 3; ++i) assert.deepEqual(await visit(name), []);
      assert.equal(remembered.size, 0);
      await visit(name, { write: true });
      await evict(name);
      assert.equal((await visit(name)).length, 1, "it is heard of what is lost later");
    }
  });

  test("of a store that was opened and never written", async () => {
    const name = newName();
    await visit(name);
    await visit(name, { readOnly: true });
    const { store } = await open(name);
    await store.compact();
    await store.close();
    await visit(name);
    assert.equal(remembered.size, 0);
    await evict(name);
    assert.deepEqual(await visit(name), []);
  });

  test("of a store whose writes were rejected, or whose rows were all deleted", async () => {
    const name = newName();
    const { store } = await open(name);
    await assert.rejects(store.table("none").createEntity({ partitionKey: "p", rowKey: "1" }));
    assert.equal(remembered.size, 0);
    await store.table("people").createTable();
    await store.table("people").deleteTable();
    await store.compact();
    await store.close();
    assert.deepEqual(await visit(name), []);
  });

  test("of a store that was restored, even from an empty one", async () => {
    for (const write of [true, false]) {
      const source = await open(newName());
      if (write) await source.store.table("people").createTable();
      const file = await source.store.snapshot();
      await source.store.close();
      const name = newName();
      const { store } = await open(name);
      await store.restore(file);
      await store.close();
      assert.deepEqual(await visit(name), []);
      assert.deepEqual(await visit(name, { readOnly: true }), []);
      if (!write) continue;
      await evict(name);
      assert.equal((await visit(name)).length, 1);
    }
  });

  test("when all of the site's data was cleared", async () => {
    const name = newName();
    await visit(name, { write: true });
    await evict(name);
    remembered.clear();
    assert.deepEqual(await visit(name), []);
  });

  test("of stores in memory", async () => {
    await visit(newName(), { persistence: "memory", write: true });
    assert.equal(remembered.size, 0);
  });

  test("where localStorage or caches are forbidden, full, or hold something else", async () => {
    const refuse = () => {
      throw new DOMException("forbidden", "SecurityError");
    };
    const name = newName();
    await visit(name, { write: true });
    const [key] = [...remembered.keys()];
    await evict(name);
    remembered.set(key as string, "not a date");
    assert.deepEqual(await visit(name), []);
    const forbidding = { getItem: refuse, setItem: refuse, removeItem: refuse };
    for (const storage of [undefined, forbidding]) {
      give({ localStorage: storage });
      await visit(name, { write: true });
      await evict(name);
      assert.deepEqual(await visit(name), []);
      await deleteStore(name);
    }
    inWorker();
    for (const none of [undefined, { open: refuse, match: refuse }]) {
      give({ caches: none });
      await deleteStore(name);
    }
  });
});
