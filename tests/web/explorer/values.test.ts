// Tests the texts of property values: a text is valid if and only if the store accepts it, and a
// filter with the value's literal finds the value.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  edmTypeNames,
  literalOf,
  propertyNameProblem,
  restoreLineEnds,
  valueProblem,
} from "../../../web/src/explorer/explorer-values.ts";
import type { EdmTypes, Store } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";

let store: Store;
before(async () => {
  store = await openStore({ persistence: "memory" });
  await store.table("values").createTable();
});
after(() => store.close());

const good: Readonly<Record<EdmTypes, readonly string[]>> = {
  String: ["", "it's", "x".repeat(32768)],
  Int32: ["0", "-2147483648", "2147483647"],
  Int64: ["0", "-9223372036854775808", "9223372036854775807"],
  Double: ["0", "-0", "1.5", "2e10", "1E-7", "NaN", "Infinity", "-Infinity", "5e-324"],
  Boolean: ["true", "false", "True", "FALSE"],
  DateTime: [
    "2026-03-29",
    "2026-03-29T12:30",
    "1601-01-01T00:00:00Z",
    "9999-12-31T23:59:59.9999999Z",
    "2026-03-29T12:30:00+02:00",
  ],
  Guid: ["c9da6455-213d-42c9-9a79-3e9149a57833", "C9DA6455-213D-42C9-9A79-3E9149A57833"],
  Binary: ["", "AA==", "AAA=", "AAAA", "+/8="],
};

const bad: Readonly<Record<EdmTypes, readonly string[]>> = {
  String: ["x".repeat(32769)],
  Int32: ["", "x", "1.0", "-2147483649", "2147483648", " 1"],
  Int64: ["", "1L", "-9223372036854775809", "9223372036854775808"],
  Double: ["", "1e400", "nan", "1,5", "0x10"],
  Boolean: ["", "yes", "1"],
  DateTime: ["", "now", "2026-13-01", "29.3.2026"],
  Guid: ["", "c9da6455213d42c99a793e9149a57833", "{c9da6455-213d-42c9-9a79-3e9149a57833}"],
  Binary: ["A", "AA", "A===", "-_8="],
};

describe("values", () => {
  for (const type of edmTypeNames) {
    test(`${type}: texts are validated, and a literal finds its value`, async () => {
      const table = store.tableClient("values");
      for (const [n, value] of good[type].entries()) {
        assert.equal(valueProblem({ type, value }), undefined, value);
        const rowKey = `${type}${n}`;
        await table.createEntity({ partitionKey: "p", rowKey, v: { type, value } });
        const typed = { disableTypeConversion: true };
        const { v } = await table.getEntity<{ v: { type: EdmTypes; value: string } }>(
          "p",
          rowKey,
          typed,
        );
        // Skips values that are too long for a filter, and NaN, which equals nothing.
        if (v.value.length > 1000 || v.value === "NaN") continue;
        const filter = `RowKey eq '${rowKey}' and v eq ${literalOf(v)}`;
        const found = await table.listEntities({ queryOptions: { filter } }).next();
        assert.equal(found.value?.rowKey, rowKey, filter);
      }
      for (const value of bad[type]) {
        assert.equal(typeof valueProblem({ type, value }), "string", value);
        const entity = { partitionKey: "p", rowKey: "bad", v: { type, value } };
        await assert.rejects(table.createEntity(entity), { statusCode: 400 }, `${type} ${value}`);
      }
    });
  }
});

describe("names", () => {
  test("are valid where the store accepts them", async () => {
    const table = store.tableClient("values");
    for (const [n, name] of ["a", "_", "Ünï1", "x".repeat(255), "__proto__"].entries()) {
      assert.equal(propertyNameProblem(name), undefined, name);
      const entity = Object.assign(Object.create(null), { partitionKey: "n", rowKey: String(n) });
      entity[name] = 1;
      await table.createEntity(entity);
    }
    for (const name of ["1a", "a b", "a-b", "a.b", "x".repeat(256)]) {
      assert.equal(typeof propertyNameProblem(name), "string", name);
      const entity = { partitionKey: "n", rowKey: "bad", [name]: 1 };
      await assert.rejects(table.createEntity(entity), { statusCode: 400 }, name);
    }
    for (const name of ["", "PartitionKey", "rowKey", "Timestamp", "etag"]) {
      assert.equal(typeof propertyNameProblem(name), "string", name);
    }
  });
});

test("an edit keeps the line ends that it did not touch", () => {
  const cases = [
    ["one\r\ntwo", "one\ntwo", "one\r\ntwo"],
    ["one\r\ntwo", "one\ntwo!", "one\r\ntwo!"],
    ["one\r\ntwo", "one\nand\ntwo", "one\r\nand\r\ntwo"],
    ["a\nb\rc\r\nd", "a\nb\nC\nd", "a\nb\rC\r\nd"],
    ["a\r\nb\nc", "a\nc", "a\r\nc"],
    ["a\r\nb\nc", "b\nc", "b\nc"],
    ["a\r\n\r\nb", "a\nb", "a\r\nb"],
    ["a\r\nb", "", ""],
    ["a\r\nb", "x\ny\nz", "x\r\ny\r\nz"],
    ["a\nb", "a\nb\nc", "a\nb\nc"],
    ["", "a\nb", "a\nb"],
    ["\r", "\n\n", "\r\r"],
  ] as const;
  for (const [before, edited, after] of cases) {
    assert.equal(restoreLineEnds(before, edited), after, JSON.stringify([before, edited]));
  }
});
