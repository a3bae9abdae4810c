// Determines what a failed batch means for its actions.

import { serviceErrorFields } from "../service-error-fields.ts";
import type { BulkFailure } from "../types.ts";

/**
 * What a failed batch means for its actions.
 * - one: the action at index `at` failed, and no other was carried out.
 * - split: at least one action failed. Sending the batch in smaller parts will show which.
 * - all: sending any of the actions again is useless or unsafe. `uncertain`: they may have been
 *   carried out. `isFatal`: every other batch would fail too, because the table does not exist or
 *   the store cannot be written.
 */
export type FailureOutcome =
  | { kind: "one"; at: number }
  | { kind: "split" }
  | { kind: "all"; uncertain: BulkFailure["uncertain"]; isFatal: boolean };

// The fields are checked before use, because the error may come from the official client.
interface ErrorFields {
  name?: string;
  code?: string;
  statusCode?: number;
}

const connectionLostCodes: ReadonlySet<unknown> = new Set(["ConnectionLost", "StoreClosed"]);
// The codes of store errors that concern individual actions.
const actionErrorCodes: ReadonlySet<unknown> = new Set(["NotSupported", "ValidationFailed"]);
const tableErrorCodes: ReadonlySet<unknown> = new Set(["TableNotFound", "TableBeingDeleted"]);

/** Classifies the failure of a batch with this many actions. */
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
    const serviceError = serviceErrorFields(error);
    const isFatal = tableErrorCodes.has(serviceError.code);
    // Permission may be denied for one partition only.
    if (isFatal || statusCode === 401 || statusCode === 403) {
      return { kind: "all", uncertain: false, isFatal };
    }
    const at = serviceError.failedIndex ?? actions;
    if (at < actions) return { kind: "one", at };
  }
  // All other errors occur before the batch is sent, for example while a value is encoded.
  return actions === 1 ? { kind: "one", at: 0 } : { kind: "split" };
}
