// What a batch that failed says about its actions.

import { serviceErrorOf } from "../service-error.ts";
import type { BulkFailure } from "../types.ts";

/**
 * one: this action failed, and none of the others was carried out. split: one or more did, and parts of the batch will tell which. all: sending any of
 * it again is no use, or not safe; `ends`: nor is sending any other batch, as it is the table that is missing, or the store that can't be written.
 */
export type Verdict =
  | { kind: "one"; at: number }
  | { kind: "split" }
  | { kind: "all"; uncertain: BulkFailure["uncertain"]; ends: boolean };

// By shape: the errors may be those of the official client.
interface Failure {
  name?: string;
  code?: string;
  statusCode?: number;
}

const lostOnTheWay: ReadonlySet<unknown> = new Set(["ConnectionLost", "StoreClosed"]);
// Of a store's errors, those that say something of the actions.
const ofTheActions: ReadonlySet<unknown> = new Set(["NotSupported", "ValidationFailed"]);
const ofTheTable: ReadonlySet<unknown> = new Set(["TableNotFound", "TableBeingDeleted"]);

/** Of a batch of so many actions. */
export function verdictOn(error: unknown, actions: number): Verdict {
  const { name, code, statusCode } = (error ?? {}) as Failure;
  if (name === "StoreError" && !ofTheActions.has(code)) {
    return { kind: "all", uncertain: lostOnTheWay.has(code), ends: code !== "ConnectionLost" };
  }
  if (name === "AbortError") return { kind: "all", uncertain: true, ends: false };
  if (name === "RestError") {
    if (statusCode === undefined || statusCode >= 500) {
      return { kind: "all", uncertain: true, ends: false };
    }
    const said = serviceErrorOf(error);
    const ends = ofTheTable.has(said.code);
    // Who may not write one partition may write another.
    if (ends || statusCode === 401 || statusCode === 403) {
      return { kind: "all", uncertain: false, ends };
    }
    const at = said.failedAt ?? actions;
    if (at < actions) return { kind: "one", at };
  }
  // Any other error comes before anything was sent.
  return actions === 1 ? { kind: "one", at: 0 } : { kind: "split" };
}
