// Transactions and queries in `$batch` that a shared access signature authorizes. The signature
// must allow each operation.

import { batchOf, type Group, part, sent, validGroup } from "./batch-scenarios.ts";
import { type Policy, permissionOf, setPolicies, validDates } from "./policies.ts";
import type { Key, Step } from "./request.ts";
import { accountSas, expired, type Fields, signedFields, tableFields } from "./sas.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { entityPath, makeStep, metadataLevels } from "./steps.ts";
import type { StoreModel } from "./store-model.ts";

const all = "raud";

// The permission that a write of this kind needs.
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

// Returns whether a key can be a signature's bound. Azurite decodes bounds twice, and ignores empty
// ones.
const isBound = ({ pk, rk }: Key) => pk !== "" && !`${pk}${rk}`.includes("%");

// ---- How it is let in ---------------------------------------------------------------------------

type Authorize = (random: SeededRandom, step: Step, group: Group) => Step | undefined;

const bySas = (step: Step, query: string, tags: readonly string[]): Step => ({
  ...step,
  operation: `${step.operation} by SAS`,
  target: `${step.target}?${query}`,
  tags: new Set(["sas", ...step.tags, ...tags]),
});

// Signed for each backend separately, because they sign differently.
const byTable =
  (
    fieldsOf: (random: SeededRandom, group: Group) => Fields | undefined,
    ...tags: readonly string[]
  ): Authorize =>
  (random, step, group) => {
    const given = fieldsOf(random, group);
    if (given === undefined) return undefined;
    const sas = tableFields(random, group.table, given);
    return { ...bySas(step, "{{sas}}", tags), sas };
  };

// Signed as clients sign.
const byOwnTable =
  (given: Fields, ...tags: readonly string[]): Authorize =>
  (random, step, { table }) =>
    bySas(step, signedFields(tableFields(random, table, given), table), tags);

const byAccount =
  (
    fieldsOf: (random: SeededRandom, group: Group) => Fields,
    ...tags: readonly string[]
  ): Authorize =>
  (random, step, group) =>
    bySas(step, accountSas(random, fieldsOf(random, group)), tags);

const withPolicy =
  (policy: Policy, authorize: Authorize): Authorize =>
  (random, step, group) => {
    const made = authorize(random, step, group);
    return made && { ...made, first: [setPolicies(random, group.table, [policy])] };
  };

// Returns all permissions except one that the group needs.
const withoutOnePermission =
  (every: string) =>
  (random: SeededRandom, { steps }: Group): Fields => {
    const needed = random.pick([...lettersOf(steps)]);
    return { sp: every.replace(needed, "") };
  };

// Returns a key range that excludes one operation of the group: by its lower or upper bound, or by
// its partition.
function rangeExcludingOne(random: SeededRandom, { steps }: Group): Fields | undefined {
  const key = keyOf(random.pick(steps));
  const { pk, rk } = key;
  if (!isBound(key)) return undefined;
  const ranges: Fields[] = [
    { spk: pk, srk: `${rk}0` },
    { spk: `${pk}0` },
    { spk: pk, srk: `${rk}0`, epk: pk },
    ...(rk > "b0" ? [{ spk: pk, epk: pk, erk: "b0" }] : []),
  ];
  return { sp: all, ...random.pick(ranges) };
}

// Returns a key range that includes all operations: the group's partition, or exactly its rows.
function rangeIncludingAll(random: SeededRandom, { steps, pk }: Group): Fields | undefined {
  const keys = steps.map(keyOf);
  if (!keys.every(isBound)) return undefined;
  const rows = keys.map(({ rk }) => rk).sort((a, b) => (a < b ? -1 : 1));
  const [srk, erk] = [rows[0] ?? "", rows.at(-1) ?? ""];
  const narrow = random.oneIn(2) && srk !== "" && erk !== "";
  return { sp: all, spk: pk, epk: pk, ...(narrow ? { srk, erk } : {}) };
}

// ---- Scenarios ----------------------------------------------------------------------------------

function scenario(code: string, authorize: Authorize): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const group = validGroup(model, random, "Int32");
    return group && authorize(random, batchOf(random, "batch", group.steps), group);
  };
  return { operation: "batch by SAS", type: "-", code, make };
}

function queryScenario(code: string, authorize: Authorize): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const address = model.existing(random);
    if (address === undefined) return undefined;
    const { table, key } = address;
    const get = makeStep({
      operation: "get",
      method: "GET",
      target: entityPath(table, key),
      headers: [["Accept", random.pick(metadataLevels.slice(0, 3))]],
      table,
      entities: [key],
    });
    const step = sent(random, "batch query", [get], part(get), []);
    return authorize(random, step, { table, pk: key.pk, present: [], steps: [get] });
  };
  return { operation: "batch query by SAS", type: "-", code, make };
}

const several = (scenarios: readonly Scenario[]) => [...scenarios, ...scenarios, ...scenarios];
const policy: Policy = { id: "policy", ...validDates, permission: all };
const stored: Fields = { si: "policy", sp: undefined, st: undefined, se: undefined };

export const batchSasScenarios: readonly Scenario[] = [
  ...several([
    scenario(
      "ok",
      byTable(() => ({ sp: all })),
    ),
    scenario(
      "ok",
      byTable((_, { steps }) => ({ sp: permissionOf(lettersOf(steps)) })),
    ),
    scenario("ok", byTable(rangeIncludingAll)),
    scenario(
      "ok",
      byAccount(() => ({})),
    ),
    scenario(
      "AuthorizationPermissionMismatch",
      byTable(withoutOnePermission(all), "letters of a batch"),
    ),
    scenario(
      "AuthorizationPermissionMismatch",
      byAccount(withoutOnePermission("rwdlau"), "letters of a batch"),
    ),
    scenario("AuthorizationFailure", byTable(rangeExcludingOne, "range in a batch")),
  ]),
  scenario(
    "AuthenticationFailed",
    byTable(() => ({ sp: all, ...expired }), "expired"),
  ),
  scenario(
    "AuthenticationFailed",
    byTable(() => ({ sp: all, tn: "other" }), "table of a batch"),
  ),
  scenario("ok", byOwnTable({ sp: all }, "signature of a batch")),
  scenario("ok", withPolicy(policy, byOwnTable(stored, "signature of a batch"))),
  scenario(
    "AuthorizationPermissionMismatch",
    withPolicy({ ...policy, permission: "r" }, byOwnTable(stored, "signature of a batch")),
  ),
  scenario(
    "AuthorizationServiceMismatch",
    byAccount(() => ({ ss: "b" }), "service"),
  ),
  scenario(
    "AuthorizationResourceTypeMismatch",
    byAccount(() => ({ srt: "s" }), "type of a batch"),
  ),
  queryScenario(
    "ok",
    byTable(() => ({ sp: "r" })),
  ),
  queryScenario(
    "ok",
    byAccount(() => ({ sp: "r" })),
  ),
  queryScenario(
    "AuthorizationPermissionMismatch",
    byTable(() => ({ sp: "aud" }), "letters of a batch"),
  ),
  queryScenario("AuthorizationFailure", byTable(rangeExcludingOne, "range in a batch")),
];
