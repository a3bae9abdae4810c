// What an answer to a push means (PROTOCOL.md, Pushing 5 to 8).

import type { FrozenPush, Version } from "./hidden-tables.ts";
import type { Failure, PushAnswer } from "./remote.ts";

/** What is known about the tries of a push. It is lost with the process. */
export interface Tries {
  /** An earlier try, or a copy of this one, may have been executed without an acknowledgement. */
  isAmbiguous: boolean;
}

/** A permanent refusal. */
export interface Rejection {
  readonly index: number | undefined; // in the push's members; undefined: the whole request
  readonly code: string;
}

/** An operation, or the receipt, was refused. */
export interface Refusal {
  readonly isReceiptRefused: boolean;
  readonly rejection?: Rejection; // undefined: its condition did not hold
}

export type AnswerDecision =
  | {
      readonly kind: "applied";
      readonly receipt: Version | undefined;
      readonly versions: readonly (Version | undefined)[];
    }
  /** Read the members, then decide (outcome.ts). */
  | ({ readonly kind: "readBack" } & Refusal)
  | { readonly kind: "park"; readonly rejection: Rejection }
  /** The push may have been executed. */
  | { readonly kind: "retry"; readonly afterMs?: number | undefined }
  /** The whole request. The push may have been executed. */
  | { readonly kind: "rejected"; readonly rejection: Rejection }
  | { readonly kind: "notSent" }
  | (Failure & { readonly kind: "unauthorized" | "tableMissing" });

const conflicts = new Set([404, 409, 412]);

/** An operation's condition did not hold. */
export const isConflict = (status: number): boolean => conflicts.has(status);

/** The same request may be accepted later. */
export const isTemporary = (status: number): boolean =>
  status === 408 || status === 429 || status >= 500;

/**
 * Only a refusal of an operation shows that the batch was not executed. 429 and 503 may come from a
 * proxy whose server executed the request, so they are as ambiguous as a lost connection.
 */
export function decideAnswer(
  push: FrozenPush,
  { isAmbiguous }: Tries,
  answer: PushAnswer,
): AnswerDecision {
  switch (answer.kind) {
    case "applied":
      return answer;
    case "failed":
      return { kind: "retry", afterMs: answer.retryAfterMs };
    case "rejected":
      return { kind: "rejected", rejection: { index: undefined, code: answer.code } };
    case "notSent":
    case "unauthorized":
    case "tableMissing":
      return answer;
    case "refused":
      return decideRefusal(push, isAmbiguous, answer);
  }
}

function decideRefusal(
  push: FrozenPush,
  isAmbiguous: boolean,
  { index, status, code }: PushAnswer & { kind: "refused" },
): AnswerDecision {
  // An operation within a batch can fail like a whole request (azure-sdk-for-net#46845).
  if (isTemporary(status)) return { kind: "retry" };
  const isReceiptRefused = push.receipt !== undefined && index === 0;
  if (isConflict(status)) return { kind: "readBack", isReceiptRefused };
  // The credential does not allow receipts: nothing of the push is to blame.
  if (isReceiptRefused) return { kind: "unauthorized" };
  const rejection = { index: index - (push.receipt ? 1 : 0), code };
  if (isAmbiguous) return { kind: "readBack", isReceiptRefused, rejection };
  return { kind: "park", rejection };
}
