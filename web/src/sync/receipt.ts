// Receipts tell whether a push was applied (PROTOCOL.md, Outcomes). A receipt is a row of the
// client in the partition of the push, with the number of the client's last applied push. It is the
// first operation of every batch, conditional on its own ETag, so that at most one try of a push,
// and no try of an earlier push, can be executed.

import type { FrozenPush } from "./hidden-tables.ts";
import { receiptProperty } from "./operation.ts";
import type { ReadAnswer } from "./remote.ts";

export type ReceiptEvidence =
  | { readonly kind: "applied"; readonly etag: string }
  /** Not applied, and no earlier try can be. `etag`: what the next push must send. */
  | { readonly kind: "dead"; readonly etag: string }
  /** Not applied yet: a try may still be executed. Change the receipt (fence), and read again. */
  | { readonly kind: "open"; readonly etag: string | undefined }
  /** The receipt was deleted, and the evidence with it, for example with the table. */
  | { readonly kind: "missing" };

/** REQUIRES: the push has a receipt. */
export function receiptEvidence(
  { number, receipt }: FrozenPush,
  answer: ReadAnswer & { kind: "found" | "absent" },
): ReceiptEvidence {
  const expected = receipt?.etag;
  if (answer.kind === "absent") {
    return expected === undefined ? { kind: "open", etag: undefined } : { kind: "missing" };
  }
  const { etag, properties } = answer.row;
  if (properties.get(receiptProperty)?.value === String(number)) return { kind: "applied", etag };
  return etag === expected ? { kind: "open", etag } : { kind: "dead", etag };
}
