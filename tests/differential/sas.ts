// Shared access signatures: their fields and the signed text (SERVICE.md §7.3).

import type { SeededRandom } from "./seeded-random.ts";
import { account, hmac } from "./sign.ts";
import { encodeQueryValue } from "./steps.ts";

export type Fields = Readonly<Record<string, string | undefined>>; // undefined: omitted

const versions = ["2019-02-02", "2018-03-28", "2020-12-06"];
const valid: Fields = { st: "2024-01-01T00:00:00Z", se: "2099-01-01T00:00:00Z" };
export const expired: Fields = { st: "2020-01-01T00:00:00Z", se: "2021-01-01T00:00:00Z" };
// The fields that a stored access policy defines instead.
export const definedByPolicy: Fields = { st: undefined, se: undefined, sp: undefined };

const queryOf = (fields: Fields) =>
  Object.entries(fields)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeQueryValue(value)}`]))
    .join("&");

// Returns all fields except the signature. Fields that are not given get valid values.
export function tableFields(random: SeededRandom, table: string, given: Fields): Fields {
  return { sv: random.pick(versions), tn: table, ...valid, ...given };
}

// Returns the signed fields as query parameters. `table` is the name that is signed.
export function signedFields(fields: Fields, table: string): string {
  const { sp, st, se, si, sip, spr, sv, spk, srk, epk, erk } = fields;
  const resource = `/table/${account}/${table.toLowerCase()}`;
  const lines = [sp, st, se, resource, si, sip, spr, sv, spk, srk, epk, erk];
  return queryOf({ ...fields, sig: hmac(lines.map((line) => line ?? "").join("\n")) });
}

export function tableSas(random: SeededRandom, table: string, given: Fields): string {
  return signedFields(tableFields(random, table, given), table);
}

export function accountSas(random: SeededRandom, given: Fields): string {
  const sv = random.pick(versions);
  const fields = { sv, ss: "t", srt: "sco", sp: "rwdlau", ...valid, ...given } as Fields;
  const { sp, ss, srt, st, se, sip = "", spr = "" } = fields;
  const scope = sv >= "2020-12-06" ? "\n" : "";
  const text = [account, sp, ss, srt, st, se, sip, spr, sv].map((line) => `${line}\n`).join("");
  return queryOf({ ...fields, sig: hmac(text + scope) });
}
