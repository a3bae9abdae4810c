// Tests the deferred module. Tables work with the primary module alone. The deferred module is
// loaded once, when a call needs it. A failure to load it is reported.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { after, before, describe, mock, test } from "node:test";
import { StoreError } from "../../web/src/errors.ts";
import type { LocalHost } from "../../web/src/host/local-host.ts";
import { accountFromOptions } from "../../web/src/rest/account.ts";
import { encodeHttpRequest } from "../../web/src/rest/http-message.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { Durability } from "../../web/src/types.ts";
import { platformRandom } from "../../web/src/util/random.ts";
import { createEngine, DeferredModuleNeeded } from "../../web/src/wasm/engine.ts";
import { compileModule } from "../../web/src/wasm/module.ts";
import { encodeGet } from "./support/copied-messages.ts";
import { wasmWithMaxPages } from "./support/limited-memory.ts";
import { openHost } from "./support/open-host.ts";

const file = (name: string) => readFile(new URL(`../../web/src/wasm/${name}`, import.meta.url));
const second = await file("entitable.rest.wasm");
const stale = outdated(second);

// Serves the deferred module, unless a test sets another response.
let server: Server;
let origin = "";
let requests = 0;
const right = (response: ServerResponse) =>
  void response.setHeader("content-type", "application/wasm").end(second);
const busy = (response: ServerResponse) => void response.writeHead(503).end();
let answer: (response: ServerResponse) => void = right;
before(async () => {
  server = createServer((_, response) => {
    ++requests;
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
after(() => server.close());

function outdated(binary: Buffer): Buffer {
  const other = Buffer.from(binary);
  // the build id is at the end of the file
  other[other.length - 1] = other.at(-1) === 0x30 ? 0x31 : 0x30;
  return other;
}

let stores = 0;

interface Opened {
  store: StoreHandle;
  host: LocalHost;
  requestCount(): number; // requests for the deferred module
}

async function open(durability: Durability = "strict", files = new Map()): Promise<Opened> {
  answer = right;
  const from = requests;
  // a new URL, because compiled modules are cached by URL
  const deferredModuleUrl = `${origin}/${++stores}`;
  const engine = await createEngine({ splitModule: true, deferredModuleUrl });
  engine.configureAccount(accountFromOptions({}, "acct"), undefined);
  const host = await openHost({ engine, storage: new MemoryStorage(files), durability });
  return { store: new StoreHandle("halves", host), host, requestCount: () => requests - from };
}

async function openWithTable(durability: Durability = "strict"): Promise<Opened> {
  const opened = await open(durability);
  await opened.store.table("people").createTable();
  return opened;
}

const base = "https://acct.table.core.windows.net";
const json = { "Content-Type": "application/json", Accept: "application/json;odata=nometadata" };
const row = (rowKey: string, n = 0) => ({ partitionKey: "p", rowKey, n });

async function list(store: StoreHandle): Promise<number[]> {
  const response = await store.fetch(`${base}/people()`, { headers: json });
  assert.equal(response.status, 200);
  const { value } = (await response.json()) as { value: { n: number }[] };
  return value.map(({ n }) => n);
}

// Encodes a PUT request. Unlike fetch(), this does not delay the call of the store until the body
// is read.
function putBlock(rowKey: string, n: number): Uint8Array {
  const url = `${base}/people(PartitionKey='p',RowKey='${rowKey}')`;
  const body = new TextEncoder().encode(JSON.stringify({ n }));
  const headers = Object.entries(json);
  return encodeHttpRequest({ method: "PUT", url, headers, body, clientIp: "" }, platformRandom);
}

async function put(store: StoreHandle, rowKey: string, n: number): Promise<number> {
  const address = `${base}/people(PartitionKey='p',RowKey='${rowKey}')`;
  const body = JSON.stringify({ n });
  return (await store.fetch(address, { method: "PUT", headers: json, body })).status;
}

function fails(code: string, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof StoreError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  };
}
const missing = fails("WasmLoadFailed", /entitable.rest\.wasm could not be loaded.*503/);

describe("the primary module", () => {
  test("is sufficient for tables, even after reopening", async () => {
    const files = new Map<string, Uint8Array>();
    const { store, requestCount } = await open("strict", files);
    const table = store.table("people");
    await table.createTable();
    for (let i = 0; i < 5; ++i)
      await table.createEntity({ ...row(`${i}`, i), text: "ü 😀", d: 1.5 });
    await table.submitTransaction([
      ["upsert", row("9", 9), "Merge"],
      ["delete", row("0")],
    ]);
    await table.updateEntity(row("1", 11), "Merge");
    await assert.rejects(table.createEntity(row("1")), { statusCode: 409 });
    const seen = [];
    const queryOptions = { filter: "n gt 2 and d lt 3.25 or RowKey eq '9'" };
    for await (const { n } of table.listEntities({ queryOptions })) seen.push(n);
    assert.deepEqual(seen, [11, 3, 4, 9]);
    await store.compact();
    await table.updateEntity(row("2", 22), "Replace");
    assert.equal((await store.stats()).rows, 5);
    await store.close();
    assert.equal(requestCount(), 0);

    const again = await open("strict", files);
    assert.equal((await again.store.table("people").getEntity("p", "2")).n, 22);
    assert.deepEqual(await again.store.stats().then(({ rows }) => rows), 5);
    assert.equal(again.requestCount(), 0);
    await again.store.close();
  });

  test("reports that a message needs the deferred module", async () => {
    const engine = await createEngine({ splitModule: true });
    engine.recover(undefined);
    engine.finishRecovery();
    const explain = encodeGet("people", "p", "r");
    assert.ok(!(engine.read(explain) instanceof DeferredModuleNeeded));
    explain[0] = 3;
    const inCall = new Uint8Array(33);
    inCall.set([32, 1]);
    inCall[32] = 64;
    assert.ok(engine.read(explain) instanceof DeferredModuleNeeded);
    for (const request of [Uint8Array.of(64), inCall]) {
      assert.ok(engine.readHttp(request, 0) instanceof DeferredModuleNeeded);
      assert.ok(engine.listen(1, request) instanceof DeferredModuleNeeded);
      assert.ok(engine.stage([explain, request], 0) instanceof DeferredModuleNeeded);
      assert.ok(engine.stageAndPublish([request], 0) instanceof DeferredModuleNeeded);
      assert.ok(engine.stageAndPublishOne(request, 0) instanceof DeferredModuleNeeded);
    }
    engine.close();
  });
});

test("a primary module of another build is rejected by name", async () => {
  const wasm = outdated(await file("entitable.core.wasm"));
  const named = fails("WasmVersionMismatch", /^entitable.core\.wasm is of another build/);
  await assert.rejects(createEngine({ wasm, splitModule: true }), named);
});

describe("the deferred module", () => {
  test("is loaded once, for all concurrent calls", async () => {
    const { store, requestCount } = await openWithTable();
    await store.table("people").createEntity(row("1", 1));
    assert.equal(requestCount(), 0);
    assert.deepEqual(await Promise.all([list(store), list(store), list(store)]), [[1], [1], [1]]);
    assert.deepEqual(await list(store), [1]);
    assert.equal(requestCount(), 1);
    await store.close();
  });

  for (const durability of ["strict", "relaxed", "deferred"] as const) {
    test(`keeps writes in the order of their calls (${durability})`, async () => {
      const { store, host } = await openWithTable(durability);
      const table = store.table("people");
      await Promise.all([
        table.upsertEntity(row("1", 1)),
        host.write(putBlock("1", 2)),
        host.write(putBlock("2", 2)),
        table.upsertEntity(row("2", 3)),
      ]);
      assert.deepEqual(await list(store), [2, 3]);
      await store.close();
    });
  }

  test("is loaded by the first live query or feed, and by each that could not load it", async () => {
    const { store, requestCount } = await openWithTable();
    const table = store.table("people");
    answer = busy;
    await assert.rejects(table.live().ready, missing);
    await assert.rejects(store.changes().next(), missing);
    answer = right;
    const [live, count, feed] = [table.live(), table.liveCount(), store.changes()];
    await Promise.all([live.ready, count.ready, feed.ready]);
    assert.equal(requestCount(), 3);
    await table.createEntity(row("1", 1));
    assert.equal(live.getSnapshot().data?.length, 1);
    assert.equal((await feed.next()).value?.changes.length, 1);
    await store.close();
  });

  test("has plans, snapshots, restoring and verifying", async () => {
    const ways: [string, (store: StoreHandle, file: Uint8Array) => Promise<unknown>][] = [
      ["explain", (store) => store.table("people").explain()],
      ["snapshot", (store) => store.snapshot()],
      ["restore", (store, file) => store.restore(file)],
      ["merge", (store, file) => store.restore(file, { mode: "merge" })],
      ["verify", async (store) => assert.ok((await store.verify()).ok)],
    ];
    const { store: full } = await openWithTable();
    await full.table("people").createEntity(row("1", 1));
    const snapshot = await full.snapshot();
    await full.close();
    for (const [name, way] of ways) {
      const { store, requestCount } = await openWithTable();
      answer = busy;
      await assert.rejects(way(store, snapshot), missing, name);
      answer = right;
      await way(store, snapshot);
      assert.ok(requestCount() >= 2, name); // verifying opens a second engine
      assert.equal(typeof (await store.table("people").createEntity(row("7"))).etag, "string");
      await store.close();
    }
  });

  test("of an engine is shared with its forks, and a new engine loads its own", async () => {
    const engine = await createEngine({ splitModule: true });
    engine.recover(undefined);
    engine.finishRecovery();
    const early = await engine.createEmptyEngine();
    await engine.loadDeferredModule();
    assert.equal(engine.verify(), "");
    const fork = engine.fork();
    const late = await engine.createEmptyEngine();
    for (const complete of [fork, late]) {
      assert.ok(!(complete.readHttp(Uint8Array.of(64), 0) instanceof DeferredModuleNeeded));
    }
    assert.ok(early.readHttp(Uint8Array.of(64), 0) instanceof DeferredModuleNeeded);
    for (const each of [engine, early, fork, late]) each.close();
  });

  test("may run out of memory: the call fails, and the store continues", async () => {
    const wasm = await wasmWithMaxPages(400, "entitable.core.wasm");
    const engine = await createEngine({
      wasm,
      splitModule: true,
      deferredModuleUrl: `${origin}/small`,
    });
    engine.configureAccount(accountFromOptions({}, "acct"), undefined);
    const host = await openHost({ engine, storage: new MemoryStorage() });
    const store = new StoreHandle("small", host);
    const table = store.table("people");
    await table.createTable();
    const text = "x".repeat(30_000);
    for (let i = 0; i < 100; ++i) await table.createEntity({ ...row(`${i}`, i), text });
    let failure: unknown;
    for (let i = 100; i < 2000 && failure === undefined; ++i) {
      const body = JSON.stringify({ PartitionKey: "p", RowKey: `${i}`, text });
      const insert = { method: "POST", headers: json, body };
      failure = await store.fetch(`${base}/people`, insert).then(
        () => undefined,
        (error: unknown) => error,
      );
    }
    assert.equal((failure as StoreError).code, "OutOfMemory");
    const malformed = { method: "POST", headers: json, body: "{" };
    assert.equal((await store.fetch(`${base}/people`, malformed)).status, 400);
    await table.deleteEntity("p", "1");
    await store.close();
  });
});

describe("a deferred module that cannot be loaded", () => {
  test("rejects that call, and the next call requests it again", async () => {
    const { store, requestCount } = await openWithTable();
    const table = store.table("people");
    answer = busy;
    await assert.rejects(list(store), missing);
    await assert.rejects(put(store, "1", 1), missing);
    await table.createEntity(row("2", 2));
    assert.equal((await table.getEntity("p", "2")).n, 2);
    answer = right;
    assert.equal(await put(store, "1", 1), 204);
    assert.deepEqual(await list(store), [1, 2]);
    assert.equal(requestCount(), 3);
    await store.close();
  });

  for (const durability of ["strict", "deferred"] as const) {
    test(`fails no other write (${durability})`, async () => {
      const { store, host } = await openWithTable(durability);
      const table = store.table("people");
      answer = busy;
      const results = await Promise.allSettled([
        table.upsertEntity(row("1", 1)),
        host.write(putBlock("1", 2)),
        table.upsertEntity(row("2", 3)),
      ]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ["fulfilled", "rejected", "fulfilled"],
      );
      assert.ok(missing(results[1]?.status === "rejected" && results[1].reason));
      answer = right;
      assert.deepEqual(await list(store), [1, 3]);
      await store.close();
    });
  }

  const downloads: [string, (response: ServerResponse) => void][] = [
    ["sends no response", () => {}],
    ["stops in the middle", (response) => void response.write(second.subarray(0, 1000))],
  ];
  for (const [what, stall] of downloads) {
    test(`ends with an error after a minute if the download ${what}`, async () => {
      const { store, host, requestCount } = await openWithTable();
      const table = store.table("people");
      const arrived = new Promise<ServerResponse>((resolve) => {
        answer = (response) => {
          stall(response);
          resolve(response);
        };
      });
      mock.timers.enable({ apis: ["setTimeout"] });
      try {
        const read = list(store);
        const needs = host.write(putBlock("1", 1));
        const needsNot = table.upsertEntity(row("2", 2));
        const flushed = store.flush();
        const settled = Promise.allSettled([read, needs, needsNot, flushed]);
        const response = await arrived;
        mock.timers.tick(60_000);
        const [ofRead, ofNeeds, ofNeedsNot, ofFlush] = await settled;
        const late = fails("WasmLoadFailed", /rest\.wasm could not be loaded: .* 60 seconds/);
        for (const each of [ofRead, ofNeeds]) {
          assert.ok(late(each.status === "rejected" && each.reason));
        }
        assert.deepEqual([ofNeedsNot.status, ofFlush.status], ["fulfilled", "fulfilled"]);
        response.destroy();
      } finally {
        mock.timers.reset();
      }
      answer = right;
      assert.deepEqual(await list(store), [2]);
      assert.equal(requestCount(), 2);
      await store.close();
    });
  }

  test("does not keep the store from closing", async () => {
    const { store, host } = await openWithTable();
    const arrived = new Promise<ServerResponse>((resolve) => {
      answer = resolve;
    });
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const write = Promise.resolve(host.write(putBlock("1", 1)));
      const rejected = assert.rejects(write, { code: "WasmLoadFailed" });
      const response = await arrived;
      const closing = store.close();
      mock.timers.tick(60_000);
      await Promise.all([rejected, closing]);
      response.destroy();
    } finally {
      mock.timers.reset();
    }
  });

  test("says to reload the page, because the site may have been redeployed", async () => {
    const { store } = await openWithTable();
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => void response.writeHead(404).end(),
      (response) => void response.end("<!doctype html>"),
      (response) => void response.end(stale),
    ];
    for (const each of answers) {
      answer = each;
      await assert.rejects(list(store), { name: "StoreError", hint: /^Reload the page/ });
    }
    await store.close();
  });

  test("is requested once for writes that wait together", async () => {
    const { store, host, requestCount } = await openWithTable();
    answer = busy;
    const puts = Array.from({ length: 10 }, (_, i) => host.write(putBlock(`${i}`, i)));
    const [direct, ...rejected] = await Promise.allSettled([
      store.table("people").upsertEntity(row("9", 9)),
      ...puts,
    ]);
    assert.equal(direct.status, "fulfilled");
    for (const put of rejected) assert.ok(missing(put.status === "rejected" && put.reason));
    assert.equal(requestCount(), 1);
    answer = right;
    assert.deepEqual(await list(store), [9]);
    await store.close();
  });

  test("has its own error for another build, and for data that is not a module", async () => {
    const { store } = await openWithTable();
    answer = (response) => void response.end(stale);
    await assert.rejects(list(store), fails("WasmVersionMismatch", /^entitable.rest\.wasm is of/));
    answer = (response) => void response.end("<!doctype html>");
    await assert.rejects(list(store), fails("WasmLoadFailed", /not a WebAssembly module/));
    answer = right;
    assert.deepEqual(await list(store), []);
    await store.close();
  });

  test("of another build leaves the primary module usable, for the next store", async () => {
    const first = await file("entitable.core.wasm");
    const options = {
      wasm: `${origin}/first`,
      splitModule: true,
      deferredModuleUrl: `${origin}/stale`,
    };
    answer = (response) => void response.end(first);
    const engine = await createEngine(options);
    answer = (response) => void response.end(stale);
    await assert.rejects(
      engine.loadDeferredModule(),
      fails("WasmVersionMismatch", /another build/),
    );
    const from = requests;
    const another = await createEngine(options); // the site no longer serves this primary module
    assert.equal(requests, from);
    answer = right;
    await another.loadDeferredModule();
    for (const each of [engine, another]) each.close();
  });

  test("is awaited by writes when the store closes, but not by reads", async () => {
    for (const writes of [false, true]) {
      const { store } = await openWithTable();
      const arrived = new Promise<ServerResponse>((resolve) => {
        answer = resolve;
      });
      const call = writes ? put(store, "1", 1) : list(store);
      call.catch(() => {});
      const response = await arrived;
      let isClosed = false;
      const closing = store.close().then(() => {
        isClosed = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(isClosed, !writes);
      right(response);
      if (writes) assert.equal(await call, 204);
      else await assert.rejects(call, fails("StoreClosed", /closed/));
      await closing;
      assert.equal(store.status.state, "closed");
    }
  });
});

describe("the complete module", () => {
  test("needs no deferred module", async () => {
    const engine = await createEngine({
      wasm: await file("entitable.wasm"),
      splitModule: true,
      deferredModuleUrl: "http://nowhere/",
    });
    assert.ok(!(engine.readHttp(Uint8Array.of(64), 0) instanceof DeferredModuleNeeded));
    engine.close();
  });

  test("exports no more than the primary module, which satisfies the imports", async () => {
    const names = (all: { name: string }[]) => all.map(({ name }) => name);
    const complete = names(
      WebAssembly.Module.exports(await compileModule(await file("entitable.wasm"))),
    );
    const primary = names(WebAssembly.Module.exports(await compileModule()));
    const wanted = WebAssembly.Module.imports(await WebAssembly.compile(second));
    assert.deepEqual(
      complete.filter((name) => !primary.includes(name)),
      [],
    );
    for (const { module, name } of wanted) {
      assert.equal(module, "primary");
      assert.ok(primary.includes(name), name);
    }
  });
});
