// Requests to tables as such.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
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
    (_, dice) => ({ method: "GET", target: `/Tables${query(dice)}` }),
    ...about,
  );

const tableFilter =
  (...texts: string[]) =>
  (dice: Dice) =>
    `?$filter=${inQuery(dice.pick(texts))}`;

// ---- Access policies --------------------------------------------------------------------------------------------------

const identifier = (id: string, policy: string) =>
  `<SignedIdentifier><Id>${id}</Id><AccessPolicy>${policy}</AccessPolicy></SignedIdentifier>`;
const document = (...identifiers: readonly string[]) =>
  `<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers>${identifiers.join("")}</SignedIdentifiers>`;
const dates = (start: string, expiry: string) =>
  `<Start>${start}</Start><Expiry>${expiry}</Expiry>`;
const full = dates("2024-01-01T00:00:00.0000000Z", "2030-01-01T00:00:00.0000000Z");

const policies = (code: string, which: Which, body: (dice: Dice) => string, ...about: string[]) =>
  claim(
    "set acl",
    code,
    (world, dice) => {
      const table = which(world, dice);
      if (table === undefined) return undefined;
      const headers = [["Content-Type", "application/xml"]] as const;
      return {
        method: "PUT",
        target: `/${table}?comp=acl`,
        headers,
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

const goodPolicies = (dice: Dice) =>
  document(
    ...Array.from({ length: 1 + dice.below(5) }, (_, i) =>
      identifier(
        `policy${i}`,
        `${full}<Permission>${dice.pick(["r", "raud", "ad", "u"])}</Permission>`,
      ),
    ),
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
  listing("InvalidInput", tableFilter("TableName eq", "Other eq 'x'"), "bad filter"),
  policies("ok", some, goodPolicies),
  policies("ok", some, () => document(), "no policies"),
  policies(
    "ok",
    some,
    () => document(identifier("p", dates("2024-01-01", "2030-01-01T00:00Z"))),
    "odd dates",
  ),
  policies("InvalidXmlDocument", some, () =>
    document(
      ...Array.from({ length: 6 }, (_, i) =>
        identifier(`p${i}`, `${full}<Permission>r</Permission>`),
      ),
    ),
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
    () => document(identifier("p", `${full}<Permission>xyz</Permission>`)),
    "bad permission",
  ),
  policies("TableNotFound", none, goodPolicies),
  ...Array.from({ length: 3 }, () => readingPolicies("ok", some)),
  readingPolicies("TableNotFound", none),
];
