// Reads what is needed to decide the outcome of a push.

import type { SyncContext } from "./context.ts";
import type { FrozenPush, Member } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import type { Evidence, Observation, Observations } from "./outcome.ts";
import { receiptEvidence } from "./receipt.ts";
import type { Failure, ReadAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";

/**
 * Reads all members, in parallel. Undefined: they cannot be read now. Waits before it returns
 * undefined.
 */
export async function readMembers(
  context: SyncContext,
  requests: Requests,
  { members, partition }: FrozenPush,
): Promise<Observations | undefined> {
  const { remote, rules } = context;
  const observations = new Map<Key, Observation>();
  for (let tries = 0; ; ++tries) {
    const sentAt = await requests.beginRead();
    const unread = members.filter(({ key }) => !observations.has(key));
    const read = async ({ key }: { key: Key }) => requests.checked(await remote.read(key));
    const answers = await Promise.all(unread.map(read));
    for (const [index, answer] of answers.entries()) {
      const row = answer.kind === "found" ? answer.row : undefined;
      if (row || answer.kind === "absent") {
        observations.set((unread[index] as Member).key, { row, sentAt });
      }
    }
    if (observations.size === members.length) {
      // What others have written together with a member is here before the member's version is.
      const areOthersRead = await rules.consistent?.readPartition(context, requests, partition);
      return areOthersRead === false ? undefined : observations;
    }
    const failure = answers.find(({ kind }) => kind === "failed" || kind === "unauthorized");
    await requests.waitAfter((failure as Failure | undefined) ?? { kind: "tableMissing" }, tries);
    if (failure === undefined) return undefined;
  }
}

/**
 * Reads the receipt of a push until it tells whether the push was applied. `known`: the evidence
 * without a receipt, which is all there is if its evidence is gone. Undefined: it cannot be read
 * now. Waits before it returns undefined.
 */
export async function readReceiptEvidence(
  { remote }: SyncContext,
  requests: Requests,
  push: FrozenPush,
  known: Evidence,
): Promise<{ evidence: Evidence; etag: string } | undefined> {
  for (let tries = 0; ; ++tries) {
    const answer = await requests.answered<ReadAnswer>(() => remote.readReceipt(push.partition));
    if (answer.kind !== "found" && answer.kind !== "absent") {
      await requests.waitAfter({ kind: "tableMissing" }, tries);
      return undefined;
    }
    const found = receiptEvidence(push, answer);
    if (found.kind === "applied") return { evidence: "receiptApplied", etag: found.etag };
    if (found.kind === "dead") return { evidence: "receiptDead", etag: found.etag };
    if (found.kind === "gone") return { evidence: known, etag: found.etag ?? "absent" };
    const fenced = requests.checked(await remote.fence(push, found.etag));
    if (fenced.kind !== "applied") await requests.waitAfter({ kind: "failed" }, tries);
  }
}
