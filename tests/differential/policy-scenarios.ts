// Requests with shared access signatures that refer to a stored access policy. The policy is stored
// just before the request.

import {
  futureDates,
  type Policy,
  pastDates,
  permissionOf,
  setPolicies,
  validDates,
} from "./policies.ts";
import type { Step } from "./request.ts";
import { definedByPolicy, expired, type Fields, tableSas } from "./sas.ts";
import {
  addressFor,
  missingPermissions,
  operationPermissions,
  type RequestedOperation,
  stepBySas,
} from "./sas-scenarios.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { StoreModel } from "./store-model.ts";

const all = "raud";
const id = "policy";
const other: Policy = { id: "other", ...validDates, permission: all };
const completePolicy = (permission = all): Policy => ({ id, ...validDates, permission });

interface Scene {
  stored: readonly Policy[];
  changed?: readonly Policy[]; // the policies that replace `stored` before the request
  fields?: Fields; // in addition to `si`
}

const tableOf = (step: Step) => step.table ?? "";

function scenario(
  requested: RequestedOperation,
  code: string,
  { stored, changed, fields = {} }: Scene,
  ...tags: readonly string[]
): Scenario {
  const make = (model: StoreModel, random: SeededRandom): Step | undefined => {
    const address = addressFor(requested, model, random);
    if (address === undefined) return undefined;
    const { table } = address;
    const sas = () => tableSas(random, table, { ...definedByPolicy, si: id, ...fields });
    const step = stepBySas(random, requested, address, sas, tags);
    const documents = changed === undefined ? [stored] : [stored, changed];
    return { ...step, first: documents.map((policies) => setPolicies(random, table, policies)) };
  };
  return { operation: `${requested} by SAS`, type: "-", code, make };
}

// Azurite rejects policies with missing fields. Such a policy exists only in the store, and is
// removed after the request.
function partial(
  requested: RequestedOperation,
  code: string,
  policy: Policy,
  fields: Fields,
): Scenario {
  const tags = "partial policy";
  const { make, ...cell } = scenario(requested, code, { stored: [policy], fields }, tags);
  const alone = (step: Step): Step => ({
    ...step,
    tags: new Set([tags]),
    isUndoneByFollowUps: true,
  });
  const both = (model: StoreModel, random: SeededRandom): Step | undefined => {
    const step = make(model, random);
    if (step === undefined) return undefined;
    const { first = [] } = step;
    const none = setPolicies(random, tableOf(step), []);
    return { ...step, first: [none, ...first.map(alone)], after: [none] };
  };
  return { ...cell, make: both };
}

const noPermission: Policy = { ...completePolicy(), permission: undefined };
const noExpiry: Policy = { ...completePolicy(), expiry: undefined };
const noStart: Policy = { ...completePolicy(), start: undefined };
const times = { st: "2024-01-01T00:00:00Z", se: "2099-01-01T00:00:00Z" };

export const policyScenarios: readonly Scenario[] = [
  ...operationPermissions.flatMap(([requested, sp]) => [
    scenario(requested, "ok", { stored: [completePolicy(sp)] }),
    scenario(requested, "ok", { stored: [other, completePolicy()] }),
    scenario(
      requested,
      "AuthorizationPermissionMismatch",
      { stored: [other, completePolicy(permissionOf(missingPermissions[sp] ?? ""))] },
      "permission",
    ),
  ]),
  scenario(
    "insert or merge",
    "AuthorizationPermissionMismatch",
    { stored: [completePolicy("a")] },
    "half of upsert",
  ),

  // The policy's times.
  scenario(
    "get",
    "AuthenticationFailed",
    { stored: [{ ...completePolicy(), ...pastDates }] },
    "policy time",
  ),
  scenario(
    "merge",
    "AuthenticationFailed",
    { stored: [{ ...completePolicy(), ...futureDates }] },
    "policy time",
  ),

  // The policies were replaced after signing.
  scenario(
    "get",
    "AuthenticationFailed",
    { stored: [completePolicy(), other], changed: [other] },
    "no policy",
  ),
  scenario(
    "insert",
    "AuthenticationFailed",
    { stored: [completePolicy()], changed: [] },
    "no policy",
  ),
  scenario(
    "get",
    "AuthenticationFailed",
    { stored: [{ ...completePolicy(), id: "Policy" }] },
    "no policy",
  ),
  scenario("query", "ok", { stored: [completePolicy("aud")], changed: [completePolicy("r")] }),
  scenario(
    "delete",
    "AuthorizationPermissionMismatch",
    { stored: [completePolicy()], changed: [completePolicy("rau")] },
    "permission",
  ),
  scenario(
    "get",
    "AuthenticationFailed",
    { stored: [completePolicy()], changed: [{ ...completePolicy(), ...pastDates }] },
    "policy time",
  ),
  scenario("get", "ok", {
    stored: [{ ...completePolicy(), ...pastDates }],
    changed: [completePolicy()],
  }),

  // A field is in both the policy and the signature.
  scenario(
    "get",
    "AuthenticationFailed",
    { stored: [completePolicy()], fields: { sp: "r" } },
    "said twice",
  ),
  scenario(
    "delete",
    "AuthenticationFailed",
    { stored: [completePolicy()], fields: { sp: "d" } },
    "said twice",
  ),
  scenario(
    "query",
    "AuthenticationFailed",
    { stored: [completePolicy()], fields: { se: "2099-01-01T00:00:00Z" } },
    "said twice",
  ),
  scenario(
    "merge",
    "AuthenticationFailed",
    { stored: [completePolicy()], fields: { st: "2024-01-01T00:00:00Z" } },
    "said twice",
  ),

  // A field is in only one of them, or in neither.
  partial("get", "ok", noPermission, { sp: "r" }),
  partial("insert", "ok", noExpiry, { se: times.se }),
  partial("query", "ok", { id, permission: "r" }, times),
  partial("merge", "ok", noStart, {}),
  partial("merge", "ok", { id }, { ...times, sp: "u" }),
  partial("delete", "AuthorizationPermissionMismatch", noPermission, { sp: "r" }),
  partial("get", "AuthorizationPermissionMismatch", noPermission, {}),
  partial("get", "AuthenticationFailed", noExpiry, {}),
  partial("get", "AuthenticationFailed", { id, permission: "r" }, expired),
];
