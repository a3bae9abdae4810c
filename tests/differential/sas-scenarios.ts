// Requests with shared access signatures, valid and invalid.

import type { Step } from "./request.ts";
import { accountSas, expired, type Fields, tableSas } from "./sas.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { commonHeaders, entityPath, makeStep } from "./steps.ts";
import type { EntityAddress, StoreModel } from "./store-model.ts";
import { someMembers, type Write, writeStep } from "./write-scenarios.ts";

// ---- Requests -----------------------------------------------------------------------------------

export type RequestedOperation = "get" | "query" | "delete" | Write;
// returns the signature's query parameters
type Sas = (random: SeededRandom, address: EntityAddress) => string;

function stepOf(
  random: SeededRandom,
  requested: RequestedOperation,
  { table, key }: EntityAddress,
): Step {
  const common = { headers: commonHeaders(random), table, entities: [key] };
  const target = entityPath(table, key);
  switch (requested) {
    case "get":
      return makeStep({ operation: requested, method: "GET", target, ...common });
    case "query":
      return makeStep({ operation: requested, method: "GET", target: `/${table}()`, ...common });
    case "delete":
      return makeStep({
        operation: requested,
        method: "DELETE",
        target,
        ...common,
        headers: [...common.headers, ["If-Match", "*"]],
        entities: [{ ...key, isDeleted: true }],
        writes: true,
      });
    default: {
      const ifMatch = requested === "replace" || requested === "merge" ? { ifMatch: "*" } : {};
      const members = someMembers(random, "Int32");
      return writeStep(random, { write: requested, table, key, members, ...ifMatch });
    }
  }
}

export function addressFor(
  requested: RequestedOperation,
  model: StoreModel,
  random: SeededRandom,
): EntityAddress | undefined {
  return requested === "insert" ? model.absent(random) : model.existing(random);
}

export function stepBySas(
  random: SeededRandom,
  requested: RequestedOperation,
  address: EntityAddress,
  sas: Sas,
  tags: readonly string[],
): Step {
  const step = stepOf(random, requested, address);
  return {
    ...step,
    operation: `${requested} by SAS`,
    types: [],
    target: `${step.target}?${sas(random, address)}`,
    tags: new Set(["sas", ...step.tags, ...tags]),
  };
}

function scenario(
  requested: RequestedOperation,
  code: string,
  sas: Sas,
  ...tags: readonly string[]
): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const address = addressFor(requested, model, random);
    return address && stepBySas(random, requested, address, sas, tags);
  };
  return { operation: `${requested} by SAS`, type: "-", code, make };
}

function tables(code: string, fields: Fields, ...tags: readonly string[]): Scenario {
  const make = (_: StoreModel, random: SeededRandom) =>
    makeStep({
      operation: "query tables by SAS",
      method: "GET",
      target: `/Tables?${accountSas(random, fields)}`,
      headers: commonHeaders(random),
      tags: new Set(["sas", ...tags]),
    });
  return { operation: "query tables by SAS", type: "-", code, make };
}

const ofTable =
  (fields: Fields): Sas =>
  (random, { table }) =>
    tableSas(random, table, fields);
const ofAccount =
  (fields: Fields): Sas =>
  (random) =>
    accountSas(random, fields);
// Bounds are omitted for empty keys, because an empty bound means none, and for keys with %,
// because Azurite decodes bounds twice.
const ofKey: Sas = (random, { table, key: { pk, rk } }) => {
  const bounds: Fields =
    pk === "" || `${pk}${rk}`.includes("%") ? {} : { spk: pk, srk: rk, epk: pk, erk: rk };
  return tableSas(random, table, { sp: "raud", ...bounds });
};
const ofOtherKeys = ofTable({ sp: "raud", spk: "~", epk: "~~" });

export const operationPermissions: readonly (readonly [RequestedOperation, string])[] = [
  ["get", "r"],
  ["query", "r"],
  ["insert", "a"],
  ["replace", "u"],
  ["merge", "u"],
  ["insert or replace", "au"],
  ["insert or merge", "au"],
  ["delete", "d"],
];
export const missingPermissions: Record<string, string> = {
  r: "aud",
  a: "rud",
  u: "rad",
  au: "rd",
  d: "rau",
};

export const sasScenarios: readonly Scenario[] = [
  ...operationPermissions.flatMap(([requested, sp]) => [
    scenario(requested, "ok", ofTable({ sp: "raud" })),
    scenario(requested, "ok", ofTable({ sp })),
    scenario(
      requested,
      "AuthorizationPermissionMismatch",
      ofTable({ sp: missingPermissions[sp] ?? "" }),
      "permission",
    ),
    scenario(requested, "ok", ofAccount({}), "account"),
    scenario(
      requested,
      "AuthorizationPermissionMismatch",
      ofAccount({ sp: missingPermissions[sp] ?? "" }),
      "permission",
    ),
  ]),
  scenario(
    "insert or merge",
    "AuthorizationPermissionMismatch",
    ofTable({ sp: "a" }),
    "half of upsert",
  ),
  scenario("get", "ok", ofKey),
  scenario("get", "AuthorizationFailure", ofOtherKeys, "range"),
  scenario("delete", "AuthorizationFailure", ofOtherKeys, "range"),
  scenario("get", "AuthenticationFailed", ofTable({ sp: "r", ...expired }), "expired"),
  scenario(
    "get",
    "AuthorizationFailure",
    (random) => tableSas(random, "other", { sp: "r" }),
    "other table",
  ),
  scenario(
    "get",
    "AuthenticationFailed",
    (random, { table }) => tableSas(random, table, { sp: "r" }).replace(/sig=.*/, "sig=d3Jvbmc%3D"),
    "wrong",
  ),
  scenario("get", "AuthenticationFailed", ofTable({ sp: "r", si: "nobody" }), "no policy"),
  // A page's requests are not restricted by protocol and address, because there is no network in
  // between.
  scenario("get", "ok", ofTable({ sp: "r", spr: "https" }), "protocol"),
  scenario("get", "ok", ofTable({ sp: "r", sip: "10.1.2.3" }), "address"),
  scenario("get", "AuthorizationServiceMismatch", ofAccount({ ss: "b" }), "service"),
  scenario("get", "AuthorizationResourceTypeMismatch", ofAccount({ srt: "s" }), "resource type"),
  tables("ok", {}),
  tables("AuthorizationPermissionMismatch", { sp: "r" }, "permission"),
  tables("AuthorizationResourceTypeMismatch", { srt: "o" }, "resource type"),
];
