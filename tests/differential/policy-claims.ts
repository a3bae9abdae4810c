// Requests that shared access signatures let in by a stored access policy, which is set just before.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import {
  futureDates,
  type Policy,
  pastDates,
  permissionOf,
  setPolicies,
  validDates,
} from "./policies.ts";
import type { Step } from "./request.ts";
import { expired, type Fields, tableSas, unsaid } from "./sas.ts";
import { type Asked, asking, lacking, placeFor, stepBySas } from "./sas-claims.ts";
import type { World } from "./world.ts";

const all = "raud";
const id = "policy";
const other: Policy = { id: "other", ...validDates, permission: all };
const whole = (permission = all): Policy => ({ id, ...validDates, permission });

interface Scene {
  stored: readonly Policy[];
  changed?: readonly Policy[]; // what stands in their place by then
  fields?: Fields; // besides `si`
}

const tableOf = (step: Step) => step.table ?? "";

function claim(
  asked: Asked,
  code: string,
  { stored, changed, fields = {} }: Scene,
  ...about: readonly string[]
): Claim {
  const make = (world: World, dice: Dice): Step | undefined => {
    const place = placeFor(asked, world, dice);
    if (place === undefined) return undefined;
    const { table } = place;
    const sas = () => tableSas(dice, table, { ...unsaid, si: id, ...fields });
    const step = stepBySas(dice, asked, place, sas, about);
    const documents = changed === undefined ? [stored] : [stored, changed];
    return { ...step, first: documents.map((policies) => setPolicies(dice, table, policies)) };
  };
  return { operation: `${asked} by SAS`, type: "-", code, make };
}

// Azurite stores no policy that leaves something open. What only the store has of it is gone after the request.
function partial(asked: Asked, code: string, policy: Policy, fields: Fields): Claim {
  const about = "partial policy";
  const { make, ...cell } = claim(asked, code, { stored: [policy], fields }, about);
  const alone = (step: Step): Step => ({ ...step, about: new Set([about]), leaves: true });
  const both = (world: World, dice: Dice): Step | undefined => {
    const step = make(world, dice);
    if (step === undefined) return undefined;
    const { first = [] } = step;
    const none = setPolicies(dice, tableOf(step), []);
    return { ...step, first: [none, ...first.map(alone)], after: [none] };
  };
  return { ...cell, make: both };
}

const noPermission: Policy = { ...whole(), permission: undefined };
const noExpiry: Policy = { ...whole(), expiry: undefined };
const noStart: Policy = { ...whole(), start: undefined };
const times = { st: "2024-01-01T00:00:00Z", se: "2099-01-01T00:00:00Z" };

export const policyClaims: readonly Claim[] = [
  ...asking.flatMap(([asked, sp]) => [
    claim(asked, "ok", { stored: [whole(sp)] }),
    claim(asked, "ok", { stored: [other, whole()] }),
    claim(
      asked,
      "AuthorizationPermissionMismatch",
      { stored: [other, whole(permissionOf(lacking[sp] ?? ""))] },
      "permission",
    ),
  ]),
  claim(
    "insert or merge",
    "AuthorizationPermissionMismatch",
    { stored: [whole("a")] },
    "half of upsert",
  ),

  // Times.
  claim("get", "AuthenticationFailed", { stored: [{ ...whole(), ...pastDates }] }, "policy time"),
  claim(
    "merge",
    "AuthenticationFailed",
    { stored: [{ ...whole(), ...futureDates }] },
    "policy time",
  ),

  // Another document since.
  claim("get", "AuthenticationFailed", { stored: [whole(), other], changed: [other] }, "no policy"),
  claim("insert", "AuthenticationFailed", { stored: [whole()], changed: [] }, "no policy"),
  claim("get", "AuthenticationFailed", { stored: [{ ...whole(), id: "Policy" }] }, "no policy"),
  claim("query", "ok", { stored: [whole("aud")], changed: [whole("r")] }),
  claim(
    "delete",
    "AuthorizationPermissionMismatch",
    { stored: [whole()], changed: [whole("rau")] },
    "permission",
  ),
  claim(
    "get",
    "AuthenticationFailed",
    { stored: [whole()], changed: [{ ...whole(), ...pastDates }] },
    "policy time",
  ),
  claim("get", "ok", { stored: [{ ...whole(), ...pastDates }], changed: [whole()] }),

  // Said by both.
  claim("get", "AuthenticationFailed", { stored: [whole()], fields: { sp: "r" } }, "said twice"),
  claim("delete", "AuthenticationFailed", { stored: [whole()], fields: { sp: "d" } }, "said twice"),
  claim(
    "query",
    "AuthenticationFailed",
    { stored: [whole()], fields: { se: "2099-01-01T00:00:00Z" } },
    "said twice",
  ),
  claim(
    "merge",
    "AuthenticationFailed",
    { stored: [whole()], fields: { st: "2024-01-01T00:00:00Z" } },
    "said twice",
  ),

  // One part said by each, or by neither.
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
