// Requests to tables as such.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import { policyDocument, validDates, xmlType } from "./policies.ts";
import type { Step } from "./request.ts";
import { commonHeaders, inQuery, makeStep } from "./steps.ts";
import type { World } from "./world.ts";

type Made = Partial<Step> & Pick<Step, "method" | "target">;

function claim(
  operation: string,
  code: string,
  parts: (world: World, dice: Dice) => Made | undefined,
  ...about: readonly string[]
): Claim {
  const make = (world: World, dice: Dice) => {
    const made = parts(world, dice);
    if (made === undefined) return undefined;
    const { headers = [] } = made;
    return makeStep({
      operation,
      about: new Set(about),
      ...made,
      headers: [...commonHeaders(dice), ...headers],
    });
  };
  return { operation, type: "-", code, make };
}

const otherCase = (name: string) =>
  name.replace(/[a-z]/gi, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()));

// ---- Create -----------------------------------------------------------------------------------------------------------

function create(body: string, name: string, dice: Dice): Made {
  return {
    method: "POST",
    target: dice.pick(["/Tables", "/Tables()"]),
    headers: [
      ["Content-Type", "application/json"],
      ...(dice.oneIn(2)
        ? ([["Prefer", dice.pick(["return-content", "return-no-content"])]] as const)
        : []),
    ],
    body,
    tables: [name],
    writes: true,
  };
}

export function createTable(dice: Dice, name: string): Step {
  return makeStep({
    operation: "create table",
    ...create(JSON.stringify({ TableName: name }), name, dice),
    headers: [...commonHeaders(dice), ["Content-Type", "application/json"]],
  });
}

const named = (
  operation: string,
  code: string,
  name: (world: World, dice: Dice) => string | undefined,
  ...about: string[]
) =>
  claim(
    operation,
    code,
    (world, dice) => {
      const table = name(world, dice);
      return table === undefined
        ? undefined
        : create(JSON.stringify({ TableName: table }), table, dice);
    },
    ...about,
  );

const creating: Claim[] = [
  named("create table", "ok", (world, dice) => world.newName(dice)),
  named("create table", "TableAlreadyExists", (world, dice) => world.anyTable(dice)),
  named(
    "create table",
    "TableAlreadyExists",
    (world, dice) => {
      const table = world.anyTable(dice);
      return table && otherCase(table);
    },
    "other case",
  ),
  named(
    "create table",
    "OutOfRangeInput",
    (_, dice) => dice.pick(["ab", "a".repeat(64), ""]),
    "bad length",
  ),
  named(
    "create table",
    "InvalidResourceName",
    (_, dice) => dice.pick(["1abc", "a-b-c", "t\u00e4b"]),
    "bad name",
  ),
  named(
    "create table",
    "InvalidInput",
    (_, dice) => dice.pick(["tables", "Tables"]),
    "reserved name",
  ),
  claim(
    "create table",
    "InvalidInput",
    (_, dice) => create(dice.pick(["{", "no"]), "", dice),
    "no JSON",
  ),
  claim(
    "create table",
    "PropertiesNeedValue",
    (_, dice) => create(dice.pick(["{}", '{"TableName":null}']), "", dice),
    "no name",
  ),
];

// ---- The others -------------------------------------------------------------------------------------------------------

const some = (world: World, dice: Dice) => world.anyTable(dice);
const none = () => "noSuchTable";
type Which = (world: World, dice: Dice) => string | undefined;

const dropping = (code: string, which: Which, ...about: string[]) =>
  claim(
    "delete table",
    code,
    (world, dice) => {
      const table = which(world, dice);
      return table === undefined
        ? undefined
        : { method: "DELETE", target: `/Tables('${table}')`, tables: [table], writes: true };
    },
    ...about,
  );

export function deleteTable(dice: Dice, name: string): Step {
  return makeStep({
    operation: "delete table",
    method: "DELETE",
    target: `/Tables('${name}')`,
    headers: commonHeaders(dice),
    tables: [name],
    writes: true,
  });
}

const reading = (code: string, which: Which, ...about: string[]) =>
  claim(
    "get table",
    code,
    (world, dice) => {
      const table = which(world, dice);
      return table === undefined ? undefined : { method: "GET", target: `/Tables('${table}')` };
    },
    ...about,
  );

const listing = (code: string, query: (dice: Dice) => string, ...about: string[]) =>
  claim(
    "query tables",
    code,
    (_, dice) => ({ method: "GET", target: `/Tables${query(dice)}`, pages: {} }),
    ...about,
  );

const tableFilter =
  (...texts: string[]) =>
  (dice: Dice) =>
    `?$filter=${inQuery(dice.pick(texts))}`;

// ---- Access policies --------------------------------------------------------------------------------------------------

const policies = (code: string, which: Which, body: (dice: Dice) => string, ...about: string[]) =>
  claim(
    "set acl",
    code,
    (world, dice) => {
      const table = which(world, dice);
      if (table === undefined) return undefined;
      return {
        method: "PUT",
        target: `/${table}?comp=acl`,
        headers: [xmlType],
        body: body(dice),
        table,
        writes: true,
      };
    },
    ...about,
  );

const readingPolicies = (code: string, which: Which) =>
  claim("get acl", code, (world, dice) => {
    const table = which(world, dice);
    return table === undefined ? undefined : { method: "GET", target: `/${table}?comp=acl`, table };
  });

const policyIds = (count: number) => Array.from({ length: count }, (_, i) => `policy${i}`);
const goodPolicies = (dice: Dice) =>
  policyDocument(
    policyIds(1 + dice.below(5)).map((id) => ({
      id,
      ...validDates,
      permission: dice.pick(["r", "raud", "ad", "u"]),
    })),
  );

export const tableClaims: readonly Claim[] = [
  ...creating,
  dropping("ok", some),
  dropping("ResourceNotFound", none),
  dropping("ResourceNotFound", (_, dice) => dice.pick(["Tables", "ab", "1abc"]), "bad name"),
  reading("ok", some, "one table"),
  reading("ResourceNotFound", none, "one table"),
  ...Array.from({ length: 4 }, () => listing("ok", () => "")),
  listing("ok", (dice) => `?$top=${1 + dice.below(3)}`),
  listing("ok", () => "?$top=0", "top 0"),
  listing("InvalidInput", (dice) => `?$top=${dice.pick(["1001", "-1", "x"])}`, "bad top"),
  listing(
    "ok",
    tableFilter(
      "TableName eq 'tab1x'",
      "TableName ge 'tab2' and TableName lt 'tabz'",
      "TableName ne 'tab3X'",
    ),
  ),
  listing("InvalidInput", tableFilter("TableName eq"), "bad filter"),
  listing("InvalidInput", tableFilter("Other eq 'x'"), "bad filter"),
  policies("ok", some, goodPolicies),
  policies("ok", some, () => policyDocument([]), "no policies"),
  policies(
    "ok",
    some,
    () =>
      policyDocument([
        { id: "p", start: "2024-01-01", expiry: "2099-01-01T00:00Z", permission: "r" },
      ]),
    "odd dates",
  ),
  policies("InvalidXmlDocument", some, () =>
    policyDocument(policyIds(6).map((id) => ({ id, ...validDates, permission: "r" }))),
  ),
  policies(
    "InvalidXmlDocument",
    some,
    (dice) => dice.pick(["<Signed", "nonsense", "<SignedIdentifiers><"]),
    "no XML",
  ),
  policies(
    "InvalidXmlNodeValue",
    some,
    () => policyDocument([{ id: "p", ...validDates, permission: "xyz" }]),
    "bad permission",
  ),
  policies("TableNotFound", none, goodPolicies),
  ...Array.from({ length: 3 }, () => readingPolicies("ok", some)),
  readingPolicies("TableNotFound", none),
];
