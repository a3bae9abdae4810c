// Conflicts of a push that was not applied (PROTOCOL.md, Conflicts). The unit is the group: it is
// kept or lost as a whole, because its entities were written together.

import { baseProperties, isAtBase } from "./base.ts";
import { applyChange, type Change, changeBetween, writtenBy } from "./change.ts";
import { dependentGroups } from "./groups.ts";
import type { FrozenPush, Member, OutboxOp, RemoteRow } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import { markKey } from "./marks.ts";
import { loseMeaningless, mergeConflicts } from "./merge.ts";
import { type Observation, type Observations, propertiesOf } from "./outcome.ts";
import type { PartitionLog, RemoteProperties } from "./partition-log.ts";
import { areSameProperties, isEncrypted, type Properties } from "./properties.ts";
import { settleMember } from "./settle.ts";

/** An entity that the remote has changed since Base: a conflict if this side has, differently. */
export interface Conflict {
  readonly key: Key;
  readonly base: Properties | undefined;
  readonly local: Properties | undefined; // what the push intended
  readonly remote: RemoteRow | undefined;
  readonly sentAt: number; // the commit at which the remote was asked
}

/** The application's decision about one conflict: a choice, or the entity to store. */
export type ConflictAnswer =
  | { readonly kind: "remote" | "local" | "park" }
  | { readonly kind: "store"; readonly properties: Properties | undefined };

/** An application's answers are complete: one for each conflict. */
export type ConflictPolicy = "remote" | "merge" | "local" | ReadonlyMap<Key, ConflictAnswer>;

/** The same change on both sides is no conflict, and neither is a change on one side only. */
export function conflictsOf(
  push: Pick<FrozenPush, "members">,
  observations: Observations,
): Conflict[] {
  return changesOf(push, observations).filter(isConflict);
}

/** What the remote has changed of the members. */
function changesOf(
  { members }: Pick<FrozenPush, "members">,
  observations: Observations,
): Conflict[] {
  return members.flatMap(({ key, base, intended: local }) => {
    const { row: remote, sentAt } = observations.get(key) as Observation;
    return isAtBase(base, remote)
      ? []
      : [{ key, base: baseProperties(base), local, remote, sentAt }];
  });
}

const isConflict = ({ base, local, remote }: Conflict): boolean =>
  !areSameProperties(local, remote?.properties) && !areSameProperties(local, base);

/**
 * Returns whether the remote has what some members intended, but not all. The first can leave the
 * push: under the policy merge, deletes, which cannot be a condition, and if the others are at
 * their Bases. So the members must be read as they were at one moment: otherwise, a batch of
 * another client that was executed between two reads would be overwritten in part.
 */
export function isPartlyEqual(push: FrozenPush, observations: Observations): boolean {
  const isEqual = ({ key, base, intended }: Member) => {
    const row = observations.get(key)?.row;
    return !isAtBase(base, row) && areSameProperties(intended, row?.properties);
  };
  return push.members.some(isEqual) && !push.members.every(isEqual);
}

/**
 * Bases the operations of a push that was not applied on what the remote has now. Conflicts are
 * resolved by the policy; the other operations stay in the outbox.
 */
export function resolveConflicts(
  log: PartitionLog,
  push: FrozenPush,
  observations: Observations,
  policy: ConflictPolicy,
): void {
  const changes = changesOf(push, observations);
  const remoteOf = propertiesOf(observations);
  if (policy === "local") for (const change of changes) keepLocal(log, change);
  else if (typeof policy !== "string") applyAnswers(log, push.upTo, changes, policy, remoteOf);
  else {
    const isAgainst = (change: Conflict) => isConflict(change) || isSpread(log, push.upTo, change);
    for (const change of changes) if (!isAgainst(change)) keepRemote(log, push.upTo, change);
    const conflicts = changes.filter(isAgainst);
    if (policy === "remote") loseGroups(log, conflicts, remoteOf);
    else mergeConflicts(log, conflicts, remoteOf);
  }
  log.updateRows();
}

/**
 * Returns whether operations that cancel each other out are in several groups that have other
 * entities, too. If only this entity left them, a smaller push could then send the others as one
 * group has written them, without what it has written here.
 */
function isSpread(log: PartitionLog, upTo: number, { key, base, local, remote }: Conflict) {
  if (!areSameProperties(local, base) || areSameProperties(local, remote?.properties)) return false;
  const own = new Set(log.of(key).map(({ group }) => group));
  const others = log.ops.filter((op) => op.number <= upTo && op.key !== key && own.has(op.group));
  return new Set(others.map(({ group }) => group)).size > 1;
}

/** The remote has what the push intended, or the push intended no change. */
function keepRemote(log: PartitionLog, upTo: number, change: Conflict): void {
  const { key, base, local, remote, sentAt } = change;
  const how = areSameProperties(local, base) ? "folded" : "equal";
  settleMember(log, upTo, { key, intended: local }, { row: remote, sentAt }, how);
}

/** The groups of these keys lose, and with them the later groups that depend on them. */
function loseGroups(
  log: PartitionLog,
  losing: readonly Conflict[],
  remoteOf: RemoteProperties,
): void {
  const keys = new Set(losing.map(({ key }) => key));
  const groups = dependentGroups(log.pending, ({ key }) => keys.has(key));
  for (const op of log.pending) {
    if (groups.has(op.group)) log.lose(op, "notApplied", remoteOf);
  }
  for (const { key, remote, sentAt } of losing) log.rebaseOnAnswer(key, remote, sentAt);
}

/**
 * The local operations win, property by property: a property that the application did not write
 * keeps the remote's value. An edit of an entity that the remote has deleted creates it again.
 * Operations that have nothing to send stay, because their entity is a condition of their group.
 */
function keepLocal(log: PartitionLog, { key, base, remote, sentAt }: Conflict): void {
  let before = base;
  let after = remote?.properties;
  for (const op of log.pendingOf(key)) {
    before = applyChange(before, op.change);
    const change = changeOnto(op, before, after);
    if (change === undefined) log.drop(op, "equal");
    else {
      if (change !== op.change) log.rewrite(op, change);
      after = applyChange(after, change);
    }
  }
  log.rebaseOnAnswer(key, remote, sentAt);
}

/**
 * Returns the change that has the operation's effect on another row. `local`: the row after the
 * operation, where it was made; `row`: the row on which it is made now. Undefined: no effect.
 */
function changeOnto(
  { change }: OutboxOp,
  local: Properties | undefined,
  row: Properties | undefined,
): Change | undefined {
  if (change.kind === "delete") return row === undefined ? undefined : change;
  if (row === undefined) return change.kind === "edit" ? creationOf(change, local) : change;
  const isUnit = isEncrypted(row) || isEncrypted(local);
  if (isUnit && !areSameProperties(row, local)) return changeBetween(row, local);
  if (change.kind === "edit") return change;
  return { kind: "edit", set: writtenBy(change), unset: new Set() };
}

/** Remembers what the edit has written, in case others create the entity before this client. */
function creationOf({ set }: Change & { kind: "edit" }, local: Properties = new Map()): Change {
  const unwritten = new Set([...local.keys()].filter((name) => !set.has(name)));
  return { kind: "create", properties: local, ...(unwritten.size > 0 && { unwritten }) };
}

function applyAnswers(
  log: PartitionLog,
  upTo: number,
  changes: readonly Conflict[],
  answers: ReadonlyMap<Key, ConflictAnswer>,
  remoteOf: RemoteProperties,
): void {
  const conflicts = changes.filter(isConflict);
  const answered = (kind: ConflictAnswer["kind"]) =>
    conflicts.filter(({ key }) => answers.get(key)?.kind === kind);
  loseGroups(log, answered("remote"), remoteOf);
  parkConflicts(log, answered("park"));
  for (const change of changes) {
    const answer = answers.get(change.key);
    if (!isConflict(change) || answer?.kind === "local") keepLocal(log, change);
    else if (answer?.kind === "store") storeAnswer(log, upTo, change, answer.properties, remoteOf);
  }
}

/** The Base of a parked key stays, so that a later retry finds the conflict again. */
function parkConflicts(log: PartitionLog, conflicts: readonly Conflict[]): void {
  const keys = new Set(conflicts.map(({ key }) => key));
  const groups = dependentGroups(log.ops, ({ key }) => keys.has(key));
  log.park(groups, "Conflict");
  for (const key of keys) markKey(log.draft, key);
}

/** The answer replaces what the push intended. Later operations are made on top of it. */
function storeAnswer(
  log: PartitionLog,
  upTo: number,
  { key, remote, sentAt }: Conflict,
  properties: Properties | undefined,
  remoteOf: RemoteProperties,
): void {
  const ops = log.of(key).filter(({ number }) => number <= upTo);
  const change = changeBetween(remote?.properties, properties);
  const last = ops.pop(); // none: its group lost, or is parked
  for (const op of ops) log.drop(op, "folded");
  if (last !== undefined) {
    if (change === undefined) log.drop(last, "equal");
    else log.rewrite(last, change);
  }
  log.rebaseOnAnswer(key, remote, sentAt);
  loseMeaningless(log, new Set([key]), remoteOf);
}
