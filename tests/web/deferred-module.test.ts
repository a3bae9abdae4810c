// Tests the deferred modules. Tables work with the primary module alone. A deferred module is
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
import {
  createEngine,
  type DeferredModuleName,
  DeferredModuleNeeded,
} from "../../web/src/wasm/engine.ts";
import { compileModule } from "../../web/src/wasm/module.ts";
import { deferredModuleNames } from "../../web/src/wasm/module-urls.ts";
import { encodeGet } from "./support/copied-messages.ts";
import { wasmWithMaxPages } from "./support/limited-memory.ts";
import { openHost } from "./support/open-host.ts";

const file = (name: string) => readFile(new URL(`../../web/src/wasm/${name}`, import.meta.url));
const moduleFiles: Readonly<Record<string, Buffer>> = {
  core: await file("entitable.core.wasm"),
  rest: await file("entitable.rest.wasm"),
  live: await file("entitable.live.wasm"),
  snapshot: await file("entitable.snapshot.wasm"),
  sync: await file("entitable.sync.wasm"),
};
const rest = moduleFiles.rest as Buffer;

// Serves the modules, unless a test sets another response. A path is a number, which makes the URL
// a new one, because compiled modules are cached by URL; then the module's name.
let server: Server;
let origin = "";
const requests: string[] = []; // paths
type Answer = (response: ServerResponse, module: string) => void;
const right: Answer = (response, module) =>
  void response.setHeader("content-type", "application/wasm").end(moduleFiles[module]);
const outdatedFile: Answer = (response, module) =>
  void response.end(outdated(moduleFiles[module] as Buffer));
const busy: Answer = (response) => void response.writeHead(503).end();
let answer = right;
before(async () => {
  server = createServer(({ url = "" }, response) => {
    requests.push(url);
    answer(response, url.split("/").at(-1) ?? "");
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

let folders = 0;

// Returns new URLs for the modules.
function newUrls() {
  const folder = `${origin}/${++folders}`;
  const [rest, live, snapshot, sync] = ["rest", "live", "snapshot", "sync"].map(
    (name) => `${folder}/${name}`,
  ) as [string, string, string, string];
  return { core: `${folder}/core`, rest, live, snapshot, sync };
}

interface Opened {
  store: StoreHandle;
  host: LocalHost;
  requested(): string[]; // the deferred modules that were requested
}

async function open(durability: Durability = "strict", files = new Map()): Promise<Opened> {
  answer = right;
  const from = requests.length;
  const engine = await createEngine({ preload: [], deferredModuleUrls: newUrls() });
  engine.configureAccount(accountFromOptions({}, "acct"), undefined);
  const host = await openHost({ engine, storage: new MemoryStorage(files), durability });
  const requested = () => requests.slice(from).map((path) => path.split("/").at(-1) ?? "");
  return { store: new StoreHandle("parts", host), host, requested };
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
const lacks = (module: DeferredModuleName) =>
  fails("WasmLoadFailed", new RegExp(`entitable\\.${module}\\.wasm could not be loaded.*503`));
const missing = lacks("rest");
const liveMissing = lacks("live");

describe("the primary module", () => {
  test("is sufficient for tables, even after reopening", async () => {
    const files = new Map<string, Uint8Array>();
    const { store, requested } = await open("strict", files);
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
    assert.deepEqual(requested(), []);

    const again = await open("strict", files);
    assert.equal((await again.store.table("people").getEntity("p", "2")).n, 22);
    assert.deepEqual(await again.store.stats().then(({ rows }) => rows), 5);
    assert.deepEqual(again.requested(), []);
    await again.store.close();
  });

  test("reports that a message needs a deferred module", async () => {
    const engine = await createEngine({ preload: [] });
    engine.recover(undefined);
    engine.finishRecovery();
    const explain = encodeGet("people", "p", "r");
    assert.ok(!(engine.read(explain) instanceof DeferredModuleNeeded));
    explain[0] = 3;
    const inCall = new Uint8Array(33);
    inCall.set([32, 1]);
    inCall[32] = 64;
    assert.ok(engine.read(explain) instanceof DeferredModuleNeeded);
    assert.ok(engine.listen(1, Uint8Array.of(0)) instanceof DeferredModuleNeeded);
    const snapshot = engine.beginSnapshot();
    assert.ok(engine.nextSnapshotChunk(snapshot) instanceof DeferredModuleNeeded);
    engine.endSnapshot(snapshot);
    for (const request of [Uint8Array.of(64), inCall]) {
      assert.ok(engine.readHttp(request, 0) instanceof DeferredModuleNeeded);
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
  await assert.rejects(createEngine({ wasm, preload: [] }), named);
});

describe("a deferred module", () => {
  test("is loaded once, for all concurrent calls", async () => {
    const { store, requested } = await openWithTable();
    await store.table("people").createEntity(row("1", 1));
    assert.deepEqual(requested(), []);
    assert.deepEqual(await Promise.all([list(store), list(store), list(store)]), [[1], [1], [1]]);
    assert.deepEqual(await list(store), [1]);
    assert.deepEqual(requested(), ["rest"]);
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
    const { store, requested } = await openWithTable();
    const table = store.table("people");
    answer = busy;
    await assert.rejects(table.live().ready, liveMissing);
    await assert.rejects(store.changes().next(), liveMissing);
    answer = right;
    const [live, count, feed] = [table.live(), table.liveCount(), store.changes()];
    await Promise.all([live.ready, count.ready, feed.ready]);
    assert.deepEqual(requested(), ["live", "live", "live"]);
    await table.createEntity(row("1", 1));
    assert.equal(live.getSnapshot().data?.length, 1);
    assert.equal((await feed.next()).value?.changes.length, 1);
    await store.close();
  });

  test("has nothing that calls of the others need", async () => {
    const { store, requested } = await openWithTable();
    const table = store.table("people");
    await using live = table.live();
    await live.ready;
    assert.deepEqual(requested(), ["live"]);
    const before = await store.snapshot();
    assert.ok((await store.verify()).ok);
    assert.deepEqual([...new Set(requested())], ["live", "snapshot"]);
    await table.createEntity(row("1", 1));
    await table.deleteTable();
    await store.restore(before, { mode: "merge" });
    await store.restore(before);
    assert.ok((await store.verify()).ok);
    assert.equal(await put(store, "2", 2), 204);
    await store.flush();
    assert.deepEqual(
      live.getSnapshot().data?.map(({ n }) => n),
      [2],
    );
    assert.deepEqual([...new Set(requested())], ["live", "snapshot", "rest"]);
    await store.close();
  });

  test("has plans, snapshots, restoring and verifying", async () => {
    type Way = (store: StoreHandle, file: Uint8Array) => Promise<unknown>;
    const ways: [string, [DeferredModuleName, ...string[]], Way][] = [
      ["explain", ["rest"], (store) => store.table("people").explain()],
      ["snapshot", ["snapshot"], (store) => store.snapshot()],
      ["restore", ["rest", "snapshot"], (store, file) => store.restore(file)],
      ["merge", ["rest", "snapshot"], (store, file) => store.restore(file, { mode: "merge" })],
      ["verify", ["snapshot"], async (store) => assert.ok((await store.verify()).ok)],
    ];
    const { store: full } = await openWithTable();
    await full.table("people").createEntity(row("1", 1));
    const snapshot = await full.snapshot();
    await full.close();
    for (const [name, modules, way] of ways) {
      const { store, requested } = await openWithTable();
      answer = busy;
      await assert.rejects(way(store, snapshot), lacks(modules[0]), name);
      answer = right;
      await way(store, snapshot);
      assert.deepEqual(requested(), [modules[0], ...modules], name);
      assert.equal(typeof (await store.table("people").createEntity(row("7"))).etag, "string");
      await store.close();
    }
  });

  test("of an engine is shared with its forks, and a new engine loads its own", async () => {
    const engine = await createEngine({ preload: [] });
    engine.recover(undefined);
    engine.finishRecovery();
    const early = await engine.createEmptyEngine();
    await engine.loadDeferredModule("rest");
    await engine.loadDeferredModule("snapshot");
    assert.equal(engine.verify(), "");
    const fork = engine.fork();
    const late = await engine.createEmptyEngine();
    for (const each of [fork, late]) {
      assert.ok(!(each.readHttp(Uint8Array.of(64), 0) instanceof DeferredModuleNeeded));
      assert.equal(each.verify(), "");
      const linked = deferredModuleNames.filter((name) => each.hasDeferredModule(name));
      assert.deepEqual(linked, ["rest", "snapshot"]);
    }
    assert.ok(early.readHttp(Uint8Array.of(64), 0) instanceof DeferredModuleNeeded);
    for (const each of [engine, early, fork, late]) each.close();
  });

  test("may run out of memory: the call fails, and the store continues", async () => {
    const wasm = await wasmWithMaxPages(400, "entitable.core.wasm");
    const engine = await createEngine({ wasm, preload: [], deferredModuleUrls: newUrls() });
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
    const { store, requested } = await openWithTable();
    const table = store.table("people");
    answer = busy;
    await assert.rejects(list(store), missing);
    await assert.rejects(put(store, "1", 1), missing);
    await table.createEntity(row("2", 2));
    assert.equal((await table.getEntity("p", "2")).n, 2);
    answer = right;
    assert.equal(await put(store, "1", 1), 204);
    assert.deepEqual(await list(store), [1, 2]);
    assert.deepEqual(requested(), ["rest", "rest", "rest"]);
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

  const downloads: [string, Answer][] = [
    ["sends no response", () => {}],
    ["stops in the middle", (response) => void response.write(rest.subarray(0, 1000))],
  ];
  for (const [what, stall] of downloads) {
    test(`ends with an error after a minute if the download ${what}`, async () => {
      const { store, host, requested } = await openWithTable();
      const table = store.table("people");
      const arrived = new Promise<ServerResponse>((resolve) => {
        answer = (response, module) => {
          stall(response, module);
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
      assert.deepEqual(requested(), ["rest", "rest"]);
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
    const answers: Answer[] = [
      (response) => void response.writeHead(404).end(),
      (response) => void response.end("<!doctype html>"),
      outdatedFile,
    ];
    for (const each of answers) {
      answer = each;
      const reload = (module: string) => ({
        name: "StoreError",
        hint: new RegExp(`^Reload the page.*entitable\\.${module}\\.wasm of the same`),
      });
      await assert.rejects(list(store), reload("rest"));
      await assert.rejects(store.table("people").live().ready, reload("live"));
      await assert.rejects(store.verify(), reload("snapshot"));
    }
    await store.close();
  });

  test("is requested once for writes that wait together", async () => {
    const { store, host, requested } = await openWithTable();
    answer = busy;
    const puts = Array.from({ length: 10 }, (_, i) => host.write(putBlock(`${i}`, i)));
    const [direct, ...rejected] = await Promise.allSettled([
      store.table("people").upsertEntity(row("9", 9)),
      ...puts,
    ]);
    assert.equal(direct.status, "fulfilled");
    for (const put of rejected) assert.ok(missing(put.status === "rejected" && put.reason));
    assert.deepEqual(requested(), ["rest"]);
    answer = right;
    assert.deepEqual(await list(store), [9]);
    await store.close();
  });

  test("has its own error for another build, and for data that is not a module", async () => {
    const { store } = await openWithTable();
    answer = outdatedFile;
    await assert.rejects(list(store), fails("WasmVersionMismatch", /^entitable.rest\.wasm is of/));
    await assert.rejects(
      store.changes().next(),
      fails("WasmVersionMismatch", /^entitable.live\.wasm is of/),
    );
    await assert.rejects(
      store.snapshot(),
      fails("WasmVersionMismatch", /^entitable.snapshot\.wasm is of/),
    );
    answer = (response) => void response.end("<!doctype html>");
    await assert.rejects(list(store), fails("WasmLoadFailed", /not a WebAssembly module/));
    answer = right;
    assert.deepEqual(await list(store), []);
    await store.close();
  });

  test("of another build leaves the primary module usable, for the next store", async () => {
    const { core, ...deferredModuleUrls } = newUrls();
    const options = { wasm: core, preload: [], deferredModuleUrls };
    answer = right;
    const engine = await createEngine(options);
    answer = outdatedFile;
    for (const module of deferredModuleNames) {
      await assert.rejects(
        engine.loadDeferredModule(module),
        fails("WasmVersionMismatch", /another build/),
      );
    }
    assert.equal(engine.moduleLoading, "fails");
    const from = requests.length;
    const another = await createEngine(options); // the site no longer serves this primary module
    assert.equal(requests.length, from);
    answer = right;
    assert.equal(another.moduleLoading, "unused");
    for (const module of deferredModuleNames) await another.loadDeferredModule(module);
    assert.equal(another.moduleLoading, "works");
    for (const module of ["live", "snapshot", "sync"] as const) {
      await engine.loadDeferredModule(module);
      assert.equal(engine.moduleLoading, "fails"); // another module
    }
    await engine.loadDeferredModule("rest");
    assert.equal(engine.moduleLoading, "works");
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
      right(response, "rest");
      if (writes) assert.equal(await call, 204);
      else await assert.rejects(call, fails("StoreClosed", /closed/));
      await closing;
      assert.equal(store.status.state, "closed");
    }
  });
});

describe("the complete module", () => {
  test("needs no deferred module", async () => {
    const nowhere = "http://nowhere/";
    const engine = await createEngine({
      wasm: await file("entitable.wasm"),
      preload: [],
      deferredModuleUrls: { rest: nowhere, live: nowhere, snapshot: nowhere, sync: nowhere },
    });
    assert.ok(!(engine.readHttp(Uint8Array.of(64), 0) instanceof DeferredModuleNeeded));
    assert.equal(engine.moduleLoading, "works");
    for (const module of deferredModuleNames) assert.ok(engine.hasDeferredModule(module));
    engine.close();
  });

  test("exports no more than the primary module, which satisfies the imports", async () => {
    const names = (all: { name: string }[]) => all.map(({ name }) => name);
    const complete = names(
      WebAssembly.Module.exports(await compileModule(await file("entitable.wasm"))),
    );
    const primary = names(WebAssembly.Module.exports(await compileModule()));
    assert.deepEqual(
      complete.filter((name) => !primary.includes(name)),
      [],
    );
    for (const deferred of deferredModuleNames) {
      const compiled = await WebAssembly.compile(moduleFiles[deferred] as Buffer<ArrayBuffer>);
      for (const { module, name } of WebAssembly.Module.imports(compiled)) {
        assert.equal(module, "primary");
        assert.ok(primary.includes(name), name);
      }
    }
  });
});
