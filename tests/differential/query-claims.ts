// Requests for many entities.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import { selection } from "./read-claims.ts";
import { type EdmType, edmTypes, type Step } from "./request.ts";
import { commonHeaders, inQuery, makeStep, propertyName } from "./steps.ts";
import { goodValue } from "./values.ts";
import type { World } from "./world.ts";

// ---- Filters ----------------------------------------------------------------------------------------------------------

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

function comparison(dice: Dice, type: EdmType): Filter {
  // Azurite has no order of Guid and Binary; the claims about their order ask for that.
  const operator = dice.pick(type === "Guid" || type === "Binary" ? ["eq", "ne"] : operators);
  const name = propertyName(type, 1 + dice.below(2));
  const { literal = "" } = goodValue(dice, type);
  const text = dice.oneIn(5)
    ? `${literal} ${mirrored[operator]} ${name}`
    : `${name} ${operator} ${literal}`;
  return { text, types: [type] };
}

function keyComparison(dice: Dice): Filter {
  const name = dice.pick(["PartitionKey", "RowKey"]);
  const value = dice.pick(["p0", "p1", "p2", "r1", "r5", "o''x", "", "(x)"]);
  return { text: `${name} ${dice.pick(operators)} '${value}'`, types: [] };
}

function condition(dice: Dice, type: EdmType, depth: number): Filter {
  const other = () => (dice.oneIn(3) ? keyComparison(dice) : comparison(dice, dice.pick(edmTypes)));
  let filter = comparison(dice, type);
  for (let i = 0; i < depth; i++) {
    const second = other();
    const [a, b] = dice.oneIn(2) ? [filter, second] : [second, filter];
    const joined = `${a.text} ${dice.pick(["and", "or"])} ${b.text}`;
    const text = dice.oneIn(4) ? `not (${joined})` : dice.oneIn(3) ? joined : `(${joined})`;
    filter = { text, types: [...a.types, ...b.types] };
  }
  return filter;
}

// ---- Requests ---------------------------------------------------------------------------------------------------------

interface Query {
  filter?: Filter;
  options?: readonly string[]; // of the query, encoded
  table?: string;
  about?: readonly string[];
}

function queryStep(dice: Dice, table: string, { filter, options = [], about = [] }: Query): Step {
  const all = [...options];
  if (filter !== undefined) all.push(`$filter=${inQuery(filter.text)}`);
  const query = all.length === 0 ? "" : `?${dice.shuffle(all).join("&")}`;
  return makeStep({
    operation: "query",
    types: filter?.types ?? [],
    method: "GET",
    target: `/${table}${dice.pick(["", "()"])}${query}`,
    headers: commonHeaders(dice),
    table,
    pages: {},
    about: new Set(about),
  });
}

function claim(type: EdmType | "-", code: string, parts: (dice: Dice) => Query): Claim {
  const make = (world: World, dice: Dice) => {
    const query = parts(dice);
    const table = query.table ?? world.existing(dice)?.table;
    return table === undefined ? undefined : queryStep(dice, table, query);
  };
  return { operation: "query", type, code, make };
}

const filtered = (code: string, about: string, ...texts: readonly string[]): Claim[] =>
  texts.map((text) => claim("-", code, () => ({ filter: { text, types: [] }, about: [about] })));

const several = (n: number, make: () => Claim): Claim[] => Array.from({ length: n }, make);

const typed = edmTypes.flatMap((type) =>
  [0, 0, 0, 1, 1, 2, 3].map((depth) =>
    claim(type, "ok", (dice) => ({
      filter: condition(dice, type, depth),
      about: ["typed filter"],
    })),
  ),
);

// A literal of one type against a property of another (spec §4.4).
const mixed = edmTypes.map((type) =>
  claim(type, "ok", (dice) => {
    const other = dice.pick(edmTypes.filter((t) => t !== type));
    const { literal = "" } = goodValue(dice, other);
    const text = `${propertyName(type, 1)} ${dice.pick(operators)} ${literal}`;
    return { filter: { text, types: [type] }, about: ["mixed filter"] };
  }),
);

const unordered = (["Guid", "Binary"] as const).map((type) =>
  claim(type, "ok", (dice) => {
    const { literal = "" } = goodValue(dice, type);
    const text = `${propertyName(type, 1)} ${dice.pick(["gt", "ge", "lt", "le"])} ${literal}`;
    return { filter: { text, types: [type] }, about: ["order of base64"] };
  }),
);

const top = (n: number | string) => `$top=${n}`;

export const queryClaims: readonly Claim[] = [
  ...typed,
  ...mixed,
  ...["int321 ne 5L", "double1 ne 5L", "boolean1 ne 5L"].map((text) =>
    claim("-", "ok", () => ({ filter: { text, types: [] }, about: ["mixed filter"] })),
  ),
  ...unordered,
  ...several(6, () => claim("-", "ok", () => ({}))),
  ...several(6, () => claim("-", "ok", (dice) => ({ filter: keyComparison(dice) }))),
  ...several(10, () => claim("-", "ok", (dice) => ({ options: [top(1 + dice.below(7))] }))),
  ...several(4, () =>
    claim("-", "ok", (dice) => ({
      options: [top(2)],
      filter: condition(dice, "Int32", 1),
      about: ["typed filter"],
    })),
  ),
  ...several(4, () =>
    claim("-", "ok", (dice) => ({
      options: [`$select=${inQuery(selection(dice))}`],
      about: ["select"],
    })),
  ),
  claim("-", "ok", (dice) => ({
    options: [`$select=${dice.pick(["", "%20", "*"])}`],
    about: ["select all"],
  })),
  claim("-", "ok", () => ({ options: [top(0)], about: ["top 0"] })),
  claim("-", "ok", () => ({ options: ["unknown=1", "timeout=20"] })),
  claim("-", "InvalidInput", (dice) => ({
    options: [top(dice.pick(["1001", "-1", "abc", "1.5"]))],
    about: ["bad top"],
  })),
  claim("-", "InvalidInput", () => ({
    options: ["NextPartitionKey=%21", "NextRowKey=%21"],
    about: ["bad token"],
  })),
  claim("-", "NotImplemented", (dice) => ({
    options: [`${dice.pick(["$orderby=a", "$skip=1", "$expand=a", "$inlinecount=allpages"])}`],
    about: ["unsupported option"],
  })),
  claim("-", "TableNotFound", () => ({ table: "noSuchTable" })),
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
