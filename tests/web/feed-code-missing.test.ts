// Tests what a feed reports if its code cannot be loaded, for example because the site was
// redeployed.

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";

test("a feed fails with a StoreError if its code is missing", async (t) => {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier.endsWith("/feed-requests.ts")) throw new TypeError("Failed to fetch");
      return next(specifier, context);
    },
  });
  t.after(() => hooks.deregister());
  const storage = new MemoryStorage(new Map());
  const store = new StoreHandle("feed", await openHost({ engine: await createEngine(), storage }));
  const expected = { name: "StoreError", code: "WasmLoadFailed", hint: /^Reload the page/ };
  await assert.rejects(store.changes({ since: 0n }).next(), expected);
  await assert.rejects(store.reader("backup"), expected);
  await store.changes().ready;
  await store.close();
});
