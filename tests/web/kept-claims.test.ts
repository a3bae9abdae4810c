// The claims that checkpoints leave in IndexedDB, to an engine that reads the log.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccount } from "../../web/src/rest/account.ts";
import { fileStore, mountPoint } from "../../web/src/storage/idbfs-database.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { IdbfsPlace, idbfsDatabase } from "./support/idbfs-place.ts";
import { openHost } from "./support/open-host.ts";

async function open(place: IdbfsPlace): Promise<StoreHandle> {
  const engine = await createEngine();
  engine.configure(checkAccount({}, "shop"), undefined);
  const host = await openHost({ name: "shop", engine, storage: await place.open() });
  return new StoreHandle("shop", host);
}

async function deleteManifest(place: IdbfsPlace): Promise<void> {
  const mount = mountPoint(place.store);
  const database = await idbfsDatabase(mount);
  const deleting = database.transaction(fileStore, "readwrite");
  deleting.objectStore(fileStore).delete(`${mount}/manifest`);
  await new Promise((done) => {
    deleting.oncomplete = done;
  });
  database.close();
}

test("a store that lost its manifest is damaged, however many owners it had: claims are no log", async () => {
  for (const owners of [1, 2, 3, 12]) {
    const place = new IdbfsPlace();
    for (let i = 0; i < owners; ++i) {
      const store = await open(place);
      const table = store.table("rows");
      if (i === 0) {
        await table.createTable();
        await table.createEntity({ partitionKey: "p", rowKey: "kept" });
      }
      await store.compact();
      assert.equal((await store.stats()).rows, 1);
      await store.close();
    }
    await deleteManifest(place);
    const before = [...(await place.entries()).keys()];
    const store = await open(place);
    assert.equal(store.status.state, "read-only", `${owners}`);
    await store.close();
    assert.deepEqual([...(await place.entries()).keys()], before);
  }
});
