// Which rows a collection that is read on demand reads for the conditions of TanStack DB.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { IR } from "@tanstack/db";
import type { Store, Table } from "../../../web/src/types.ts";
import { openStore, packageFolder } from "../support/package.ts";
import { type Random, seededRandom } from "../support/random.ts";
import { db, entitableCollectionOptions } from "../support/tanstack.ts";

type Filters = typeof import("../../../web/src/tanstack/subset-filter.ts");
type Expression = IR.BasicExpression<boolean>;

const { subsetFilter }: Filters = await import(
  new URL("dist/tanstack/subset-filter.js", packageFolder).href
);
const { createCollection, createLiveQueryCollection } = db;
const { Func, PropRef, Value } = db.IR;

const ref = (...path: string[]) => new PropRef(path);
const call = (name: string, ...args: unknown[]): Expression =>
  new Func(
    name,
    args.map((arg) => (isExpression(arg) ? arg : new Value(arg))),
  ) as Expression;

function isExpression(value: unknown): value is IR.BasicExpression {
  return value instanceof Func || value instanceof PropRef || value instanceof Value;
}

const filterOf = (condition: Expression) => subsetFilter(condition, (name) => name).text;

const age = ref("age");
const rowKey = ref("rowKey");

test("comparisons become comparisons", () => {
  assert.equal(filterOf(call("eq", age, 31)), "age eq 31");
  assert.equal(filterOf(call("gt", age, 31)), "not (age le 31)");
  assert.equal(filterOf(call("gte", age, 31)), "not (age lt 31)");
  assert.equal(filterOf(call("lt", 31, age)), "not (age le 31)");
  assert.equal(filterOf(call("lte", rowKey, "O'Neill")), "RowKey le 'O''Neill'");
  assert.equal(filterOf(call("eq", ref("isActive"), true)), "isActive eq true");
  assert.equal(filterOf(call("not", call("gt", age, 31))), "age le 31");
  assert.equal(filterOf(call("not", call("eq", rowKey, "a"))), "RowKey ne 'a'");
});

test("numbers are compared with properties of each type", () => {
  assert.equal(filterOf(call("gt", age, 1.5)), "not (age le 1)");
  assert.equal(filterOf(call("gte", age, -1.5)), "not (age le -2)");
  assert.equal(filterOf(call("lt", age, 1.5)), "age lt 2");
  assert.equal(filterOf(call("eq", age, 1.5)), "age eq 1.5");
  assert.equal(filterOf(call("gt", age, 5_000_000_000)), "not (age lt 5000000000L)");
  assert.equal(filterOf(call("lt", age, -5_000_000_000n)), "age le -5000000000L");
  assert.equal(filterOf(call("gt", age, -5_000_000_000)), undefined); // an Int32 is less
  assert.equal(filterOf(call("eq", age, 7n)), "age eq 7");
  assert.equal(filterOf(call("lt", age, 2n ** 63n)), undefined);
  assert.equal(filterOf(call("lt", age, Number.POSITIVE_INFINITY)), undefined);
  assert.equal(filterOf(call("eq", age, Number.NaN)), undefined);
  assert.equal(filterOf(call("not", call("eq", age, 0))), undefined); // accepts 0n
});

test("NaN counts as greater than every number", () => {
  assert.equal(filterOf(call("gt", age, 3)), "not (age le 3)");
  assert.equal(filterOf(call("not", call("lt", age, 3))), "not (age lt 3)");
});

test("a date is compared as the range of times that it stands for", () => {
  const made = ref("made");
  const day = new Date("2026-01-01T00:00:00Z");
  const start = "datetime'2026-01-01T00:00:00.000Z'";
  const next = "datetime'2026-01-01T00:00:00.001Z'";
  assert.equal(filterOf(call("eq", made, day)), `made ge ${start} and made lt ${next}`);
  assert.equal(filterOf(call("lte", made, day)), `made lt ${next}`);
  assert.equal(filterOf(call("gt", made, day)), `made gt ${start}`);
  assert.equal(filterOf(call("not", call("eq", made, day))), undefined);
  assert.equal(filterOf(call("gt", made, new Date(Number.NaN))), undefined);
  assert.equal(filterOf(call("gt", made, new Date("1500-01-01"))), undefined);
});

test("and, or and not are joined so that no row is lost", () => {
  const a = call("eq", rowKey, "a");
  const b = call("eq", rowKey, "b");
  const upper = call("eq", call("upper", rowKey), "A");
  assert.equal(filterOf(call("and", a, upper)), "RowKey eq 'a'");
  assert.equal(filterOf(call("or", a, b)), "(RowKey eq 'a' or RowKey eq 'b')");
  assert.equal(filterOf(call("or", a, upper)), undefined);
  assert.equal(filterOf(call("not", call("and", a, upper))), undefined);
  assert.equal(filterOf(call("not", call("or", a, upper))), "RowKey ne 'a'");
  assert.equal(
    filterOf(call("and", call("or", a, b), call("gt", age, 3))),
    "(RowKey eq 'a' or RowKey eq 'b') and not (age le 3)",
  );
});

test("lists and prefixes become keys and ranges", () => {
  assert.equal(
    filterOf(call("in", rowKey, ["a", null, "b", "a"])),
    "(RowKey eq 'a' or RowKey eq 'b')",
  );
  assert.equal(filterOf(call("in", rowKey, [])), "false");
  const many = Array.from({ length: 300 }, (_, i) => `k${1000 + i}`);
  assert.equal(filterOf(call("in", rowKey, many)), "RowKey ge 'k1000' and RowKey le 'k1299'");
  assert.equal(
    filterOf(
      call(
        "in",
        age,
        many.map((_, i) => i),
      ),
    ),
    undefined,
  );
  assert.equal(filterOf(call("like", rowKey, "note-%")), "RowKey ge 'note-' and RowKey lt 'note.'");
  assert.equal(filterOf(call("like", rowKey, "%note")), undefined);
  assert.equal(filterOf(call("not", call("like", rowKey, "note-%"))), undefined);
});

test("what is no property of an entity reads every row", () => {
  for (const path of [["a", "b"], ["etag"], ["timestamp"], ["$synced"], ["not"], ["a-b"], ["1a"]])
    assert.equal(filterOf(call("eq", ref(...path), "x")), undefined);
  for (const name of ["isNull", "isUndefined"]) assert.equal(filterOf(call(name, age)), undefined);
  assert.equal(filterOf(call("eq", age, null)), undefined);
  assert.equal(filterOf(call("eq", age, ref("stock"))), undefined);
  const only = (name: string) => (name === "id" ? "rowKey" : undefined);
  const condition = call("and", call("eq", ref("id"), "a"), call("eq", age, 3));
  assert.equal(subsetFilter(condition, only).text, "RowKey eq 'a'");
});

test("only equal sets of rows are exact", () => {
  const isExact = (condition: Expression) => subsetFilter(condition, (name) => name).isExact;
  assert(isExact(call("and", call("eq", ref("partitionKey"), "p"), call("gt", rowKey, "a"))));
  assert(isExact(call("eq", ref("name"), "x")));
  assert(!isExact(call("lt", ref("name"), "x"))); // a number counts as less
  assert(!isExact(call("eq", age, 3)));
  assert(!isExact(call("and", call("eq", rowKey, "a"), call("isNull", age))));
  assert(!isExact(call("like", rowKey, "a%")));
});

// ---- Random -------------------------------------------------------------------------------------

// The values of a property in the rows, with the Edm type of each.
const numbers = [
  { value: "-3000000000", type: "Int64" },
  { value: -3, type: "Int32" },
  { value: -2.5, type: "Double" },
  { value: "0", type: "Int64" },
  { value: 2, type: "Int32" },
  { value: 2, type: "Double" },
  { value: 2.5, type: "Double" },
  { value: 3_000_000_000, type: "Double" },
  { value: "9007199254740993", type: "Int64" },
  ...["NaN", "Infinity", "-Infinity"].map((value) => ({ value, type: "Double" })),
];
const texts = ["", "a", "A", "ab", "b", "ä", "\u{1F600}", "\uFFFF", "it's"];
const times = [
  "2026-01-01T00:00:00.0000000Z",
  "2026-01-01T00:00:00.0000001Z",
  "1969-12-31T23:59:59.9999999Z",
];
const dates = [0, 1, -1].flatMap((ms) => [Date.parse("2026-01-01T00:00:00Z") + ms, ms]);

const columns: Record<string, readonly object[]> = {
  number: numbers,
  text: texts.map((value) => ({ value, type: "String" })),
  time: times.map((value) => ({ value, type: "DateTime" })),
  flag: [true, false].map((value) => ({ value, type: "Boolean" })),
};

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.below(values.length)] as T;
}

function randomLiteral(random: Random, name: string): unknown {
  if (name === "number")
    return pick(random, [
      -3,
      -2.5,
      0,
      1.9,
      2,
      2n,
      2.5,
      2.6,
      3e9,
      -3e9,
      4e9,
      9007199254740993n,
      2 ** 53,
    ]);
  if (name === "time") return new Date(pick(random, dates));
  return name === "flag" ? random.below(2) === 0 : pick(random, [...texts, "%", "0"]);
}

function randomCondition(random: Random, depth: number): Expression {
  if (depth > 0 && random.below(2) === 0) {
    const name = pick(random, ["and", "or", "not"]);
    const parts = Array.from({ length: name === "not" ? 1 : 2 + random.below(2) }, () =>
      randomCondition(random, depth - 1),
    );
    return call(name, ...parts);
  }
  const name = pick(random, ["number", "text", "time", "flag", "partitionKey", "rowKey"]);
  const literal = () => randomLiteral(random, name);
  switch (random.below(10)) {
    case 0:
      return call("in", ref(name), [literal(), null, literal()]);
    case 1:
      return call("like", ref("text"), `${pick(random, texts)}%`);
    case 2:
      return call("isUndefined", ref(name));
    case 3:
      return call(pick(random, ["eq", "lt", "gte"]), literal(), ref(name));
    default:
      return call(pick(random, ["eq", "gt", "gte", "lt", "lte"]), ref(name), literal());
  }
}

async function randomRows(store: Store, random: Random): Promise<Table> {
  const table = store.table("rows");
  await table.createTable();
  for (let i = 0; i < 60; ++i) {
    const entity: Record<string, unknown> = {};
    for (const [name, values] of Object.entries(columns))
      if (random.below(4) > 0) entity[name] = pick(random, values);
    await table.createEntity({
      partitionKey: pick(random, ["a", "b"]),
      rowKey: String(i),
      ...entity,
    });
  }
  return table;
}

test("queries on demand have the rows that they have if everything is read", async (t) => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = seededRandom(seed);
  const store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  const table = await randomRows(store, random);
  const all = createCollection(entitableCollectionOptions({ table }));
  const onDemand = createCollection(entitableCollectionOptions({ table, syncMode: "on-demand" }));
  await all.preload();
  for (let round = 0; round < 100; ++round) {
    const condition = randomCondition(random, 3);
    const keys = [];
    for (const source of [all, onDemand]) {
      const query = createLiveQueryCollection((q) =>
        q.from({ row: source }).where(() => bound(condition)),
      );
      await query.preload();
      keys.push(query.toArray.map(({ rowKey }) => rowKey).sort());
      await query.cleanup();
    }
    assert.deepEqual(keys[1], keys[0], JSON.stringify(condition, jsonValue));
  }
  await all.cleanup();
  await onDemand.cleanup();
  await store.close();
});

// In a query, the path of a property begins with the name of its source.
function bound<E extends IR.BasicExpression>(expression: E): E {
  if (expression instanceof PropRef) return new PropRef(["row", ...expression.path]) as E;
  return expression instanceof Func
    ? (new Func(expression.name, expression.args.map(bound)) as unknown as E)
    : expression;
}

const jsonValue = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}n` : value);
