// Tests the store of sync in the owner of a store: commits between the writes of clients, opening,
// takeovers, and what must not lose operations.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { RequestEncoder } from "../../web/src/client/request-encoder.ts";
import { ResponseDecoder } from "../../web/src/client/response-decoder.ts";
import { RestError, StoreError } from "../../web/src/errors.ts";
import type { LocalHost, LocalHostOptions } from "../../web/src/host/local-host.ts";
import { accountFromOptions } from "../../web/src/rest/account.ts";
import { encodeHttpRequest } from "../../web/src/rest/http-message.ts";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { keyOf } from "../../web/src/sync/keys.ts";
import { planPush } from "../../web/src/sync/plan-push.ts";
import { tableNumber } from "../../web/src/sync-store/hidden-keys.ts";
import { OwnerStore } from "../../web/src/sync-store/owner-store.ts";
import { platformRandom } from "../../web/src/util/random.ts";
import { createEngine, type Engine } from "../../web/src/wasm/engine.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { openHost } from "./support/open-host.ts";

const table = "people";
const encoder = new RequestEncoder();
const decoder = new ResponseDecoder();
const rules = {
  hasReceipts: false,
  limits: { operations: 100, bytes: 4 * 1024 * 1024 },
  keeps: () => true,
};
const input = { isSettled: true, token: "t", groupsMax: 100 };

class Bench {
  readonly files = new Map<string, Uint8Array>();
  readonly #t: TestContext;

  constructor(t: TestContext) {
    this.#t = t;
  }

  /** Opens the store without any deferred module. */
  async open(options: Partial<LocalHostOptions> = {}): Promise<[LocalHost, Engine]> {
    const engine = options.engine ?? (await createEngine({ preload: [] }));
    const storage = new MemoryStorage(this.files);
    const host = await openHost({ storage, ...options, engine });
    this.#t.after(() => host.close().catch(() => {}));
    return [host, engine];
  }

  /** Opens it with a table that is synced. */
  async openSynced(options: Partial<LocalHostOptions> = {}): Promise<[LocalHost, OwnerStore]> {
    const [host] = await this.open(options);
    await encoder.createTable(table, (message) => host.write(message.slice()));
    const sync = await host.startSync();
    await sync.setSynced(table, "begin");
    return [host, new OwnerStore(sync, table)];
  }
}

async function insert(
  host: LocalHost,
  rowKey: string,
  value: unknown = 1,
  into: string = table,
): Promise<void> {
  const entity = { a: value };
  const write = { kind: "insertOrReplace", partitionKey: "p", rowKey, entity } as const;
  const message = encoder.write(into, [write], false, undefined, (bytes) => bytes.slice());
  decoder.etagsOfWrite(await host.write(message));
}

const pendingKeys = (store: OwnerStore): Promise<string[]> =>
  store.read((view) => [...view.entries("outbox", "")].map(([, { key }]) => key));

const remoteRow = {
  properties: new Map([["a", { type: "Int32", value: 7 } as const]]),
  version: { etag: 'W/"7"', timestamp: 17_000_000_000_000_000n },
};

test("sync reads and commits between the writes of clients", async (t) => {
  for (const durability of ["strict", "relaxed", "deferred"] as const) {
    const [host, store] = await new Bench(t).openSynced({ durability });
    const writes = ["1", "2", "3"].map((row) => insert(host, row));
    const commits = ["4", "5"].map((row) =>
      store.transact((draft) => {
        draft.put("rows", keyOf("p", row), remoteRow);
        return draft.nextCommit;
      }),
    );
    await Promise.all(writes);
    const [first = 0, second = 0] = await Promise.all(commits);
    assert.equal(second, first + 1);
    assert.equal(store.commit >= second, true);
    assert.deepEqual(await pendingKeys(store), [keyOf("p", "1"), keyOf("p", "2"), keyOf("p", "3")]);
    assert.equal(
      await store.read((view) => view.get("rows", keyOf("p", "4"))?.version?.etag),
      'W/"7"',
    );
    await store.stored();
  }
});

test("the next process records writes, and continues the push of the process before", async (t) => {
  const bench = new Bench(t);
  const [host, store] = await bench.openSynced();
  await insert(host, "1");
  const plan = await store.transact((draft) => planPush(draft, "p", rules, input));
  assert(plan.kind === "push" && plan.isNew);
  await store.stored();
  await insert(host, "2");
  // The process ends without a word; the next one takes the log over.
  const [next, engine] = await bench.open();
  assert(engine.hasSyncedTables);
  await insert(next, "3");
  const continued = new OwnerStore(await next.startSync(), table);
  assert.equal((await pendingKeys(continued)).length, 3);
  const again = await continued.transact((draft) =>
    planPush(draft, "p", rules, { ...input, token: "other" }),
  );
  assert(again.kind === "push" && !again.isNew);
  assert.deepEqual(again.push, plan.push);
  // The process before can store nothing any more.
  await assert.rejects(async () => {
    await store.transact((draft) => draft.put("tries", "p", 1));
    await store.stored();
  });
});

test("parts that sync needs are loaded", async (t) => {
  const bench = new Bench(t);
  const [host, store] = await bench.openSynced();
  for (const row of ["1", "2", "3"]) await insert(host, row);
  await store.transact((draft) => draft.put("marks", keyOf("p", "9"), { at: 1 }));
  await host.compact();
  await host.close();
  const [next, engine] = await bench.open();
  const before = engine.memoryBytes;
  const opened = new OwnerStore(await next.startSync(), table);
  await next.stats();
  assert(engine.memoryBytes < before + 100_000, "counting loads no hidden part");
  assert.equal((await pendingKeys(opened)).length, 3);
  await opened.transact((draft) => {
    for (const [key, op] of draft.entries("outbox", "")) {
      draft.delete("outbox", key);
      draft.put("lost", key, { op, local: undefined, remote: undefined, outcome: "notApplied" });
    }
  });
  assert.deepEqual(await pendingKeys(opened), []);
  assert.equal(await opened.read((view) => [...view.entries("lost", "")].length), 3);
});

test("a commit that is refused stops nothing", async (t) => {
  const [host, store] = await new Bench(t).openSynced();
  const sync = await host.startSync();
  const already = { code: "TableAlreadyExists", message: /^The table is synced already\./ };
  await assert.rejects(sync.setSynced(table, "begin"), already);
  await assert.rejects(sync.setSynced("cities", "begin"), { code: "TableNotFound" });
  await assert.rejects(
    store.transact(() => {
      throw new TypeError("a defect");
    }),
    TypeError,
  );
  await encoder.createTable("full", (message) => host.write(message.slice()));
  await insert(host, "1", 1, "full");
  await assert.rejects(sync.setSynced("full", "begin"), {
    code: "ValidationFailed",
    message: "The table has rows. Only an empty table can begin to sync.",
    hint: "Sync a new table, then write the rows of this one into it.",
  });
  const tooLarge = new Map(
    Array.from({ length: 17 }, (_, i) => [
      `p${i}`,
      { type: "String", value: "x".repeat(32_000) } as const,
    ]),
  );
  await assert.rejects(
    store.transact((draft) =>
      draft.put("rows", keyOf("p", "1"), { ...remoteRow, properties: tooLarge }),
    ),
    { code: "EntityTooLarge" },
  );
  await insert(host, "1");
  await store.transact((draft) => draft.put("marks", keyOf("p", "9"), { at: 1 }));
  assert.equal((await pendingKeys(store)).length, 1);
});

test("an error of the code that decides stops nothing, whatever it is", async (t) => {
  const [host, store] = await new Bench(t).openSynced();
  const errors = [
    new StoreError("QuotaExceeded", "Of another store."),
    new RestError("Of the remote.", { statusCode: 503, code: "ServerBusy" }),
    new StorageError("unknown", "Of another store."),
  ];
  for (const error of errors) {
    const failing = store.transact(() => {
      throw error;
    });
    await assert.rejects(failing, error);
    await insert(host, "1");
  }
  await store.transact((draft) => draft.put("marks", keyOf("p", "9"), { at: 1 }));
});

test("a row that sync cannot read ends sync with an error, and local writes go on", async (t) => {
  const [host, store] = await new Bench(t).openSynced();
  await insert(host, "1");
  const { engine } = await host.startSync();
  const entity = { Key: "2", Kind: { type: "Int32", value: 77 } } as const; // of a later version
  const rowKey = "0000000000999999";
  const write = { kind: "insertOrReplace", partitionKey: "p", rowKey, entity } as const;
  const message = encoder.write(table, [write], true, undefined, (bytes) => bytes.slice());
  const part = { table: tableNumber.outbox, message, timestamps: [0n] };
  engine.applySynced([part], engine.lastCommit, true, 1e12);
  const plan = store.transact((draft) => planPush(draft, "p", rules, input));
  await assert.rejects(plan, { code: "Corrupted" });
  await insert(host, "1", 2);
  await assert.rejects(pendingKeys(store), { code: "Corrupted" });
});

test("a push is stored with strict durability, and other commits as the store's", async (t) => {
  for (const durability of ["relaxed", "deferred"] as const) {
    const storage = new ControlledStorage(new MemoryStorage(new Map()));
    const [host, store] = await new Bench(t).openSynced({ storage, durability });
    const opened = storage.calls.length;
    const levels = () =>
      storage.calls
        .slice(opened)
        .flatMap((call) => (call.name === "addSegments" ? (call.durability ?? []) : []));
    await insert(host, "1");
    await store.transact((draft) => draft.put("marks", keyOf("p", "9"), { at: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert(!levels().includes("strict"), durability);
    await store.transact((draft) => draft.put("marks", keyOf("p", "8"), { at: 1 }));
    await store.stored(); // only pushes must survive a power failure
    assert(!levels().includes("strict"), durability);
    await store.transact((draft) => planPush(draft, "p", rules, input));
    await new Promise((resolve) => setTimeout(resolve, 30)); // its timer has stored it
    assert.equal(levels().at(-1), "strict", durability);
    await insert(host, "2");
    await store.transact((draft) => draft.put("tries", "p", 2));
    await insert(host, "3"); // is stored with it
    await store.stored();
    assert.equal(levels().filter((level) => level === "strict").length, 2, durability);
  }
});

test("a write of a synced table loads the module, and again if that failed", async (t) => {
  for (const durability of ["strict", "deferred"] as const) {
    const bench = new Bench(t);
    const [host] = await bench.openSynced({ durability });
    await encoder.createTable("cities", (message) => host.write(message.slice()));
    await insert(host, "1");
    await host.close();
    const engine = await createEngine({ preload: [] });
    const { loadDeferredModule } = engine;
    let loads = 0;
    engine.loadDeferredModule = async () => {
      ++loads;
      throw new StoreError("WasmLoadFailed", "The network is down.", { hint: "Wait." });
    };
    const [opened] = await bench.open({ engine, durability });
    assert.equal((await opened.stats()).rows, 1);
    const writes = [insert(opened, "2"), insert(opened, "a", 1, "cities"), insert(opened, "3")];
    const refused = { status: "rejected", value: undefined };
    const outcomes = await Promise.allSettled(writes);
    assert.deepEqual(
      outcomes.map(({ status }) => ({ status, value: undefined })),
      [refused, { status: "fulfilled", value: undefined }, refused],
    );
    await assert.rejects(writes[0] as Promise<void>, {
      code: "WasmLoadFailed",
      message: /^Writes of a synced table must be recorded .* The network is down\.$/,
      hint: /^The next write loads it again\. .* Wait\.$/,
    });
    assert.equal(loads, 2); // when it opened, then once for all writes that waited
    await assert.rejects(opened.startSync(), { code: "WasmLoadFailed" });
    engine.loadDeferredModule = loadDeferredModule;
    await Promise.all([insert(opened, "2"), insert(opened, "3")]);
    const store = new OwnerStore(await opened.startSync(), table);
    assert.deepEqual(
      await pendingKeys(store),
      ["1", "2", "3"].map((row) => keyOf("p", row)),
    );
  }
});

test("writes that wait while the module cannot be loaded do not wait for each other", async (t) => {
  const bench = new Bench(t);
  const [host] = await bench.openSynced();
  await encoder.createTable("cities", (message) => host.write(message.slice()));
  await host.close();
  const engine = await createEngine({ preload: [] });
  const fails: (() => void)[] = [];
  engine.loadDeferredModule = () =>
    new Promise((_, reject) => {
      fails.push(() => reject(new StoreError("WasmLoadFailed", "It takes too long.")));
    });
  const [opened] = await bench.open({ engine });
  const outcome = (write: Promise<void>) => write.catch(({ code }) => code);
  const first = outcome(insert(opened, "1"));
  await new Promise((resolve) => setTimeout(resolve, 10));
  const writes = ["2", "3"].map((row) => outcome(insert(opened, row)));
  const other = outcome(insert(opened, "a", 1, "cities"));
  assert.equal(fails.length, 2); // when it opened, and for the first write
  for (const fail of fails) fail();
  const failed = "WasmLoadFailed";
  const all = await Promise.all([first, ...writes, other]);
  assert.deepEqual(all, [failed, failed, failed, undefined]);
  assert.equal(fails.length, 2);
  void outcome(insert(opened, "4")); // this one tries again
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(fails.length, 3);
  fails[2]?.();
});

test("the first write of a synced table may be an HTTP request", async (t) => {
  for (const durability of ["strict", "deferred"] as const) {
    const bench = new Bench(t);
    const [host] = await bench.openSynced({ durability });
    await host.close();
    const engine = await createEngine({ preload: [] });
    engine.configureAccount(accountFromOptions({}, "acct"), undefined);
    const [opened] = await bench.open({ engine, durability });
    const url = `https://acct.table.core.windows.net/${table}(PartitionKey='p',RowKey='1')`;
    const body = new TextEncoder().encode('{"a":1}');
    const headers: [string, string][] = [["Content-Type", "application/json"]];
    const request = { method: "PUT", url, headers, body, clientIp: "" };
    await opened.write(encodeHttpRequest(request, platformRandom));
    await insert(opened, "2");
    const store = new OwnerStore(await opened.startSync(), table);
    assert.deepEqual(await pendingKeys(store), [keyOf("p", "1"), keyOf("p", "2")]);
  }
});

test("a store with a synced table begins to load the module when it opens", async (t) => {
  const bench = new Bench(t);
  const [host] = await bench.openSynced();
  await host.close();
  const engine = await createEngine({ preload: [] });
  const [opened] = await bench.open({ engine });
  for (let i = 0; i < 200 && engine.moduleLoading === "unused"; ++i)
    await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(engine.moduleLoading, "works");
  await insert(opened, "1");
});

test("writes are recorded if a log that does not fit in memory begins to sync at its end", async (t) => {
  const bench = new Bench(t);
  const [before] = await bench.open();
  await encoder.createTable("large", (message) => before.write(message.slice()));
  for (let row = 0; row < 100; ++row)
    await insert(before, String(1000 + row), "x".repeat(30_000), "large");
  const [host] = await bench.openSynced();
  await insert(host, "1");
  // The processes end without a word, so that the log stays as it is.
  const [opened, engine] = await bench.open({ memoryLimit: 1024 * 1024 });
  assert(engine.hasSyncedTables);
  await insert(opened, "2");
  const store = new OwnerStore(await opened.startSync(), table);
  assert.equal((await pendingKeys(store)).length, 2);
});

test("a commit of sync waits for its place, and is rejected if the store closes", async (t) => {
  const files = new Map<string, Uint8Array>();
  const storage = new ControlledStorage(new MemoryStorage(files));
  const [host, store] = await new Bench(t).openSynced({ storage });
  storage.auto = false;
  const writing = insert(host, "1");
  const call = await storage.next();
  let isDone = false;
  const committing = store
    .transact((draft) => draft.put("marks", keyOf("p", "9"), { at: 1 }))
    .then(() => {
      isDone = true;
    });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert(!isDone, "a candidate is being stored");
  storage.auto = true;
  await call.succeed();
  await Promise.all([writing, committing]);
  await host.close();
  await assert.rejects(
    store.transact(() => {}),
    { code: "StoreClosed" },
  );
  await assert.rejects(
    store.read(() => {}),
    { code: "StoreClosed" },
  );
  await assert.rejects(store.stored(), { code: "StoreClosed" });
});

async function snapshotOf(host: LocalHost) {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of host.snapshotChunks()) chunks.push(chunk);
  return () => ({
    async *chunks() {
      yield* chunks;
    },
    cancel() {},
  });
}

test("a restore asks for pending operations without the module of sync", async (t) => {
  const bench = new Bench(t);
  const [host] = await bench.openSynced();
  const file = await snapshotOf(host);
  await insert(host, "1");
  await host.compact();
  await host.close();
  const engine = await createEngine({ preload: [] });
  const { loadDeferredModule } = engine;
  engine.loadDeferredModule = (name) =>
    name === "sync"
      ? Promise.reject(new StoreError("WasmLoadFailed", "The network is down."))
      : loadDeferredModule.call(engine, name);
  const [opened] = await bench.open({ engine });
  await assert.rejects(opened.restore(file()), { code: "TableHasPendingOperations" });
  await encoder.createTable("cities", (message) => opened.write(message.slice()));
  await insert(opened, "1", 1, "cities");
  assert.equal((await opened.stats()).rows, 2);
});

test("a restore does not lose operations without a word", async (t) => {
  const [host, store] = await new Bench(t).openSynced();
  const file = await snapshotOf(host);
  await insert(host, "1");
  await assert.rejects(host.restore(file()), { code: "TableHasPendingOperations" });
  assert.equal((await pendingKeys(store)).length, 1);
  await host.restore(file(), { mode: "merge" });
  assert.equal((await pendingKeys(store)).length, 1);
  const sync = await host.startSync();
  await assert.rejects(sync.setSynced(table, "end"), { code: "TableHasPendingOperations" });
  await sync.setSynced(table, "discard");
  await host.restore(file());
  assert.equal((await host.stats()).rows, 0);
});

test("a listener is called once after the commits of a turn, until it is removed", async (t) => {
  const [host, store] = await new Bench(t).openSynced({ durability: "deferred" });
  const sync = await host.startSync();
  const seen: number[] = [];
  const remove = sync.watchCommits(() => seen.push(store.commit));
  const first = store.commit;
  await Promise.all(["1", "2", "3"].map((row) => insert(host, row)));
  while (seen.length === 0) await turn();
  await turn();
  assert.deepEqual(seen, [first + 3]);
  await store.transact((draft) => draft.put("overlap", "ms", 5));
  while (seen.length === 1) await turn();
  await turn();
  assert.deepEqual(seen, [first + 3, first + 4]);
  remove();
  await insert(host, "4");
  await turn();
  assert.equal(seen.length, 2);
});

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 5));
