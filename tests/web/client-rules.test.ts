// Tests the checks before a call reaches the store. (table-client.test.ts tests what the store
// returns.)

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TableHandle } from "../../web/src/client/table-client.ts";
import { ServiceHandle } from "../../web/src/client/table-service-client.ts";
import { TableTransaction } from "../../web/src/client/transaction.ts";
import type { Transport } from "../../web/src/transport.ts";
import type { TransactionAction, UpdateMode } from "../../web/src/types.ts";

const untouched: Transport = {
  read: () => assert.fail("the store was read"),
  readHttp: () => assert.fail("the store was asked"),
  write: () => assert.fail("the store was written"),
  listen: () => assert.fail("the store was listened to"),
  now: () => 0,
};
const table = new TableHandle(untouched, "people");
const service = new ServiceHandle(untouched);
const missing = undefined as unknown as string;
const none = null as unknown as string;
const noPartitionKey = {
  name: "Error",
  message: "The entity's partitionKey cannot be undefined or null.",
};
const noRowKey = { name: "Error", message: "The entity's rowKey cannot be undefined or null." };

describe("keys that are missing", () => {
  test("getEntity, updateEntity and deleteEntity throw at the call", () => {
    for (const key of [missing, none]) {
      assert.throws(() => table.getEntity(key, "r"), noPartitionKey);
      assert.throws(() => table.getEntity("p", key), noRowKey);
      assert.throws(() => table.deleteEntity(key, "r"), noPartitionKey);
      assert.throws(() => table.deleteEntity("p", key), noRowKey);
      assert.throws(() => table.updateEntity({ partitionKey: key, rowKey: "r" }), noPartitionKey);
      assert.throws(() => table.updateEntity({ partitionKey: "p", rowKey: key }), noRowKey);
    }
  });

  test("upsertEntity rejects", async () => {
    for (const key of [missing, none]) {
      await assert.rejects(table.upsertEntity({ partitionKey: key, rowKey: "r" }), noPartitionKey);
      await assert.rejects(table.upsertEntity({ partitionKey: "p", rowKey: key }), noRowKey);
    }
  });
});

describe("an unknown mode", () => {
  const entity = { partitionKey: "p", rowKey: "r" };
  const mode = "merge" as UpdateMode;
  const unexpected = { name: "Error", message: "Unexpected value for update mode: merge" };

  test("rejects in updateEntity, upsertEntity and in a transaction", async () => {
    await assert.rejects(table.updateEntity(entity, mode), unexpected);
    await assert.rejects(table.upsertEntity(entity, mode), unexpected);
    await assert.rejects(table.submitTransaction([["update", entity, mode]]), unexpected);
    await assert.rejects(table.submitTransaction([["upsert", entity, mode]]), unexpected);
  });
});

describe("a value without an Edm type", () => {
  test("rejects with its name", async () => {
    const write = table.createEntity({ partitionKey: "p", rowKey: "r", tags: ["a"] });
    await assert.rejects(write, (error: Error) => {
      assert.match(error.message, /^Unknown EDM type object/);
      assert.match(error.message, /"tags"/);
      return true;
    });
  });
});

describe("an aborted signal", () => {
  const abortSignal = AbortSignal.abort();
  const aborted = { name: "AbortError" };
  const entity = { partitionKey: "p", rowKey: "r" };

  test("rejects in every call", async () => {
    const calls: (() => Promise<unknown>)[] = [
      () => table.createTable({ abortSignal }),
      () => table.deleteTable({ abortSignal }),
      () => table.createEntity(entity, { abortSignal }),
      () => table.getEntity("p", "r", { abortSignal }),
      () => table.updateEntity(entity, "Merge", { abortSignal }),
      () => table.upsertEntity(entity, "Merge", { abortSignal }),
      () => table.deleteEntity("p", "r", { abortSignal }),
      () => table.submitTransaction([["create", entity]], { abortSignal }),
      () => table.listEntities({ abortSignal }).next(),
      () => table.listEntities({ abortSignal }).byPage().next(),
      () => table.explain({ abortSignal }),
      () => service.createTable("t", { abortSignal }),
      () => service.deleteTable("t", { abortSignal }),
      () => service.listTables({ abortSignal }).next(),
    ];
    for (const call of calls) await assert.rejects(call(), aborted, String(call));
  });
});

describe("options that hook into requests", () => {
  test("are rejected, since no request is sent", async () => {
    const onResponse = () => {};
    const notSupported = { name: "StoreError", code: "NotSupported" };
    await assert.rejects(table.getEntity("p", "r", { onResponse } as object), notSupported);
    const requestOptions = { customHeaders: { a: "b" } } as object;
    await assert.rejects(table.deleteEntity("p", "r", { requestOptions }), notSupported);
    await assert.rejects(service.createTable("t", { onResponse } as object), notSupported);
  });
});

describe("invalid page sizes and tokens", () => {
  test("reject with InvalidInput when the page is read", async () => {
    const invalidInput = { name: "RestError", statusCode: 400, code: "InvalidInput" };
    const settings = [{ maxPageSize: -1 }, { maxPageSize: 1.5 }, { continuationToken: "?" }];
    for (const bad of settings) {
      const pages = table.listEntities().byPage(bad);
      await assert.rejects(pages.next(), invalidInput);
    }
    await assert.rejects(service.listTables().byPage({ maxPageSize: -1 }).next(), invalidInput);
  });
});

describe("transactions", () => {
  const a = { partitionKey: "p", rowKey: "a" };

  test("without actions reject with a TypeError", async () => {
    await assert.rejects(table.submitTransaction([]), { name: "TypeError" });
  });

  test("over two partitions reject", async () => {
    const other = { partitionKey: "q", rowKey: "a" };
    const differ = {
      name: "Error",
      message: "All operations in a transaction must target the same partitionKey",
    };
    for (const verb of ["create", "delete", "update", "upsert"] as const) {
      const actions: TransactionAction[] = [["create", a], [verb, other] as TransactionAction];
      await assert.rejects(table.submitTransaction(actions), differ);
    }
  });

  test("of an unknown action reject", async () => {
    const actions = [["insert", a]] as unknown as TransactionAction[];
    await assert.rejects(table.submitTransaction(actions), { name: "TypeError" });
  });

  test("are collected by TableTransaction", () => {
    const transaction = new TableTransaction([["create", a]]);
    transaction.createEntity({ ...a, n: 1 });
    transaction.deleteEntity("p", "b");
    transaction.updateEntity({ ...a, n: 2 });
    transaction.updateEntity({ ...a, n: 3 }, "Replace");
    transaction.updateEntity({ ...a, n: 4 }, { etag: "x" });
    transaction.updateEntity({ ...a, n: 5 }, "Replace", { etag: "y" });
    transaction.upsertEntity({ ...a, n: 6 });
    transaction.upsertEntity({ ...a, n: 7 }, "Replace");
    assert.deepEqual(transaction.actions, [
      ["create", a],
      ["create", { ...a, n: 1 }],
      ["delete", { partitionKey: "p", rowKey: "b" }],
      ["update", { ...a, n: 2 }, "Merge", {}],
      ["update", { ...a, n: 3 }, "Replace", {}],
      ["update", { ...a, n: 4 }, "Merge", { etag: "x" }],
      ["update", { ...a, n: 5 }, "Replace", { etag: "y" }],
      ["upsert", { ...a, n: 6 }, "Merge"],
      ["upsert", { ...a, n: 7 }, "Replace"],
    ]);
    assert.deepEqual(new TableTransaction().actions, []);
  });
});
