// What the outcome of a push changes, apart from conflicts (conflict.ts).

import type { Rejection } from "./answer.ts";
import { outdatedBase } from "./base.ts";
import { dependentGroups } from "./groups.ts";
import type { FrozenPush, Member, OutboxOp, Settlement } from "./hidden-tables.ts";
import { type Observation, type Observations, propertiesOf, showsIntention } from "./outcome.ts";
import type { PartitionLog } from "./partition-log.ts";
import { areSameProperties } from "./properties.ts";

/**
 * The push was applied (PROTOCOL.md, Pushing 5), or the remote has the same from another client.
 * The observations may be of later versions.
 */
export function settleApplied(
  log: PartitionLog,
  push: FrozenPush,
  observations: Observations,
  how: "confirmed" | "equal",
): void {
  dropIdle(log, push);
  for (const member of push.members) {
    settleMember(log, push.upTo, member, observationOf(observations, member), how);
  }
  log.updateRows();
}

/** The push's operations on one entity are done. */
export function settleMember(
  log: PartitionLog,
  upTo: number,
  { key, intended }: Pick<Member, "key" | "intended">,
  { row, sentAt }: Observation,
  how: Settlement,
): void {
  for (const op of log.of(key)) if (op.number <= upTo) log.drop(op, how);
  const isLatest = log.pendingOf(key).length === 0;
  if (isLatest || areSameProperties(intended, row?.properties)) {
    log.rebaseOnAnswer(key, row, sentAt);
  } else log.rebase(key, outdatedBase(intended));
  log.keepBase(key);
}

/**
 * It cannot be known whether the push was applied (PROTOCOL.md, Outcomes 5). The whole batch
 * closes: the remote wins, except for members whose content is there.
 */
export function closeUnknown(
  log: PartitionLog,
  push: FrozenPush,
  observations: Observations,
): void {
  dropIdle(log, push);
  for (const member of push.members) {
    const observation = observationOf(observations, member);
    if (!showsIntention(member, observation.row)) continue;
    settleMember(log, push.upTo, member, observation, "equal");
  }
  const remoteOf = propertiesOf(observations);
  const ofPush = new Set(log.ops.filter(({ number }) => number <= push.upTo));
  const groups = dependentGroups(log.pending, (op) => ofPush.has(op));
  for (const op of log.pending) {
    if (!groups.has(op.group)) continue;
    log.lose(op, ofPush.has(op) ? "unknown" : "notApplied", remoteOf);
  }
  for (const member of push.members) {
    const { row, sentAt } = observationOf(observations, member);
    if (log.pendingOf(member.key).length === 0) log.rebaseOnAnswer(member.key, row, sentAt);
  }
  log.updateRows();
}

/**
 * All members are inserts of absent entities: they are sent again, perhaps for the second time.
 * Operations that cancelled each other out were not sent.
 */
export function resend(log: PartitionLog, { upTo, members }: FrozenPush): void {
  const wasSent = new Set(members.map(({ key }) => key));
  for (const op of log.ops) if (op.number <= upTo && wasSent.has(op.key)) log.markResent(op);
  log.updateRows();
}

/**
 * The remote refuses an entity permanently, or the whole push. The entity's groups are parked, with
 * the later groups that depend on them; the others are sent. Of a whole push, nothing tells which
 * group is to blame unless there is only one.
 */
export function parkRejected(
  log: PartitionLog,
  { members, groups, upTo }: FrozenPush,
  { index, code }: Rejection,
): void {
  const rejected = index === undefined ? undefined : members[index]?.key;
  const isRejected = ({ key, number }: OutboxOp) =>
    rejected === undefined ? groups === 1 && number <= upTo : key === rejected;
  log.park(dependentGroups(log.ops, isRejected), code);
  log.updateRows();
}

function dropIdle(log: PartitionLog, { idleKeys, upTo }: FrozenPush): void {
  const isIdle = new Set(idleKeys);
  for (const op of log.ops) {
    if (op.number <= upTo && isIdle.has(op.key)) log.drop(op, "folded");
  }
}

const observationOf = (observations: Observations, { key }: Member): Observation =>
  observations.get(key) as Observation;
