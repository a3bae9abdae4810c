// Checks entity group transactions.

import { RestError, TableTransaction, type TransactionAction } from "@azure/data-tables";
import { equal } from "../equal.ts";
import { all, type Check, rejectionOf } from "./environment.ts";

const entity = (rowKey: string, more: object = {}) => ({ partitionKey: "p", rowKey, ...more });

// Checks the error of an operation in a transaction: the client's error has the code, and the
// service's message begins with the operation's index.
async function failed(promise: Promise<unknown>, status: number, code: string, text: RegExp) {
  const error = await rejectionOf(promise);
  if (!(error instanceof RestError)) throw error;
  equal([error.statusCode, error.code, text.test(error.message)], [status, code, true]);
}

export const transactions: Check[] = [
  {
    name: "a transaction has all kinds of operations, and returns the ETag of each",
    async run(context) {
      const table = await context.newTable();
      for (const row of ["1", "2", "3"]) await table.createEntity(entity(row, { a: 1, b: 1 }));
      const actions: TransactionAction[] = [
        ["create", entity("0", { name: "o'x \u20ac", big: 2n ** 60n })],
        ["update", entity("1", { a: 2 }), "Merge"],
        ["update", entity("2", { a: 2 }), "Replace"],
        ["delete", entity("3")],
        ["upsert", entity("4"), "Merge"],
        ["upsert", entity("5"), "Replace"],
      ];
      const result = await table.submitTransaction(actions);
      equal(result.status, 202);
      equal(
        result.subResponses.map(({ status }) => status),
        actions.map(() => 204),
      );
      equal(result.getResponseForEntity("0")?.rowKey, "0");
      const after = await all(table.listEntities());
      equal(
        after.map(({ rowKey, name, big, a, b }) => [rowKey, name, big, a, b]),
        [
          ["0", "o'x \u20ac", 2n ** 60n, undefined, undefined],
          ["1", undefined, undefined, 2, 1],
          ["2", undefined, undefined, 2, undefined],
          ["4", undefined, undefined, undefined, undefined],
          ["5", undefined, undefined, undefined, undefined],
        ],
      );
      equal(
        result.subResponses.map(({ etag }) => etag).filter((etag) => etag !== undefined),
        after.map(({ etag }) => etag),
      );
    },
  },
  {
    name: "a transaction is built with the client's helper",
    async run(context) {
      const table = await context.newTable();
      const { etag } = await table.createEntity(entity("1", { a: 1, b: 1 }));
      await table.createEntity(entity("2", { a: 1, b: 1 }));
      await table.createEntity(entity("3"));
      const transaction = new TableTransaction();
      transaction.createEntity(entity("0"));
      transaction.updateEntity(entity("1", { a: 2 }), "Merge", { etag: etag as string });
      transaction.updateEntity(entity("2", { a: 2 }), "Replace");
      transaction.deleteEntity("p", "3");
      transaction.upsertEntity(entity("4"), "Replace");
      await table.submitTransaction(transaction.actions);
      const after = await all(table.listEntities());
      equal(
        after.map(({ rowKey, a, b }) => [rowKey, a, b]),
        [
          ["0", undefined, undefined],
          ["1", 2, 1],
          ["2", 2, undefined],
          ["4", undefined, undefined],
        ],
      );
      const again = table.submitTransaction(transaction.actions.slice(1, 3));
      await failed(again, 412, "UpdateConditionNotSatisfied", /^0:/);
    },
  },
  {
    name: "a transaction fails as a whole, with the index of the failed operation",
    async run(context) {
      const table = await context.newTable();
      await table.createEntity(entity("1"));
      const failing = table.submitTransaction([
        ["create", entity("0")],
        ["create", entity("1")],
        ["create", entity("2")],
      ]);
      await failed(failing, 409, "EntityAlreadyExists", /^1:The specified entity already exists\./);
      const missing = table.submitTransaction([
        ["upsert", entity("0")],
        ["upsert", entity("1", { a: 1 })],
        ["delete", entity("2")],
      ]);
      await failed(missing, 404, "ResourceNotFound", /^2:/);
      const [only, ...more] = await all(table.listEntities());
      equal([only?.rowKey, only?.["a"], more], ["1", undefined, []]);
    },
  },
  {
    name: "a transaction has at most 100 operations, in one partition, one for each entity",
    async run(context) {
      const table = await context.newTable();
      const actions = (count: number): TransactionAction[] =>
        Array.from({ length: count }, (_, i) => ["create", entity(`${i}`)]);
      await failed(table.submitTransaction(actions(101)), 400, "InvalidInput", /./);
      const twice = table.submitTransaction([...actions(2), ["upsert", entity("0")]]);
      await failed(twice, 400, "InvalidDuplicateRow", /^2:/);
      const apart: TransactionAction = ["create", { partitionKey: "q", rowKey: "0" }];
      const error = await rejectionOf(table.submitTransaction([...actions(1), apart]));
      equal(/same partitionKey/i.test(String(error)), true, `the client says so: ${error}`);
      equal(await all(table.listEntities()), []);
      const { subResponses } = await table.submitTransaction(actions(100));
      equal(subResponses.length, 100);
      equal((await all(table.listEntities())).length, 100);
    },
  },
];
