// Tests how an engine reads a log with the claims that checkpoints leave in IndexedDB.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accountFromOptions } from "../../web/src/rest/account.ts";
import { fileStoreName, mountPoint } from "../../web/src/storage/idbfs-database.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { IdbfsFixture, idbfsDatabase } from "./support/idbfs-fixture.ts";
import { openHost } from "./support/open-host.ts";

async function open(fixture: IdbfsFixture): Promise<StoreHandle> {
  const engine = await createEngine();
  engine.configureAccount(accountFromOptions({}, "shop"), undefined);
  const host = await openHost({ name: "shop", engine, storage: await fixture.open() });
  return new StoreHandle("shop", host);
}

async function deleteManifest(fixture: IdbfsFixture): Promise<void> {
  const mount = mountPoint(fixture.store);
  const database = await idbfsDatabase(mount);
  const deleting = database.transaction(fileStoreName, "readwrite");
  deleting.objectStore(fileStoreName).delete(`${mount}/manifest`);
  await new Promise((done) => {
    deleting.oncomplete = done;
  });
  database.close();
}

test("a store with claims but without its manifest is damaged", async () => {
  for (const owners of [1, 2, 3, 12]) {
    const fixture = new IdbfsFixture();
    for (let i = 0; i < owners; ++i) {
      const store = await open(fixture);
      const table = store.table("rows");
      if (i === 0) {
        await table.createTable();
        await table.createEntity({ partitionKey: "p", rowKey: "kept" });
      }
      await store.compact();
      assert.equal((await store.stats()).rows, 1);
      await store.close();
    }
    await deleteManifest(fixture);
    const before = [...(await fixture.entries()).keys()];
    const store = await open(fixture);
    assert.equal(store.status.state, "read-only", `${owners}`);
    await store.close();
    assert.deepEqual([...(await fixture.entries()).keys()], before);
  }
});
