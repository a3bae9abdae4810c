// Was a push applied? Decides by reading its members back (PROTOCOL.md, Outcomes).

import { baseProperties, isAtBase } from "./base.ts";
import { changeBetween } from "./change.ts";
import type { FrozenPush, Member, RemoteRow } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import type { RemoteProperties } from "./partition-log.ts";
import { areSameProperties } from "./properties.ts";
import { isSameValue } from "./value.ts";

/** What a read showed. `sentAt`: the commit at which the request was sent. */
export interface Observation {
  readonly row: RemoteRow | undefined; // undefined: absent
  readonly sentAt: number;
}

export type Observations = ReadonlyMap<Key, Observation>;

export const propertiesOf = (observations: Observations): RemoteProperties =>
  new Map([...observations].map(([key, { row }]) => [key, row?.properties]));

/** Why the outcome may be known without reading the members. */
export type Evidence =
  | "none"
  | "notSent" // no try of the push was sent
  | "firstTry" // the only try was refused
  | "receiptApplied"
  | "receiptDead";

export type Outcome =
  | "applied"
  /** The remote has what the push intended: by this push, or by another client's same change. */
  | "equal"
  | "notApplied"
  /** The members have been changed since, so that both may be true. */
  | "unknown"
  /** As unknown, but all members are inserts of entities that are absent: send it again. */
  | "resend"
  /** A try may still be executed: read again when it cannot. */
  | "unsettled"
  /** No try can be executed any more, but one may have been while the members were read. */
  | "readAgain";

/** `wasOver`: no try could be executed any more when the first of the members was read. */
export function decideOutcome(
  { members }: Pick<FrozenPush, "members">,
  observations: Observations,
  evidence: Evidence,
  wasOver: boolean,
): Outcome {
  if (evidence === "receiptApplied") return "applied";
  if (evidence === "receiptDead" || evidence === "notSent") return "notApplied";
  const rowOf = ({ key }: Member) => observations.get(key)?.row;
  if (members.every((member) => showsIntention(member, rowOf(member)))) return "equal";
  // One entity that shows the intention proves nothing: others often make the same change.
  if (evidence === "firstTry") return "notApplied";
  const withCondition = members.filter(({ base }) => base.kind === "row");
  const atBase = withCondition.filter((member) => isAtBase(member.base, rowOf(member)));
  // The condition of a member that left its Base can never hold again, so no try can be executed.
  const isOver = atBase.length < withCondition.length;
  if (isOver && atBase.length === 0) return "unknown";
  if (!wasOver) return isOver ? "readAgain" : "unsettled";
  // A batch is executed as a whole, so one member that is at its Base decides for all.
  if (atBase.length > 0) return "notApplied";
  return members.every((member) => !rowOf(member)) ? "resend" : "unknown";
}

/**
 * Returns whether two readings, one after the other, have shown the same versions. Between the two,
 * the remote then had all of them at one moment.
 */
export function areSameObservations(a: Observations, b: Observations): boolean {
  return [...a].every(([key, { row }]) => {
    const other = b.get(key)?.row;
    return row?.etag === other?.etag && areSameProperties(row?.properties, other?.properties);
  });
}

/**
 * Returns whether the remote has what the member intended: for a change of properties, these
 * properties.
 */
export function showsIntention({ base, intended }: Member, remote: RemoteRow | undefined): boolean {
  const change = changeBetween(baseProperties(base), intended);
  if (change?.kind !== "edit" || remote === undefined || change.unset.size > 0) {
    return areSameProperties(intended, remote?.properties);
  }
  return [...change.set].every(([name, value]) => isSameValue(value, remote.properties.get(name)));
}
