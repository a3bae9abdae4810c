// Receipts tell whether a push was applied (PROTOCOL.md, Outcomes). A receipt is a row of the
// client in the partition of the push, with the token of the client's last applied push. It is the
// first operation of every batch, conditional on its own ETag, so that at most one try of a push,
// and no try of an earlier push, can be executed.

import type { FrozenPush } from "./hidden-tables.ts";
import { fenceToken, receiptProperty } from "./operation.ts";
import type { ReadAnswer } from "./remote.ts";

export type ReceiptEvidence =
  | { readonly kind: "applied"; readonly etag: string }
  /** Not applied, and no try can be. `etag`: what the next push must send. */
  | { readonly kind: "dead"; readonly etag: string }
  /** Not applied yet: a try may still be executed. Change the receipt (fence), and read again. */
  | { readonly kind: "open"; readonly etag: string | undefined }
  /**
   * The receipt was deleted, for example with the table, or changed by a push of another copy of
   * this store. The evidence is gone. `etag`: undefined if there is no receipt.
   */
  | { readonly kind: "gone"; readonly etag: string | undefined };

/** REQUIRES: the push has a receipt. */
export function receiptEvidence(
  push: FrozenPush,
  answer: ReadAnswer & { kind: "found" | "absent" },
): ReceiptEvidence {
  const row = answer.kind === "found" ? answer.row : undefined;
  const written = row?.properties.get(receiptProperty)?.value;
  if (row && written === push.token) return { kind: "applied", etag: row.etag };
  if (row && written === fenceToken(push)) return { kind: "dead", etag: row.etag };
  return { kind: row?.etag === push.receipt?.etag ? "open" : "gone", etag: row?.etag };
}
