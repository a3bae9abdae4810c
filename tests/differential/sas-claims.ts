// Requests that shared access signatures let in, or not.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import type { Step } from "./request.ts";
import { accountSas, expired, type Fields, tableSas } from "./sas.ts";
import { commonHeaders, entityPath, makeStep } from "./steps.ts";
import type { Place, World } from "./world.ts";
import { someMembers, type Write, writeStep } from "./write-claims.ts";

// ---- Requests ---------------------------------------------------------------------------------------------------------

export type Asked = "get" | "query" | "delete" | Write;
type Sas = (dice: Dice, place: Place) => string; // the parameters of the query

function stepOf(dice: Dice, asked: Asked, { table, key }: Place): Step {
  const common = { headers: commonHeaders(dice), table, entities: [key] };
  const target = entityPath(table, key);
  switch (asked) {
    case "get":
      return makeStep({ operation: asked, method: "GET", target, ...common });
    case "query":
      return makeStep({ operation: asked, method: "GET", target: `/${table}()`, ...common });
    case "delete":
      return makeStep({
        operation: asked,
        method: "DELETE",
        target,
        ...common,
        headers: [...common.headers, ["If-Match", "*"]],
        entities: [{ ...key, gone: true }],
        writes: true,
      });
    default: {
      const ifMatch = asked === "replace" || asked === "merge" ? { ifMatch: "*" } : {};
      const members = someMembers(dice, "Int32");
      return writeStep(dice, { write: asked, table, key, members, ...ifMatch });
    }
  }
}

export function placeFor(asked: Asked, world: World, dice: Dice): Place | undefined {
  return asked === "insert" ? world.absent(dice) : world.existing(dice);
}

export function stepBySas(
  dice: Dice,
  asked: Asked,
  place: Place,
  sas: Sas,
  about: readonly string[],
): Step {
  const step = stepOf(dice, asked, place);
  return {
    ...step,
    operation: `${asked} by SAS`,
    types: [],
    target: `${step.target}?${sas(dice, place)}`,
    about: new Set(["sas", ...step.about, ...about]),
  };
}

function claim(asked: Asked, code: string, sas: Sas, ...about: readonly string[]): Claim {
  const make = (world: World, dice: Dice) => {
    const place = placeFor(asked, world, dice);
    return place && stepBySas(dice, asked, place, sas, about);
  };
  return { operation: `${asked} by SAS`, type: "-", code, make };
}

function tables(code: string, fields: Fields, ...about: readonly string[]): Claim {
  const make = (_: World, dice: Dice) =>
    makeStep({
      operation: "query tables by SAS",
      method: "GET",
      target: `/Tables?${accountSas(dice, fields)}`,
      headers: commonHeaders(dice),
      about: new Set(["sas", ...about]),
    });
  return { operation: "query tables by SAS", type: "-", code, make };
}

const ofTable =
  (fields: Fields): Sas =>
  (dice, { table }) =>
    tableSas(dice, table, fields);
const ofAccount =
  (fields: Fields): Sas =>
  (dice) =>
    accountSas(dice, fields);
// An empty bound is none, and Azurite decodes bounds twice: such keys go without.
const ofKey: Sas = (dice, { table, key: { pk, rk } }) => {
  const bounds: Fields =
    pk === "" || `${pk}${rk}`.includes("%") ? {} : { spk: pk, srk: rk, epk: pk, erk: rk };
  return tableSas(dice, table, { sp: "raud", ...bounds });
};
const ofOtherKeys = ofTable({ sp: "raud", spk: "~", epk: "~~" });

export const asking: readonly (readonly [Asked, string])[] = [
  ["get", "r"],
  ["query", "r"],
  ["insert", "a"],
  ["replace", "u"],
  ["merge", "u"],
  ["insert or replace", "au"],
  ["insert or merge", "au"],
  ["delete", "d"],
];
export const lacking: Record<string, string> = { r: "aud", a: "rud", u: "rad", au: "rd", d: "rau" };

export const sasClaims: readonly Claim[] = [
  ...asking.flatMap(([asked, sp]) => [
    claim(asked, "ok", ofTable({ sp: "raud" })),
    claim(asked, "ok", ofTable({ sp })),
    claim(
      asked,
      "AuthorizationPermissionMismatch",
      ofTable({ sp: lacking[sp] ?? "" }),
      "permission",
    ),
    claim(asked, "ok", ofAccount({}), "account"),
    claim(
      asked,
      "AuthorizationPermissionMismatch",
      ofAccount({ sp: lacking[sp] ?? "" }),
      "permission",
    ),
  ]),
  claim(
    "insert or merge",
    "AuthorizationPermissionMismatch",
    ofTable({ sp: "a" }),
    "half of upsert",
  ),
  claim("get", "ok", ofKey),
  claim("get", "AuthorizationFailure", ofOtherKeys, "range"),
  claim("delete", "AuthorizationFailure", ofOtherKeys, "range"),
  claim("get", "AuthenticationFailed", ofTable({ sp: "r", ...expired }), "expired"),
  claim(
    "get",
    "AuthenticationFailed",
    (dice) => tableSas(dice, "other", { sp: "r" }),
    "other table",
  ),
  claim(
    "get",
    "AuthenticationFailed",
    (dice, { table }) => tableSas(dice, table, { sp: "r" }).replace(/sig=.*/, "sig=d3Jvbmc%3D"),
    "wrong",
  ),
  claim("get", "AuthenticationFailed", ofTable({ sp: "r", si: "nobody" }), "no policy"),
  // What a page is not asked for: it has no network between.
  claim("get", "ok", ofTable({ sp: "r", spr: "https" }), "protocol"),
  claim("get", "ok", ofTable({ sp: "r", sip: "10.1.2.3" }), "address"),
  claim("get", "AuthorizationServiceMismatch", ofAccount({ ss: "b" }), "service"),
  claim("get", "AuthorizationResourceTypeMismatch", ofAccount({ srt: "s" }), "resource type"),
  tables("ok", {}),
  tables("AuthorizationPermissionMismatch", { sp: "r" }, "permission"),
  tables("AuthorizationResourceTypeMismatch", { srt: "o" }, "resource type"),
];
