// Tests entities as conflicts show them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { entityOf, propertiesOf } from "../../../web/src/start-sync/entities.ts";
import type { SyncEntity } from "../../../web/src/start-sync/types.ts";
import { keyOf } from "../../../web/src/sync/keys.ts";
import type { Properties } from "../../../web/src/sync/properties.ts";
import type { Value } from "../../../web/src/sync/value.ts";

const key = keyOf("p", "1");
const guid = "8a28b620-b4bb-458c-a177-0959fb14c977";

const all: Properties = new Map<string, Value>([
  ["text", { type: "String", value: "a" }],
  ["yes", { type: "Boolean", value: true }],
  ["whole", { type: "Double", value: 3 }],
  ["small", { type: "Int32", value: 3 }],
  ["big", { type: "Int64", value: "9007199254740993" }],
  ["at", { type: "DateTime", value: "2026-01-02T03:04:05.1234567Z" }],
  ["bytes", { type: "Binary", value: "AAEC" }],
  ["id", { type: "Guid", value: guid }],
]);

test("an entity has the values that a table's client returns", () => {
  assert.deepEqual(entityOf(key, all), {
    partitionKey: "p",
    rowKey: "1",
    text: "a",
    yes: true,
    whole: 3,
    small: 3,
    big: 9007199254740993n,
    at: new Date("2026-01-02T03:04:05.123Z"),
    bytes: Uint8Array.of(0, 1, 2),
    id: { type: "Guid", value: guid },
  });
  assert.equal(entityOf(key, undefined), undefined);
});

test("values that are passed on keep their types and their precision", () => {
  const shown = entityOf(key, all) as SyncEntity;
  assert.deepEqual(propertiesOf(key, { ...shown }, [all]), all);
  const copied = structuredClone(shown);
  assert.deepEqual(propertiesOf(key, copied, [undefined, all]), all);
});

test("new values have the types that a table's client gives them", () => {
  const entity = {
    partitionKey: "p",
    rowKey: "1",
    etag: "ignored",
    absent: undefined,
    text: "b",
    yes: false,
    whole: 4,
    small: 4,
    half: 0.5,
    big: 1n,
    at: new Date(0),
    bytes: Uint8Array.of(255),
    id: { type: "Int64", value: "5" },
  };
  const properties = propertiesOf(key, entity, [all]);
  assert.deepEqual(
    [...properties.values()].map(({ type }) => type),
    [
      "String",
      "Boolean",
      "Double", // as it was shown
      "Int32",
      "Double",
      "Int64",
      "DateTime",
      "Binary",
      "Int64",
    ],
  );
  assert(!properties.has("etag") && !properties.has("absent"));
});

test("properties with the names that a table's client adds stay if they were shown", () => {
  const shown: Properties = new Map<string, Value>([
    ["timestamp", { type: "String", value: "noon" }],
    ["etag", { type: "Int32", value: 1 }],
  ]);
  const entity = { ...(entityOf(key, shown) as SyncEntity), n: 1 };
  const expected = new Map([...shown, ["n", { type: "Int32", value: 1 }]]);
  assert.deepEqual(propertiesOf(key, entity, [undefined, shown]), expected);
});

for (const [type, value] of [
  ["Text", "a"],
  ["Int64", 0.5],
  ["Int32", 2 ** 31],
  ["Boolean", "true"],
  ["Double", "1"],
  ["Guid", 1],
  ["Binary", new Date(0)],
] as const) {
  test(`a value like { type: "${type}", value: ${String(value)} } is refused`, () => {
    const entity = { partitionKey: "p", rowKey: "1", n: { type, value } };
    assert.throws(() => propertiesOf(key, entity, []), /Unknown EDM type/);
  });
}

test("numbers, dates and bytes can be given with their type", () => {
  const entity = {
    partitionKey: "p",
    rowKey: "1",
    a: { type: "Int64", value: 5 },
    b: { type: "Double", value: 5 },
    c: { type: "DateTime", value: new Date(0) },
    d: { type: "Binary", value: Uint8Array.of(0, 1, 2) },
  };
  assert.deepEqual(
    [...propertiesOf(key, entity, []).values()],
    [
      { type: "Int64", value: "5" },
      { type: "Double", value: 5 },
      { type: "DateTime", value: "1970-01-01T00:00:00.000Z" },
      { type: "Binary", value: "AAEC" },
    ],
  );
});

test("an entity with other keys, or with a value that cannot be stored, is refused", () => {
  const other = { partitionKey: "p", rowKey: "2" };
  assert.throws(() => propertiesOf(key, other, []), /same keys/);
  const list = { partitionKey: "p", rowKey: "1", list: [1] };
  assert.throws(() => propertiesOf(key, list, []), /Unknown EDM type/);
});
