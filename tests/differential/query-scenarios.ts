// Requests for many entities.

import { selection } from "./read-scenarios.ts";
import { type EdmType, edmTypes, type Step } from "./request.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { commonHeaders, encodeQueryValue, makeStep, propertyName } from "./steps.ts";
import type { StoreModel } from "./store-model.ts";
import { validValue } from "./values.ts";

// ---- Filters ------------------------------------------------------------------------------------

interface Filter {
  text: string;
  types: readonly EdmType[];
}

const operators = ["eq", "ne", "gt", "ge", "lt", "le"];
const mirrored: Record<string, string> = {
  gt: "lt",
  ge: "le",
  lt: "gt",
  le: "ge",
  eq: "eq",
  ne: "ne",
};

function comparison(random: SeededRandom, type: EdmType): Filter {
  // Azurite does not order Guid and Binary values. Other scenarios test their order.
  const operator = random.pick(type === "Guid" || type === "Binary" ? ["eq", "ne"] : operators);
  const name = propertyName(type, 1 + random.below(2));
  const { literal = "" } = validValue(random, type);
  const text = random.oneIn(5)
    ? `${literal} ${mirrored[operator]} ${name}`
    : `${name} ${operator} ${literal}`;
  return { text, types: [type] };
}

function keyComparison(random: SeededRandom): Filter {
  const name = random.pick(["PartitionKey", "RowKey"]);
  const value = random.pick(["p0", "p1", "p2", "r1", "r5", "o''x", "", "(x)"]);
  return { text: `${name} ${random.pick(operators)} '${value}'`, types: [] };
}

function condition(random: SeededRandom, type: EdmType, depth: number): Filter {
  const other = () =>
    random.oneIn(3) ? keyComparison(random) : comparison(random, random.pick(edmTypes));
  let filter = comparison(random, type);
  for (let i = 0; i < depth; i++) {
    const second = other();
    const [a, b] = random.oneIn(2) ? [filter, second] : [second, filter];
    const joined = `${a.text} ${random.pick(["and", "or"])} ${b.text}`;
    const text = random.oneIn(4) ? `not (${joined})` : random.oneIn(3) ? joined : `(${joined})`;
    filter = { text, types: [...a.types, ...b.types] };
  }
  return filter;
}

// ---- Requests -----------------------------------------------------------------------------------

interface Query {
  filter?: Filter;
  options?: readonly string[]; // query options, encoded
  table?: string;
  tags?: readonly string[];
}

function queryStep(
  random: SeededRandom,
  table: string,
  { filter, options = [], tags = [] }: Query,
): Step {
  const all = [...options];
  if (filter !== undefined) all.push(`$filter=${encodeQueryValue(filter.text)}`);
  const query = all.length === 0 ? "" : `?${random.shuffle(all).join("&")}`;
  return makeStep({
    operation: "query",
    types: filter?.types ?? [],
    method: "GET",
    target: `/${table}${random.pick(["", "()"])}${query}`,
    headers: commonHeaders(random),
    table,
    pages: {},
    tags: new Set(tags),
  });
}

function scenario(
  type: EdmType | "-",
  code: string,
  parts: (random: SeededRandom) => Query,
): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const query = parts(random);
    const table = query.table ?? model.existing(random)?.table;
    return table === undefined ? undefined : queryStep(random, table, query);
  };
  return { operation: "query", type, code, make };
}

const filtered = (code: string, tags: string, ...texts: readonly string[]): Scenario[] =>
  texts.map((text) => scenario("-", code, () => ({ filter: { text, types: [] }, tags: [tags] })));

const several = (n: number, make: () => Scenario): Scenario[] => Array.from({ length: n }, make);

const typed = edmTypes.flatMap((type) =>
  [0, 0, 0, 1, 1, 2, 3].map((depth) =>
    scenario(type, "ok", (random) => ({
      filter: condition(random, type, depth),
      tags: ["typed filter"],
    })),
  ),
);

// Compares a literal of one type with a property of another (SERVICE.md §4.1).
const mixed = edmTypes.map((type) =>
  scenario(type, "ok", (random) => {
    const other = random.pick(edmTypes.filter((t) => t !== type));
    const { literal = "" } = validValue(random, other);
    const text = `${propertyName(type, 1)} ${random.pick(operators)} ${literal}`;
    return { filter: { text, types: [type] }, tags: ["mixed filter"] };
  }),
);

const unordered = (["Guid", "Binary"] as const).map((type) =>
  scenario(type, "ok", (random) => {
    const { literal = "" } = validValue(random, type);
    const text = `${propertyName(type, 1)} ${random.pick(["gt", "ge", "lt", "le"])} ${literal}`;
    return { filter: { text, types: [type] }, tags: ["order of base64"] };
  }),
);

const top = (n: number | string) => `$top=${n}`;

export const queryScenarios: readonly Scenario[] = [
  ...typed,
  ...mixed,
  ...["int321 ne 5L", "double1 ne 5L", "boolean1 ne 5L"].map((text) =>
    scenario("-", "ok", () => ({ filter: { text, types: [] }, tags: ["mixed filter"] })),
  ),
  ...unordered,
  ...several(6, () => scenario("-", "ok", () => ({}))),
  ...several(6, () => scenario("-", "ok", (random) => ({ filter: keyComparison(random) }))),
  ...several(10, () => scenario("-", "ok", (random) => ({ options: [top(1 + random.below(7))] }))),
  ...several(4, () =>
    scenario("-", "ok", (random) => ({
      options: [top(2)],
      filter: condition(random, "Int32", 1),
      tags: ["typed filter"],
    })),
  ),
  ...several(4, () =>
    scenario("-", "ok", (random) => ({
      options: [`$select=${encodeQueryValue(selection(random))}`],
      tags: ["select"],
    })),
  ),
  scenario("-", "ok", (random) => ({
    options: [`$select=${random.pick(["", "%20", "*"])}`],
    tags: ["select all"],
  })),
  scenario("-", "ok", () => ({ options: [top(0)], tags: ["top 0"] })),
  scenario("-", "ok", () => ({ options: ["unknown=1", "timeout=20"] })),
  scenario("-", "InvalidInput", (random) => ({
    options: [top(random.pick(["1001", "-1", "abc", "1.5"]))],
    tags: ["bad top"],
  })),
  scenario("-", "InvalidInput", () => ({
    options: ["NextPartitionKey=1!3!YQ--", "NextRowKey=1!0!"],
    tags: ["bad token"],
  })),
  scenario("-", "NotImplemented", (random) => ({
    options: [`${random.pick(["$orderby=a", "$skip=1", "$expand=a", "$inlinecount=allpages"])}`],
    tags: ["unsupported option"],
  })),
  scenario("-", "TableNotFound", () => ({ table: "noSuchTable" })),
  ...filtered(
    "ok",
    "bare property",
    "boolean1",
    "not (boolean1)",
    "boolean1 and int321 gt 5",
    "true",
  ),
  ...filtered(
    "ok",
    "other literal",
    "double1 gt 1e0",
    "double1 lt 3D",
    "int641 ge 3l",
    "double1 ne NaN",
    "double1 lt INF",
  ),
  ...filtered("ok", "empty filter", "", " "),
  ...filtered("ok", "keyword as name", "and"),
  ...filtered("NotImplemented", "keyword case", "boolean1 eq True"),
  ...filtered(
    "InvalidInput",
    "syntax error",
    "int321 eq",
    "int321 5",
    "(int321 eq 5",
    "int321 eq 5)",
    "aaa bbb ccc",
    "string1 eq 'open",
  ),
  ...filtered("InvalidInput", "keyword case", "int321 EQ 5", "int321 eq 5 AND int321 eq 6"),
  ...filtered(
    "InvalidInput",
    "bad literal",
    "guid1 eq guid'x'",
    "datetime1 eq datetime'x'",
    "binary1 eq X'abc'",
    "int321 eq 99999999999",
    "string1 eq null",
    "int321 eq 1M",
  ),
  ...filtered(
    "NotImplemented",
    "not comparable",
    "int321 eq int322",
    "5 eq 5",
    "startswith(string1,'a')",
    "int321 add 1 eq 2",
  ),
];
