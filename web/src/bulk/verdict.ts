// What a batch that failed says about its actions.

import { serviceErrorOf } from "../service-error.ts";
import type { BulkFailure } from "../types.ts";

/**
 * one: this action failed, and none of the others was carried out. split: one or more did, and parts of the batch will tell which. all: sending any of
 * it again is no use, or not safe.
 */
export type Verdict =
  | { kind: "one"; at: number }
  | { kind: "split" }
  | { kind: "all"; uncertain: BulkFailure["uncertain"] };

// By shape: the errors may be those of the official client.
interface Failure {
  name?: string;
  code?: string;
  statusCode?: number;
}

const lostOnTheWay: ReadonlySet<unknown> = new Set(["ConnectionLost", "StoreClosed"]);

/** Of a batch of so many actions. */
export function verdictOn(error: unknown, actions: number): Verdict {
  const { name, code, statusCode } = (error ?? {}) as Failure;
  if (name === "StoreError") return { kind: "all", uncertain: lostOnTheWay.has(code) };
  if (name === "AbortError") return { kind: "all", uncertain: true };
  if (name === "RestError") {
    if (statusCode === undefined || statusCode >= 500) return { kind: "all", uncertain: true };
    const said = serviceErrorOf(error);
    if (concernsAll(statusCode, said.code)) return { kind: "all", uncertain: false };
    const at = said.failedAt ?? actions;
    if (at < actions) return { kind: "one", at };
  }
  // Any other error comes before anything was sent.
  return actions === 1 ? { kind: "one", at: 0 } : { kind: "split" };
}

function concernsAll(statusCode: number, code: string | undefined): boolean {
  return statusCode === 401 || statusCode === 403 || code === "TableNotFound";
}
