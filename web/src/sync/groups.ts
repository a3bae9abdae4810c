// Which groups of operations depend on each other. A group is sent, undone, parked or kept as a
// whole.

import type { OutboxOp } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";

/**
 * Returns the groups that `isSeed` selects, and every later group that shares a key with one of
 * them. An earlier group does not depend on a later one.
 */
export function dependentGroups(
  ops: readonly OutboxOp[],
  isSeed: (op: OutboxOp) => boolean,
): Set<number> {
  const groups = new Set<number>();
  const keys = new Set<Key>();
  for (const group of groupsOf(ops)) {
    if (!group.some((op) => keys.has(op.key) || isSeed(op))) continue;
    for (const op of group) keys.add(op.key);
    groups.add((group[0] as OutboxOp).group);
  }
  return groups;
}

/**
 * Splits operations into groups, in order, and takes no more operations than it must. REQUIRES: the
 * operations of a group are adjacent.
 */
export function* groupsOf(ops: Iterable<OutboxOp>): Generator<OutboxOp[]> {
  let group: OutboxOp[] = [];
  for (const op of ops) {
    if (group[0] && group[0].group !== op.group) {
      yield group;
      group = [];
    }
    group.push(op);
  }
  if (group.length > 0) yield group;
}
