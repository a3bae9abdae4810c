// Tests how the code that serves listening clients is loaded, and what they learn if it is missing:
// a site may have been redeployed.

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { afterEach, beforeEach, test } from "node:test";
import { ListenerLoader } from "../../web/src/host/listener-loader.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";

let isMissing = false;
const hooks = registerHooks({
  resolve(specifier, context, next) {
    if (isMissing && specifier.endsWith("/change-listeners.ts"))
      throw new TypeError("Failed to fetch");
    return next(specifier, context);
  },
});

let store: StoreHandle;

beforeEach(async () => {
  const storage = new MemoryStorage(new Map());
  store = new StoreHandle("live", await openHost({ engine: await createEngine(), storage }));
});

afterEach(async () => {
  isMissing = false;
  await store.close();
});

test("whoever listens fails with a StoreError if the code is missing, and may try again", async () => {
  isMissing = true;
  const expected = { name: "StoreError", code: "WasmLoadFailed", hint: /^Reload all tabs/ };
  await assert.rejects(store.changes({ since: 0n }).next(), expected);
  await assert.rejects(store.changes().ready, expected);
  await assert.rejects(store.reader("backup"), expected);
  await store.table("lamps").createTable();
  await assert.rejects(store.table("lamps").live().ready, expected);
  isMissing = false;
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
  await assert.rejects(new StoreHandle("live", host).changes().ready, { code: "StoreClosed" });
  assert.equal(handovers, 1);
  await host.close();
});

test("a store that closes while the code is loaded ends its feeds", async () => {
  const feed = store.changes();
  const ready = assert.rejects(feed.ready, { code: "StoreClosed" });
  await Promise.resolve();
  await store.close();
  await ready;
  await assert.rejects(feed.next(), { code: "StoreClosed" });
  hooks.deregister();
});

test("requests are answered in their order, also those that were sent while the code was loaded", async () => {
  const answered: number[] = [];
  const engine = {
    stats: () => assert.fail(),
    hasDeferredModule: () => true,
    onChange: undefined,
    runBeforeNextChange() {},
    runBeforeOtherCalls() {},
    listen: (_client: number, request: Uint8Array) => request,
  };
  const loader = new ListenerLoader({ engine } as never);
  const listener = { onChanges() {}, onChangesEnd() {}, onReset() {}, onClosed() {} };
  const connection = loader.listen(listener);
  const closed = loader.listen(listener);
  await new Promise<void>((resolve) => {
    const fail = (error: Error) => assert.fail(error);
    const send = (id: number, then = () => {}) => {
      const respond = ([, answer = 0]: Uint8Array) => {
        answered.push(answer);
        then();
      };
      connection.send(Uint8Array.of(0, id), respond, fail);
    };
    closed.send(Uint8Array.of(0, 9), () => assert.fail("it is closed"), fail);
    closed.close();
    send(1, () => send(4, resolve));
    send(2);
    send(3);
  });
  assert.deepEqual(answered, [1, 2, 3, 4]);
});
