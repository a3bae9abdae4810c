// Chooses what to send next for a partition, and stores it (PROTOCOL.md, Pushing 1 to 4).

import { type Draft, operationsPerCommit, type TableView } from "./draft.ts";
import { type Freeze, type FreezeLimits, freeze } from "./freeze.ts";
import { dependentGroups } from "./groups.ts";
import type { Base, FrozenPush } from "./hidden-tables.ts";
import { type KeyRange, type Partition, partitionOf, partitionRange } from "./keys.ts";
import {
  outboxKey,
  PartitionLog,
  type RowFilter,
  readOutbox,
  readParked,
} from "./partition-log.ts";

export interface PushRules {
  readonly hasReceipts: boolean;
  readonly limits: FreezeLimits;
  readonly keeps: RowFilter;
}

export type PushPlan =
  | { readonly kind: "nothing" }
  | { readonly kind: "settling" }
  /** The outbox became shorter without a push: plan again. */
  | { readonly kind: "again" }
  /** Create the receipt of the partition, and plan again. */
  | { readonly kind: "receiptMissing" }
  /** `isNew`: it was frozen now, so no try of it was sent. */
  | { readonly kind: "push"; readonly push: FrozenPush; readonly isNew: boolean };

/** What the planner cannot decide. */
export interface PushInput {
  /** No insert of an earlier push can arrive any more. */
  readonly isSettled: boolean;
  /** For a new push: see FrozenPush. */
  readonly token: string;
  /** Of a new push: so that a request which is refused as a whole is sent in parts. */
  readonly groupsMax: number;
}

/**
 * Returns the frozen push, which is stored with the draft. REQUIRES: it is sent only when that
 * commit is stored, so that a push never outlives the writes that caused it.
 */
export function planPush(
  draft: Draft,
  partition: Partition,
  rules: PushRules,
  { isSettled, token, groupsMax }: PushInput,
): PushPlan {
  const frozen = draft.get("pushes", partition);
  if (frozen !== undefined) return { kind: "push", push: frozen, isNew: false };
  // Without parked groups, only the operations of this push are read.
  const log = readParked(draft, partition).length > 0 ? logOf(draft, partition, rules) : undefined;
  const decision = freeze({
    ...rules,
    groupsMax,
    ops: log?.ops ?? readOutbox(draft, partition),
    baseOf: (key) => draft.get("bases", key) as Base,
    isSettling: (key) => !isSettled && draft.get("settling", key) !== undefined,
  });
  switch (decision.kind) {
    case "nothing":
    case "settling":
      return decision;
    case "tooLarge":
    case "folded":
      leaveOut(log ?? logOf(draft, partition, rules), decision);
      return { kind: "again" };
    case "ready": {
      const { kind: _, hasReceipt, ...contents } = decision;
      const receipt = hasReceipt ? draft.get("receipts", partition) : undefined;
      if (hasReceipt && receipt === undefined) return { kind: "receiptMissing" };
      if (isSettled) forgetSettled(draft, partitionRange(partition));
      const push = { partition, token, ...contents, ...(receipt ? { receipt } : {}) };
      draft.put("pushes", partition, push);
      return { kind: "push", push, isNew: true };
    }
  }
}

function logOf(draft: Draft, partition: Partition, { keeps }: PushRules): PartitionLog {
  const log = new PartitionLog(draft, partition, keeps);
  parkFollowers(log);
  log.updateRows();
  return log;
}

/** Parks everything that is pending. */
export function parkAll(draft: Draft, partition: Partition, keeps: RowFilter, reason: string) {
  const log = new PartitionLog(draft, partition, keeps);
  log.park(new Set(log.ops.map(({ group }) => group)), reason);
  log.updateRows();
}

/** Parks a group that no batch can hold, or drops operations that cancel each other out. */
function leaveOut(log: PartitionLog, decision: Freeze & { kind: "tooLarge" | "folded" }): void {
  if (decision.kind === "tooLarge") log.park(new Set([decision.group]), "RequestBodyTooLarge");
  else for (const op of log.ops) if (op.number <= decision.upTo) log.drop(op, "folded");
  log.updateRows();
}

/** Returns the first partitions with operations in the outbox. A frozen push has some, too. */
export function pendingPartitions(view: TableView, most: number): Partition[] {
  const partitions: Partition[] = [];
  for (let from = ""; partitions.length < most; ) {
    const next = view.entries("outbox", from)[Symbol.iterator]().next();
    if (next.done) break;
    const partition = partitionOf(next.value[0]);
    partitions.push(partition);
    from = partitionRange(partition).to as string;
  }
  return partitions;
}

/** Groups that share a key with a parked group wait for it, or their order would change. */
function parkFollowers(log: PartitionLog): void {
  const isParked = new Set(log.parked.flatMap(({ ops }) => ops));
  const groups = dependentGroups(log.pending, (op) => isParked.has(op));
  for (const { group } of log.parked) groups.delete(group);
  log.park(groups, "FollowsParked");
}

/** REQUIRES: no insert in this range that was not acknowledged can arrive any more. */
export function forgetSettled(draft: Draft, { from, to }: KeyRange): void {
  for (const [key] of draft.entries("settling", from, to)) draft.delete("settling", key);
}

/**
 * A parked group, and those that depend on it, are sent again, after all others. The last of them
 * stay parked if they are more than one commit can number: they can be retried when the others are
 * gone.
 */
export function retryParked(draft: Draft, partition: Partition, group: number, keeps: RowFilter) {
  const log = new PartitionLog(draft, partition, keeps);
  parkFollowers(log);
  let left = operationsPerCommit;
  for (const { ops, group: parked } of dependents(log, group)) {
    left -= ops.length;
    if (left < 0) break;
    draft.delete("parked", outboxKey(partition, parked));
    for (const op of ops) {
      const number = draft.nextNumber();
      draft.put("outbox", outboxKey(partition, number), { ...op, number });
    }
  }
}

/**
 * The application discards a parked group. The groups that depend on it lose, so that they can be
 * restored.
 */
export function discardParked(draft: Draft, partition: Partition, group: number, keeps: RowFilter) {
  const log = new PartitionLog(draft, partition, keeps);
  parkFollowers(log);
  for (const parked of dependents(log, group)) {
    for (const op of parked.ops) {
      if (parked.group === group) log.drop(op, "discarded");
      else log.lose(op, "notApplied", new Map());
    }
  }
  log.updateRows();
}

function dependents(log: PartitionLog, group: number) {
  const ops = log.parked.flatMap((parked) => parked.ops);
  const groups = dependentGroups(ops, (op) => op.group === group);
  return log.parked.filter((parked) => groups.has(parked.group));
}
