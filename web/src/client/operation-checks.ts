// What is checked before a call reaches the store: what the official client checks, in its words.

import { AbortError, StoreError } from "../errors.ts";
import type { OperationOptions, UpdateMode } from "../types.ts";

// Empty strings are legal keys.
export function requireKeys(partitionKey: unknown, rowKey: unknown): void {
  if (partitionKey === undefined || partitionKey === null) {
    throw new Error("The entity's partitionKey cannot be undefined or null.");
  }
  if (rowKey === undefined || rowKey === null) {
    throw new Error("The entity's rowKey cannot be undefined or null.");
  }
}

export function writeKind<M, R>(mode: UpdateMode, merge: M, replace: R): M | R {
  if (mode === "Merge") return merge;
  if (mode === "Replace") return replace;
  throw new Error(`Unexpected value for update mode: ${String(mode)}`);
}

// Options of every call. Those of the official client that hook into its requests are refused: here there are no requests, and
// silence would be a trap.
export function checkOperationOptions(options: OperationOptions): void {
  if (options.abortSignal?.aborted) throw new AbortError();
  const { onResponse, requestOptions } = options as {
    onResponse?: unknown;
    requestOptions?: { customHeaders?: unknown };
  };
  const hook = onResponse ? "onResponse" : requestOptions?.customHeaders ? "customHeaders" : "";
  if (hook === "") return;
  throw new StoreError(
    "NotSupported",
    `The option ${hook} has no meaning here: no request is sent.`,
    {
      hint: "Leave it out, or take @azure/data-tables with its option httpClient: store.httpClient.",
    },
  );
}
