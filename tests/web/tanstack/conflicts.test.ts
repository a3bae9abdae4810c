// Which version of a row a mutation of a collection of TanStack DB is conditional on.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { RowWriter } from "../../../web/src/tanstack/row-writer.ts";
import type { Store, Table, TableEntity } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";
import { db, entitableCollectionOptions } from "../support/tanstack.ts";
import { until } from "../support/until.ts";

interface Lamp {
  name: string;
  stock: number;
}

const { createCollection, createTransaction } = db;

const lampCollection = (config: { filter?: string } = {}) =>
  createCollection(entitableCollectionOptions<Lamp>({ table: lamps, ...config }));

let store: Store;
let lamps: Table<Lamp>;
let collection: ReturnType<typeof lampCollection>;

beforeEach(async () => {
  store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  lamps = store.table<Lamp>("lamps");
  await lamps.createTable();
  for (const rowKey of ["1", "2"])
    await lamps.createEntity({ partitionKey: "desk", rowKey, name: "Bow", stock: 0 });
  collection = lampCollection();
  await collection.preload();
});
afterEach(async () => {
  await collection.cleanup();
  await store.close();
});

const setStock = (stock: number) => (draft: { stock: number }) => {
  draft.stock = stock;
};
const rename = (rowKey: string, name: string) =>
  lamps.updateEntity({ partitionKey: "desk", rowKey, name });

async function assertConflict(mutation: Promise<unknown>): Promise<void> {
  await assert.rejects(mutation, { statusCode: 412, code: "UpdateConditionNotSatisfied" });
}

test("updates of two rows at the same time do not conflict", async () => {
  const updates = async (key: string) => {
    for (let stock = 1; stock <= 30; ++stock)
      await collection.update(key, setStock(stock)).isPersisted.promise;
  };
  await Promise.all([updates("desk/1"), updates("desk/2")]);
  assert.equal((await lamps.getEntity("desk", "1")).stock, 30);
  assert.equal((await lamps.getEntity("desk", "2")).stock, 30);
});

test("a row can be updated again while a transaction on another row is slow", async () => {
  let finish = () => {};
  const slow = createTransaction({
    mutationFn: () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
  });
  slow.mutate(() => collection.update("desk/2", setStock(9)));
  for (const stock of [1, 2, 3])
    await collection.update("desk/1", setStock(stock)).isPersisted.promise;
  await rename("1", "Arc"); // another tab
  await assertConflict(collection.update("desk/1", setStock(4)).isPersisted.promise);
  finish();
  await slow.isPersisted.promise;
  await until(() => collection.get("desk/1")?.name === "Arc");
  await collection.update("desk/1", setStock(5)).isPersisted.promise;
  assert.equal((await lamps.getEntity("desk", "1")).stock, 5);
});

test("a transaction is conditional on the row that its first mutation saw", async () => {
  const transaction = createTransaction({
    autoCommit: false,
    mutationFn: ({ transaction }) => collection.utils.acceptMutations(transaction),
  });
  transaction.mutate(() =>
    collection.update("desk/1", (draft) => {
      draft.name = "Jam";
    }),
  );
  await rename("1", "Milk"); // another tab
  const live = lamps.liveEntity("desk", "1");
  await live.ready;
  live.close();
  await sleep(5); // the collection has the change
  transaction.mutate(() => collection.update("desk/1", setStock(7)));
  await assertConflict(transaction.commit());
  const { name, stock } = await lamps.getEntity("desk", "1");
  assert.deepEqual([name, stock], ["Milk", 0]);
});

test("a delete after an insert that failed does not delete the entity of another tab", async () => {
  await collection.cleanup();
  collection = lampCollection({ filter: "stock gt 3" });
  await collection.preload();
  const row = { partitionKey: "desk", rowKey: "1", name: "Arc", stock: 5 };
  const inserted = collection.insert(row);
  const deleted = collection.delete("desk/1");
  await assert.rejects(inserted.isPersisted.promise, { code: "EntityAlreadyExists" });
  await assert.rejects(deleted.isPersisted.promise, /was not stored/);
  assert.equal((await lamps.getEntity("desk", "1")).name, "Bow");
});

test("a delete of a row that was inserted before is carried out", async () => {
  const row = { partitionKey: "desk", rowKey: "3", name: "Arc", stock: 5 };
  const inserted = collection.insert(row);
  const deleted = collection.delete("desk/3");
  await Promise.all([inserted.isPersisted.promise, deleted.isPersisted.promise]);
  assert.equal(await lamps.count(), 2);
});

test("a delete with an ETag in its metadata fails if the row has another one", async () => {
  const etag = collection.get("desk/1")?.etag;
  await rename("1", "Milk"); // another tab
  await until(() => collection.get("desk/1")?.name === "Milk");
  await assertConflict(collection.delete("desk/1", { metadata: { etag } }).isPersisted.promise);
  await assertConflict(
    collection.delete(["desk/1", "desk/2"], { metadata: { etag } }).isPersisted.promise,
  );
  assert.equal(await lamps.count(), 2);
  const current = collection.get("desk/1")?.etag;
  await collection.delete("desk/1", { metadata: { etag: current } }).isPersisted.promise;
  await collection.delete("desk/2", { metadata: { etag: "*" } }).isPersisted.promise;
  assert.equal(await lamps.count(), 0);
});

// A collection drops the values of a mutation when its write ends. In a tab that does not own the
// store, the stored row may come later.
test("a write ends when the collection has what was written", async () => {
  let commit = () => {};
  const committed = new Promise<void>((resolve) => {
    commit = resolve;
  });
  const writer = new RowWriter<Lamp>({
    etagOf: () => undefined,
    openTable: () => lamps,
    entityOf: (row) => row as TableEntity<Lamp>,
    whenCommitted: () => committed,
    whenShown: async () => {},
  });
  const arc = { partitionKey: "desk", rowKey: "3", name: "Arc", stock: 0 };
  const insert = { type: "insert", original: {}, modified: arc, metadata: undefined } as const;
  let ended = false;
  const writing = writer.write([{ ...insert, syncMetadata: {} }]).then(() => {
    ended = true;
  });
  await until(() => collection.has("desk/3"));
  await sleep(10);
  assert(!ended);
  commit();
  await writing;
});
