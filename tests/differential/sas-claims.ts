// Requests that shared access signatures let in, or not.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import type { Step } from "./request.ts";
import { account, hmac } from "./sign.ts";
import { commonHeaders, entityPath, inQuery, makeStep } from "./steps.ts";
import type { Place, World } from "./world.ts";
import { someMembers, type Write, writeStep } from "./write-claims.ts";

type Fields = Record<string, string>;

const versions = ["2019-02-02", "2018-03-28", "2020-12-06"];
const valid: Fields = { st: "2024-01-01T00:00:00Z", se: "2099-01-01T00:00:00Z" };
const expired: Fields = { st: "2020-01-01T00:00:00Z", se: "2021-01-01T00:00:00Z" };

// ---- Signing (spec §7.2, §7.3) ----------------------------------------------------------------------------------------

const queryOf = (fields: Fields) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${inQuery(value)}`)
    .join("&");

function tableSas(dice: Dice, table: string, given: Fields): string {
  const fields = { sv: dice.pick(versions), tn: table, ...valid, ...given };
  const { sp, st, se, si, sip, spr, sv, spk, srk, epk, erk } = fields as Fields;
  const resource = `/table/${account}/${table.toLowerCase()}`;
  const lines = [sp, st, se, resource, si, sip, spr, sv, spk, srk, epk, erk];
  return queryOf({ ...fields, sig: hmac(lines.map((line) => line ?? "").join("\n")) });
}

function accountSas(dice: Dice, given: Fields): string {
  const fields = { sv: dice.pick(versions), ss: "t", srt: "sco", sp: "rwdlau", ...valid, ...given };
  const { sp, ss, srt, st, se, sip = "", spr = "", sv } = fields as Fields;
  const scope = fields.sv >= "2020-12-06" ? "\n" : "";
  const text = [account, sp, ss, srt, st, se, sip, spr, sv].map((line) => `${line}\n`).join("");
  return queryOf({ ...fields, sig: hmac(text + scope) });
}

// ---- Requests ---------------------------------------------------------------------------------------------------------

type Asked = "get" | "query" | "delete" | Write;
type Sas = (dice: Dice, place: Place) => string;

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

function claim(asked: Asked, code: string, sas: Sas, ...about: readonly string[]): Claim {
  const operation = `${asked} by SAS`;
  const make = (world: World, dice: Dice) => {
    const place = asked === "insert" ? world.absent(dice) : world.existing(dice);
    if (place === undefined) return undefined;
    const step = stepOf(dice, asked, place);
    const target = `${step.target}?${sas(dice, place)}`;
    return {
      ...step,
      operation,
      types: [],
      target,
      about: new Set(["sas", ...step.about, ...about]),
    };
  };
  return { operation, type: "-", code, make };
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

const asking: readonly (readonly [Asked, string])[] = [
  ["get", "r"],
  ["query", "r"],
  ["insert", "a"],
  ["replace", "u"],
  ["merge", "u"],
  ["insert or replace", "au"],
  ["insert or merge", "au"],
  ["delete", "d"],
];
const lacking: Record<string, string> = { r: "aud", a: "rud", u: "rad", au: "rd", d: "rau" };

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
  claim("get", "AuthenticationFailed", ofTable({ sp: "r", si: "nobody" }), "policy"),
  // What a page is not asked for: it has no network between.
  claim("get", "ok", ofTable({ sp: "r", spr: "https" }), "protocol"),
  claim("get", "ok", ofTable({ sp: "r", sip: "10.1.2.3" }), "address"),
  claim("get", "AuthorizationServiceMismatch", ofAccount({ ss: "b" }), "service"),
  claim("get", "AuthorizationResourceTypeMismatch", ofAccount({ srt: "s" }), "resource type"),
  tables("ok", {}),
  tables("AuthorizationPermissionMismatch", { sp: "r" }, "permission"),
  tables("AuthorizationResourceTypeMismatch", { srt: "o" }, "resource type"),
];
