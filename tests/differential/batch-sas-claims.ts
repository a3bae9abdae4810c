// Groups and queries in `$batch` that shared access signatures let in: each operation has to be allowed.

import { batchOf, type Group, goodGroup, part, sent } from "./batch-claims.ts";
import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import { type Policy, permissionOf, setPolicies, validDates } from "./policies.ts";
import type { Key, Step } from "./request.ts";
import { accountSas, expired, type Fields, signedFields, tableFields } from "./sas.ts";
import { entityPath, levels, makeStep } from "./steps.ts";
import type { World } from "./world.ts";

const all = "raud";

// What a write of this kind takes.
const letters: Record<string, string> = {
  insert: "a",
  delete: "d",
  replace: "u",
  merge: "u",
  "insert or replace": "au",
  "insert or merge": "au",
};

const lettersOf = (steps: readonly Step[]) =>
  steps.map(({ operation }) => letters[operation] ?? "").join("");

const keyOf = (step: Step | undefined): Key => step?.entities[0] ?? { pk: "", rk: "" };

// Azurite decodes bounds twice, and takes an empty one for none.
const isBound = ({ pk, rk }: Key) => pk !== "" && !`${pk}${rk}`.includes("%");

// ---- How it is let in -------------------------------------------------------------------------------------------------

type LetIn = (dice: Dice, step: Step, group: Group) => Step | undefined;

const bySas = (step: Step, query: string, about: readonly string[]): Step => ({
  ...step,
  operation: `${step.operation} by SAS`,
  target: `${step.target}?${query}`,
  about: new Set(["sas", ...step.about, ...about]),
});

// Signed for each side as it wants it.
const byTable =
  (
    fieldsOf: (dice: Dice, group: Group) => Fields | undefined,
    ...about: readonly string[]
  ): LetIn =>
  (dice, step, group) => {
    const given = fieldsOf(dice, group);
    if (given === undefined) return undefined;
    const sas = tableFields(dice, group.table, given);
    return { ...bySas(step, "{{sas}}", about), sas };
  };

// As clients sign it.
const byOwnTable =
  (given: Fields, ...about: readonly string[]): LetIn =>
  (dice, step, { table }) =>
    bySas(step, signedFields(tableFields(dice, table, given), table), about);

const byAccount =
  (fieldsOf: (dice: Dice, group: Group) => Fields, ...about: readonly string[]): LetIn =>
  (dice, step, group) =>
    bySas(step, accountSas(dice, fieldsOf(dice, group)), about);

const withPolicy =
  (policy: Policy, letIn: LetIn): LetIn =>
  (dice, step, group) => {
    const made = letIn(dice, step, group);
    return made && { ...made, first: [setPolicies(dice, group.table, [policy])] };
  };

// All letters but one that the group needs.
const lacking =
  (every: string) =>
  (dice: Dice, { steps }: Group): Fields => {
    const needed = dice.pick([...lettersOf(steps)]);
    return { sp: every.replace(needed, "") };
  };

// Keys that one operation of the group leaves, at either end or by its partition.
function leaving(dice: Dice, { steps }: Group): Fields | undefined {
  const key = keyOf(dice.pick(steps));
  const { pk, rk } = key;
  if (!isBound(key)) return undefined;
  const ranges: Fields[] = [
    { spk: pk, srk: `${rk}0` },
    { spk: `${pk}0` },
    { spk: pk, srk: `${rk}0`, epk: pk },
    ...(rk > "b0" ? [{ spk: pk, epk: pk, erk: "b0" }] : []),
  ];
  return { sp: all, ...dice.pick(ranges) };
}

// The group's partition, or just its rows.
function holding(dice: Dice, { steps, pk }: Group): Fields | undefined {
  const keys = steps.map(keyOf);
  if (!keys.every(isBound)) return undefined;
  const rows = keys.map(({ rk }) => rk).sort((a, b) => (a < b ? -1 : 1));
  const [srk, erk] = [rows[0] ?? "", rows.at(-1) ?? ""];
  const narrow = dice.oneIn(2) && srk !== "" && erk !== "";
  return { sp: all, spk: pk, epk: pk, ...(narrow ? { srk, erk } : {}) };
}

// ---- Claims -----------------------------------------------------------------------------------------------------------

function claim(code: string, letIn: LetIn): Claim {
  const make = (world: World, dice: Dice) => {
    const group = goodGroup(world, dice, "Int32");
    return group && letIn(dice, batchOf(dice, "batch", group.steps), group);
  };
  return { operation: "batch by SAS", type: "-", code, make };
}

function queryClaim(code: string, letIn: LetIn): Claim {
  const make = (world: World, dice: Dice) => {
    const place = world.existing(dice);
    if (place === undefined) return undefined;
    const { table, key } = place;
    const get = makeStep({
      operation: "get",
      method: "GET",
      target: entityPath(table, key),
      headers: [["Accept", dice.pick(levels.slice(0, 3))]],
      table,
      entities: [key],
    });
    const step = sent(dice, "batch query", [get], part(get), []);
    return letIn(dice, step, { table, pk: key.pk, present: [], steps: [get] });
  };
  return { operation: "batch query by SAS", type: "-", code, make };
}

const several = (claims: readonly Claim[]) => [...claims, ...claims, ...claims];
const policy: Policy = { id: "policy", ...validDates, permission: all };
const stored: Fields = { si: "policy", sp: undefined, st: undefined, se: undefined };

export const batchSasClaims: readonly Claim[] = [
  ...several([
    claim(
      "ok",
      byTable(() => ({ sp: all })),
    ),
    claim(
      "ok",
      byTable((_, { steps }) => ({ sp: permissionOf(lettersOf(steps)) })),
    ),
    claim("ok", byTable(holding)),
    claim(
      "ok",
      byAccount(() => ({})),
    ),
    claim("AuthorizationPermissionMismatch", byTable(lacking(all), "letters of a batch")),
    claim("AuthorizationPermissionMismatch", byAccount(lacking("rwdlau"), "letters of a batch")),
    claim("AuthorizationFailure", byTable(leaving, "range in a batch")),
  ]),
  claim(
    "AuthenticationFailed",
    byTable(() => ({ sp: all, ...expired }), "expired"),
  ),
  claim(
    "AuthenticationFailed",
    byTable(() => ({ sp: all, tn: "other" }), "table of a batch"),
  ),
  claim("ok", byOwnTable({ sp: all }, "signature of a batch")),
  claim("ok", withPolicy(policy, byOwnTable(stored, "signature of a batch"))),
  claim(
    "AuthorizationPermissionMismatch",
    withPolicy({ ...policy, permission: "r" }, byOwnTable(stored, "signature of a batch")),
  ),
  claim(
    "AuthorizationServiceMismatch",
    byAccount(() => ({ ss: "b" }), "service"),
  ),
  claim(
    "AuthorizationResourceTypeMismatch",
    byAccount(() => ({ srt: "s" }), "type of a batch"),
  ),
  queryClaim(
    "ok",
    byTable(() => ({ sp: "r" })),
  ),
  queryClaim(
    "ok",
    byAccount(() => ({ sp: "r" })),
  ),
  queryClaim(
    "AuthorizationPermissionMismatch",
    byTable(() => ({ sp: "aud" }), "letters of a batch"),
  ),
  queryClaim("AuthorizationFailure", byTable(leaving, "range in a batch")),
];
