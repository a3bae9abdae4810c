// Rows whose keys change or are equal, in a collection of TanStack DB.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { Store, Table } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";
import { db, entitableCollectionOptions } from "../support/tanstack.ts";
import { until } from "../support/until.ts";

interface Page {
  slug: string;
}

let store: Store;
let pages: Table<Page>;
const errors: unknown[] = [];
const globals = globalThis as { reportError?: ((error: unknown) => void) | undefined };
const { reportError } = globals;

beforeEach(async () => {
  globals.reportError = (error) => errors.push(error);
  store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  pages = store.table<Page>("pages");
  await pages.createTable();
});
afterEach(async () => {
  errors.length = 0;
  globals.reportError = reportError;
  await store.close();
});

const put = (partitionKey: string, rowKey: string, slug = rowKey) =>
  pages.upsertEntity({ partitionKey, rowKey, slug }, "Replace");

type Row = Page & { partitionKey: string; rowKey: string };

const collectionBy = (getKey: (row: Row) => string) =>
  db.createCollection(entitableCollectionOptions<Page>({ table: pages, getKey }));

test("an entity can move to another partition under the same key", async () => {
  await put("a", "1");
  const collection = collectionBy(({ rowKey }) => rowKey);
  await collection.preload();
  await put("b", "1"); // an entity with a key that is taken
  await put("b", "2");
  await until(() => collection.has("2"));
  assert.equal(collection.get("1")?.partitionKey, "a");
  assert.match(String(errors), /a\/1 and b\/1 have the same key: 1/);
  await put("b", "1");
  await pages.deleteEntity("a", "1");
  await until(() => collection.get("1")?.partitionKey === "b");
  assert.equal(errors.length, 1);
  const row = { partitionKey: "b", rowKey: "3", slug: "3" };
  await collection.insert(row).isPersisted.promise;
  await pages.deleteEntity("b", "1");
  await until(() => !collection.has("1"));
  await collection.cleanup();
});

test("two entities exchange their keys in one transaction", async () => {
  await put("a", "1", "x");
  await put("a", "2", "y");
  const collection = collectionBy(({ slug }) => slug);
  await collection.preload();
  await pages.submitTransaction([
    ["update", { partitionKey: "a", rowKey: "1", slug: "y" }],
    ["update", { partitionKey: "a", rowKey: "2", slug: "x" }],
  ]);
  await until(() => collection.get("x")?.rowKey === "2");
  assert.equal(collection.get("y")?.rowKey, "1");
  assert.deepEqual([collection.size, errors.length], [2, 0]);
  await collection.cleanup();
});

test("a row whose key changes is moved", async () => {
  await put("a", "1", "x");
  const collection = collectionBy(({ slug }) => slug);
  await collection.preload();
  await put("a", "1", "y");
  await until(() => collection.has("y"));
  assert.deepEqual([...collection.keys()], ["y"]);
  await pages.deleteEntity("a", "1");
  await until(() => collection.size === 0);
  await collection.cleanup();
});
