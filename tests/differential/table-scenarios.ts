// Requests that create, query and delete tables.

import { policyDocument, validDates, xmlType } from "./policies.ts";
import type { Step } from "./request.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { commonHeaders, encodeQueryValue, makeStep } from "./steps.ts";
import type { StoreModel } from "./store-model.ts";

type Made = Partial<Step> & Pick<Step, "method" | "target">;

function scenario(
  operation: string,
  code: string,
  parts: (model: StoreModel, random: SeededRandom) => Made | undefined,
  ...tags: readonly string[]
): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const made = parts(model, random);
    if (made === undefined) return undefined;
    const { headers = [] } = made;
    return makeStep({
      operation,
      tags: new Set(tags),
      ...made,
      headers: [...commonHeaders(random), ...headers],
    });
  };
  return { operation, type: "-", code, make };
}

const otherCase = (name: string) =>
  name.replace(/[a-z]/gi, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()));

// ---- Create -------------------------------------------------------------------------------------

function create(body: string, name: string, random: SeededRandom): Made {
  return {
    method: "POST",
    target: random.pick(["/Tables", "/Tables()"]),
    headers: [
      ["Content-Type", "application/json"],
      ...(random.oneIn(2)
        ? ([["Prefer", random.pick(["return-content", "return-no-content"])]] as const)
        : []),
    ],
    body,
    tables: [name],
    writes: true,
  };
}

export function createTable(random: SeededRandom, name: string): Step {
  return makeStep({
    operation: "create table",
    ...create(JSON.stringify({ TableName: name }), name, random),
    headers: [...commonHeaders(random), ["Content-Type", "application/json"]],
  });
}

const named = (
  operation: string,
  code: string,
  name: (model: StoreModel, random: SeededRandom) => string | undefined,
  ...tags: string[]
) =>
  scenario(
    operation,
    code,
    (model, random) => {
      const table = name(model, random);
      return table === undefined
        ? undefined
        : create(JSON.stringify({ TableName: table }), table, random);
    },
    ...tags,
  );

const creating: Scenario[] = [
  named("create table", "ok", (model, random) => model.newName(random)),
  named("create table", "TableAlreadyExists", (model, random) => model.anyTable(random)),
  named(
    "create table",
    "TableAlreadyExists",
    (model, random) => {
      const table = model.anyTable(random);
      return table && otherCase(table);
    },
    "other case",
  ),
  named(
    "create table",
    "OutOfRangeInput",
    (_, random) => random.pick(["ab", "a".repeat(64), ""]),
    "bad length",
  ),
  named(
    "create table",
    "InvalidResourceName",
    (_, random) => random.pick(["1abc", "a-b-c", "t\u00e4b"]),
    "bad name",
  ),
  named(
    "create table",
    "InvalidInput",
    (_, random) => random.pick(["tables", "Tables"]),
    "reserved name",
  ),
  scenario(
    "create table",
    "InvalidInput",
    (_, random) => create(random.pick(["{", "no"]), "", random),
    "no JSON",
  ),
  scenario(
    "create table",
    "PropertiesNeedValue",
    (_, random) => create(random.pick(["{}", '{"TableName":null}']), "", random),
    "no name",
  ),
];

// ---- The others ---------------------------------------------------------------------------------

const some = (model: StoreModel, random: SeededRandom) => model.anyTable(random);
const none = () => "noSuchTable";
type Which = (model: StoreModel, random: SeededRandom) => string | undefined;

const dropping = (code: string, which: Which, ...tags: string[]) =>
  scenario(
    "delete table",
    code,
    (model, random) => {
      const table = which(model, random);
      return table === undefined
        ? undefined
        : { method: "DELETE", target: `/Tables('${table}')`, tables: [table], writes: true };
    },
    ...tags,
  );

export function deleteTable(random: SeededRandom, name: string): Step {
  return makeStep({
    operation: "delete table",
    method: "DELETE",
    target: `/Tables('${name}')`,
    headers: commonHeaders(random),
    tables: [name],
    writes: true,
  });
}

const reading = (code: string, which: Which, ...tags: string[]) =>
  scenario(
    "get table",
    code,
    (model, random) => {
      const table = which(model, random);
      return table === undefined ? undefined : { method: "GET", target: `/Tables('${table}')` };
    },
    ...tags,
  );

const listing = (code: string, query: (random: SeededRandom) => string, ...tags: string[]) =>
  scenario(
    "query tables",
    code,
    (_, random) => ({ method: "GET", target: `/Tables${query(random)}`, pages: {} }),
    ...tags,
  );

const tableFilter =
  (...texts: string[]) =>
  (random: SeededRandom) =>
    `?$filter=${encodeQueryValue(random.pick(texts))}`;

// ---- Access policies ----------------------------------------------------------------------------

const policies = (
  code: string,
  which: Which,
  body: (random: SeededRandom) => string,
  ...tags: string[]
) =>
  scenario(
    "set acl",
    code,
    (model, random) => {
      const table = which(model, random);
      if (table === undefined) return undefined;
      return {
        method: "PUT",
        target: `/${table}?comp=acl`,
        headers: [xmlType],
        body: body(random),
        table,
        writes: true,
      };
    },
    ...tags,
  );

const readingPolicies = (code: string, which: Which) =>
  scenario("get acl", code, (model, random) => {
    const table = which(model, random);
    return table === undefined ? undefined : { method: "GET", target: `/${table}?comp=acl`, table };
  });

const policyIds = (count: number) => Array.from({ length: count }, (_, i) => `policy${i}`);
const validPolicies = (random: SeededRandom) =>
  policyDocument(
    policyIds(1 + random.below(5)).map((id) => ({
      id,
      ...validDates,
      permission: random.pick(["r", "raud", "ad", "u"]),
    })),
  );

export const tableScenarios: readonly Scenario[] = [
  ...creating,
  dropping("ok", some),
  dropping("ResourceNotFound", none),
  dropping("ResourceNotFound", (_, random) => random.pick(["Tables", "ab", "1abc"]), "bad name"),
  reading("ok", some, "one table"),
  reading("ResourceNotFound", none, "one table"),
  ...Array.from({ length: 4 }, () => listing("ok", () => "")),
  listing("ok", (random) => `?$top=${1 + random.below(3)}`),
  listing("ok", () => "?$top=0", "top 0"),
  listing("InvalidInput", (random) => `?$top=${random.pick(["1001", "-1", "x"])}`, "bad top"),
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
  policies("ok", some, validPolicies),
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
    (random) => random.pick(["<Signed", "nonsense", "<SignedIdentifiers><"]),
    "no XML",
  ),
  policies(
    "InvalidXmlNodeValue",
    some,
    () => policyDocument([{ id: "p", ...validDates, permission: "xyz" }]),
    "bad permission",
  ),
  policies("TableNotFound", none, validPolicies),
  ...Array.from({ length: 3 }, () => readingPolicies("ok", some)),
  readingPolicies("TableNotFound", none),
];
