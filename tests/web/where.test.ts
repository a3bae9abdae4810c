// where(): the texts of the filters that it builds, and what they match in a store and as operands
// of the official client.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as official from "@azure/data-tables";
import type { FilterBuilder } from "../../web/src/index.ts";
import { edm, openStore, where } from "./support/package.ts";

type Build = (f: FilterBuilder) => ReturnType<FilterBuilder["eq"]>;

describe("the text of a filter", () => {
  const date = new Date("2024-01-02T03:04:05.678Z");
  const filters: [string, Build][] = [
    ["age eq 31", (f) => f.eq("age", 31)],
    ["age ne -1", (f) => f.ne("age", -1)],
    ["PartitionKey gt 'a'", (f) => f.gt("partitionKey", "a")],
    ["RowKey ge 'O''Neill'", (f) => f.ge("rowKey", "O'Neill")],
    ["Timestamp lt datetime'2024-01-02T03:04:05.678Z'", (f) => f.lt("timestamp", date)],
    ["price le 1.5", (f) => f.le("price", 1.5)],
    ["price eq 5000000000.0", (f) => f.eq("price", 5e9)],
    ["price eq -2147483648", (f) => f.eq("price", -(2 ** 31))],
    ["price eq 1e+21", (f) => f.eq("price", 1e21)],
    ["price eq Infinity", (f) => f.eq("price", Number.POSITIVE_INFINITY)],
    ["price eq 3.0", (f) => f.eq("price", edm.double(3))],
    ["id eq 10L", (f) => f.eq("id", 10n)],
    ["flag eq true", (f) => f.eq("flag", true)],
    ["bytes eq X'01ff'", (f) => f.eq("bytes", Uint8Array.of(1, 255))],
    ["RowKey ge 'emp' and RowKey lt 'emq'", (f) => f.startsWith("rowKey", "emp")],
    ["name ge 'it''' and name lt 'it('", (f) => f.startsWith("name", "it'")],
    ["name ge ''", (f) => f.startsWith("name", "")],
    ["a eq 1 and b eq 2", (f) => f.and(f.eq("a", 1), f.eq("b", 2))],
    ["(a eq 1 or b eq 2)", (f) => f.or(f.eq("a", 1), f.eq("b", 2))],
    ["a eq 1", (f) => f.or(f.and(f.eq("a", 1)))],
    ["(a eq 1 or b eq 2) and c eq 3", (f) => f.and(f.or(f.eq("a", 1), f.eq("b", 2)), f.eq("c", 3))],
    ["(a eq 1 and b eq 2 or c eq 3)", (f) => f.or(f.and(f.eq("a", 1), f.eq("b", 2)), f.eq("c", 3))],
    ["not (a eq 1 and b eq 2)", (f) => f.not(f.and(f.eq("a", 1), f.eq("b", 2)))],
    ["not (not (a eq 1))", (f) => f.not(f.not(f.eq("a", 1)))],
  ];
  for (const [text, build] of filters) test(text, () => assert.equal(where(build), text));

  test("a value without a literal throws", () => {
    assert.throws(() => where((f) => f.eq("a", null as never)), TypeError);
  });
});

test("the filter matches in a store, through its own client and the official one", async () => {
  const store = await openStore({ persistence: "memory", account: { name: "acct" } });
  const table = store.table<{ age: number; price: number }>("people", {
    types: { price: "Double" },
  });
  await table.createTable();
  for (const [rowKey, age, price] of [
    ["empid_1", 31, 5e9],
    ["empid_2", 58, 2],
    ["email_1", 31, 3.5],
  ] as const) {
    await table.createEntity({ partitionKey: "Sales", rowKey, age, price });
  }
  const url = "https://acct.table.core.windows.net";
  const { httpClient } = store;
  const client = new official.TableClient(url, "people", { httpClient });
  const rowKeys = async (filter: string) => {
    const rows: string[] = [];
    const others: (string | undefined)[] = [];
    for await (const row of table.listEntities({ queryOptions: { filter } })) rows.push(row.rowKey);
    for await (const row of client.listEntities({ queryOptions: { filter } })) {
      others.push(row.rowKey);
    }
    assert.deepEqual(others, rows);
    return rows;
  };
  const employees = where((f) =>
    f.and(f.eq("partitionKey", "Sales"), f.startsWith("rowKey", "empid_")),
  );
  assert.deepEqual(await rowKeys(employees), ["empid_1", "empid_2"]);
  assert.equal((await table.explain({ queryOptions: { filter: employees } })).rowsRead, 2);
  assert.deepEqual(await rowKeys(where((f) => f.ge("price", 5e9))), ["empid_1"]);
  assert.deepEqual(await rowKeys(where((f) => f.le("price", 2))), ["empid_2"]);
  const either = where((f) => f.not(f.or(f.eq("age", 58), f.lt("price", 4))));
  assert.deepEqual(await rowKeys(either), ["empid_1"]);
  await store.close();
});
