// The policy "merge": three-way, property by property. If both sides have changed a property
// differently, the remote wins, and the whole local group loses: if only the property lost, two
// entities that were written together would show a state that no client wrote.

import { baseProperties } from "./base.ts";
import { applyChange, type Change, canApply, writtenBy } from "./change.ts";
import type { Conflict } from "./conflict.ts";
import type { OutboxOp } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import type { PartitionLog, RemoteProperties } from "./partition-log.ts";
import { isEncrypted } from "./properties.ts";
import { isSameValue, type Value } from "./value.ts";

export function mergeConflicts(
  log: PartitionLog,
  conflicts: readonly Conflict[],
  remoteOf: RemoteProperties,
): void {
  const losing = new Set(conflicts.flatMap((conflict) => losersOf(log, conflict)));
  const keys = loseGroups(log, losing, remoteOf);
  for (const { key, remote, sentAt } of conflicts) {
    keys.add(key);
    log.rebaseOnAnswer(key, remote, sentAt);
    if (remote) createsToEdits(log, key);
  }
  loseMeaningless(log, keys, remoteOf);
}

/** Returns the keys of the groups. */
function loseGroups(
  log: PartitionLog,
  losing: ReadonlySet<number>,
  remoteOf: RemoteProperties,
): Set<Key> {
  if (losing.size === 0) return new Set();
  const lost = log.pending.filter(({ group }) => losing.has(group));
  for (const op of lost) log.lose(op, "notApplied", remoteOf);
  return new Set(lost.map(({ key }) => key));
}

/** The groups lose whose operations built on an entity that is not there any more. */
export function loseMeaningless(
  log: PartitionLog,
  keys: Set<Key>,
  remoteOf: RemoteProperties,
): void {
  for (const key of keys) {
    for (const more of loseGroups(log, meaninglessGroups(log, key), remoteOf)) {
      keys.delete(more); // visits the key again
      keys.add(more);
    }
  }
}

/** Returns the groups that changed the entity in a way that the remote's change excludes. */
function losersOf(log: PartitionLog, conflict: Conflict): number[] {
  const ops = log.pendingOf(conflict.key);
  const { remote } = conflict;
  const isDeleted = remote === undefined || ops.some(({ change }) => change.kind === "delete");
  const isUnit = isEncrypted(remote?.properties) || isEncrypted(conflict.local);
  const losing =
    isDeleted || isUnit ? ops : ops.filter(({ change }) => isContradicted(change, conflict));
  return losing.map(({ group }) => group);
}

/** Returns whether both sides have changed one property, to different values. */
function isContradicted(change: Change, { base, remote }: Conflict): boolean {
  return changedProperties(change).some(([name, value]) => {
    const now = remote?.properties.get(name);
    return !isSameValue(now, base?.get(name)) && !isSameValue(now, value);
  });
}

function changedProperties(change: Change): [string, Value | undefined][] {
  if (change.kind !== "edit") return "properties" in change ? [...writtenBy(change)] : [];
  return [
    ...change.set,
    ...[...change.unset].map((name): [string, undefined] => [name, undefined]),
  ];
}

/** Both sides have created the entity: the local properties are added to the remote's. */
function createsToEdits(log: PartitionLog, key: Key): void {
  for (const op of log.pendingOf(key)) {
    if (op.change.kind !== "create") continue;
    log.rewrite(op, { kind: "edit", set: writtenBy(op.change), unset: new Set() });
  }
}

function meaninglessGroups(log: PartitionLog, key: Key): Set<number> {
  let row = baseProperties(log.baseOf(key));
  const meaningless: OutboxOp[] = [];
  for (const op of log.pendingOf(key)) {
    if (canApply(row, op.change)) row = applyChange(row, op.change);
    else meaningless.push(op);
  }
  return new Set(meaningless.map(({ group }) => group));
}
