// What a batch that failed says about its actions.

import { parseServiceError } from "../service-error.ts";
import type { BulkFailure } from "../types.ts";

/**
 * one: this action failed, and none of the others was carried out. split: one or more did, and parts of the batch will tell which. all: sending any of
 * it again is no use, or not safe; `ends`: nor is sending any other batch, as it is the table that is missing, or the store that can't be written.
 */
export type FailureOutcome =
  | { kind: "one"; at: number }
  | { kind: "split" }
  | { kind: "all"; uncertain: BulkFailure["uncertain"]; isFatal: boolean };

// By shape: the errors may be those of the official client.
interface ErrorFields {
  name?: string;
  code?: string;
  statusCode?: number;
}

const connectionLostCodes: ReadonlySet<unknown> = new Set(["ConnectionLost", "StoreClosed"]);
// Of a store's errors, those that say something of the actions.
const actionErrorCodes: ReadonlySet<unknown> = new Set(["NotSupported", "ValidationFailed"]);
const tableErrorCodes: ReadonlySet<unknown> = new Set(["TableNotFound", "TableBeingDeleted"]);

/** Of a batch of so many actions. */
export function classifyFailure(error: unknown, actions: number): FailureOutcome {
  const { name, code, statusCode } = (error ?? {}) as ErrorFields;
  if (name === "StoreError" && !actionErrorCodes.has(code)) {
    return {
      kind: "all",
      uncertain: connectionLostCodes.has(code),
      isFatal: code !== "ConnectionLost",
    };
  }
  if (name === "AbortError") return { kind: "all", uncertain: true, isFatal: false };
  if (name === "RestError") {
    if (statusCode === undefined || statusCode >= 500) {
      return { kind: "all", uncertain: true, isFatal: false };
    }
    const serviceError = parseServiceError(error);
    const isFatal = tableErrorCodes.has(serviceError.code);
    // Who may not write one partition may write another.
    if (isFatal || statusCode === 401 || statusCode === 403) {
      return { kind: "all", uncertain: false, isFatal };
    }
    const at = serviceError.failedIndex ?? actions;
    if (at < actions) return { kind: "one", at };
  }
  // Any other error comes before anything was sent.
  return actions === 1 ? { kind: "one", at: 0 } : { kind: "split" };
}
