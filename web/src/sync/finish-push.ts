// Ends a frozen push: applies its outcome, and keeps what later pushes must know.

import type { Rejection } from "./answer.ts";
import { type ConflictPolicy, resolveConflicts } from "./conflict.ts";
import type { Draft } from "./draft.ts";
import type { FrozenPush, RemoteRow, Version } from "./hidden-tables.ts";
import { OutboxIndex } from "./outbox-index.ts";
import type { Observation, Observations, Outcome } from "./outcome.ts";
import { PartitionLog, type RowFilter } from "./partition-log.ts";
import { closeUnknown, parkRejected, resend, settleApplied } from "./settle.ts";

export interface FinishedPush {
  readonly outcome: Exclude<Outcome, "unsettled" | "readAgain">;
  readonly observations: Observations;
  readonly policy: ConflictPolicy;
  readonly rejection?: Rejection | undefined;
  /** The receipt's ETag, if it was read; "absent": the receipt is gone. */
  readonly receiptEtag?: string | undefined;
  /** A try of the push that was not acknowledged may still be executed. */
  readonly mayArrive: boolean;
}

/**
 * Does nothing if the store has another push by now: it was ended by another session. `index`: of
 * the partition, kept from one of its pushes to the next.
 *
 * The receipt's new ETag is stored in this commit and never earlier: otherwise, after a crash
 * between the two commits, the same push would be sent under the new condition, and applied twice.
 */
export function finishPush(
  draft: Draft,
  push: FrozenPush,
  finished: FinishedPush,
  keeps: RowFilter,
  index = new OutboxIndex(),
): void {
  if (draft.get("pushes", push.partition)?.token !== push.token) return;
  const { outcome, observations, policy, rejection, receiptEtag, mayArrive } = finished;
  const log = logOf(draft, push, outcome, keeps, index);
  draft.delete("pushes", push.partition);
  draft.delete("tries", push.partition);
  if (receiptEtag === "absent") draft.delete("receipts", push.partition);
  else if (receiptEtag !== undefined) {
    draft.put("receipts", push.partition, { etag: receiptEtag });
  }
  if (mayArrive && isInsertOnly(push)) {
    for (const { key } of push.members) draft.put("settling", key, true);
  }
  if (outcome === "applied") settleApplied(log, push, observations, "confirmed");
  else if (outcome === "equal") settleApplied(log, push, observations, "equal");
  else if (outcome === "unknown") closeUnknown(log, push, observations);
  else {
    if (outcome === "resend") resend(log, push);
    if (rejection) parkRejected(log, push, rejection);
    else if (outcome === "notApplied") resolveConflicts(log, push, observations, policy);
  }
}

/** Has the operations that the outcome of the push concerns: most concern those after it, too. */
function logOf(
  draft: Draft,
  push: FrozenPush,
  outcome: FinishedPush["outcome"],
  keeps: RowFilter,
  index: OutboxIndex,
): PartitionLog {
  const isSettled = outcome === "applied" || outcome === "equal";
  const ops = isSettled ? index.opsOf(draft, push) : undefined;
  const log = new PartitionLog(draft, push.partition, keeps, ops);
  if (ops === undefined) index.fill(draft, log.ops);
  return log;
}

/** The batch can be executed for as long as its entities are absent; no ETag ends that. */
const isInsertOnly = ({ members, receipt }: FrozenPush): boolean =>
  receipt === undefined && members.every(({ base }) => base.kind === "absent");

/** What the answer 202 says about the members. `sentAt`: the commit at which it was sent. */
export function observationsOfAnswer(
  { members }: FrozenPush,
  versions: readonly (Version | undefined)[],
  sentAt: number,
): Observations {
  const observed = new Map<string, Observation>();
  members.forEach(({ key, intended }, index) => {
    const version = versions[index];
    const row: RemoteRow | undefined =
      intended && version ? { properties: intended, ...version } : undefined;
    observed.set(key, { row, sentAt });
  });
  return observed;
}
