// Tests how the code that serves listening clients is loaded, and what they and others learn whose
// code is missing: a site may have been redeployed.

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { after, afterEach, beforeEach, test } from "node:test";
import { ListenerLoader } from "../../web/src/host/listener-loader.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";

let isMissing = false;
const hooks = registerHooks({
  resolve(specifier, context, next) {
    if (isMissing && /\/(change-listeners|verify)\.ts$/.test(specifier))
      throw new TypeError("Failed to fetch");
    return next(specifier, context);
  },
});

after(() => hooks.deregister());

let store: StoreHandle;

beforeEach(async () => {
  const storage = new MemoryStorage(new Map());
  store = new StoreHandle("live", await openHost({ engine: await createEngine(), storage }));
});

afterEach(async () => {
  isMissing = false;
  await store.close();
});

test("feeds and live queries fail with a StoreError if the code is missing, and may try again", async () => {
  isMissing = true;
  const expected = { name: "StoreError", code: "WasmLoadFailed", hint: /^Reload all tabs/ };
  await assert.rejects(store.changes({ since: 0n }).next(), expected);
  await assert.rejects(store.changes().ready, expected);
  await assert.rejects(store.reader("backup"), expected);
  await store.table("lamps").createTable();
  await assert.rejects(store.table("lamps").live().ready, expected);
  await assert.rejects(store.verify(), expected);
  isMissing = false;
  assert.equal((await store.verify()).ok, true);
  await store.changes().ready;
  await store.table("lamps").live().ready;
});

test("a tab that lacks the code hands the store over, and its clients are told that it is closed", async () => {
  isMissing = true;
  let handovers = 0;
  const logOwnership = {
    client: new Uint8Array(16),
    isOwner: () => true,
    onReplaced() {},
    async handOver() {
      handovers += 1;
      return true;
    },
  };
  const storage = new MemoryStorage(new Map());
  const host = await openHost({ engine: await createEngine(), storage, logOwnership });
  const old = new StoreHandle("live", host);
  await old.fetch("http://localhost/live/Tables"); // loads a deferred module
  assert.equal(host.hasLoadedModule, true);
  await assert.rejects(old.changes().ready, { code: "StoreClosed" });
  assert.equal(handovers, 1);
  assert.equal(host.hasLoadedModule, false); // so the store does not come back to this tab
  await host.close();
});

const engine = {
  stats: () => assert.fail(),
  hasDeferredModule: () => true,
  onChange: undefined,
  runBeforeNextChange() {},
  runBeforeOtherCalls() {},
  listen: (_client: number, request: Uint8Array) => request,
};
const unexpected = () => assert.fail("it is closed");

function newLoader(onClosed: (error: Error) => void) {
  const errorOfMissingCode = async (cause: unknown) => new Error("missing", { cause });
  const loader = new ListenerLoader({ engine, errorOfMissingCode } as never);
  const listener = { onChanges() {}, onChangesEnd() {}, onReset() {}, onClosed };
  return { loader, listen: () => loader.listen(listener) };
}

test("requests are answered in their order, also those that were sent while the code was loaded", async () => {
  const answered: number[] = [];
  const { listen } = newLoader(unexpected);
  const connection = listen();
  const closed = listen();
  await new Promise<void>((resolve) => {
    const fail = (error: Error) => assert.fail(error);
    const send = (id: number, then = () => {}) => {
      const respond = ([, answer = 0]: Uint8Array) => {
        answered.push(answer);
        then();
      };
      connection.send(Uint8Array.of(0, id), respond, fail);
    };
    closed.send(Uint8Array.of(0, 9), unexpected, fail);
    closed.close();
    send(1, () => send(4, resolve));
    send(2);
    send(3);
  });
  assert.deepEqual(answered, [1, 2, 3, 4]);
});

test("a store that closes while the code is loaded tells its clients once, and answers nothing", async () => {
  const errors: Error[] = [];
  const { loader, listen } = newLoader((error) => errors.push(error));
  const connection = listen();
  connection.send(Uint8Array.of(0, 1), unexpected, unexpected);
  const closed = new Error("closed");
  loader.closeAll(closed);
  connection.send(Uint8Array.of(0, 2), unexpected, unexpected);
  await import("../../web/src/host/change-listeners.ts");
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(errors, [closed]);
});

test("a client that closes while the code cannot be loaded is not told", async () => {
  isMissing = true;
  const { listen } = newLoader(unexpected);
  const connection = listen();
  const other = listen();
  connection.send(Uint8Array.of(0, 1), unexpected, unexpected);
  const failed = new Promise((resolve) => other.send(Uint8Array.of(0, 2), unexpected, resolve));
  connection.close();
  assert.equal(((await failed) as Error).message, "missing");
});
