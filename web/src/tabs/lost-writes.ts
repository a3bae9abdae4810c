// The error for acknowledged deferred writes that could not be applied again.

import { RestError, StoreError } from "../errors.ts";
import type { KnownCalls } from "../transport.ts";
import { httpResponseKind } from "../util/engine-message-kinds.ts";
import { errorFromWire, type FailedWrite, type UnstoredCall } from "./messages.ts";

// Where error responses have the HTTP status (core/rest/http_codec.h, core/rpc/LAYOUT.md).
const httpStatusOffset = 2;
const rpcStatusOffset = 16;

export function lostWritesError(count: number, cause: Error): StoreError {
  const writes = count === 1 ? "1 acknowledged write" : `${count} acknowledged writes`;
  const message = `The store's owner changed, and ${writes} could not be applied again`;
  const hint =
    "They were deferred, and may not be stored. Read the data to find out what is missing.";
  return new StoreError("ConnectionLost", `${message}: ${cause.message}`, { cause, hint });
}

export function causeOf({ response, error }: FailedWrite): Error {
  if (error !== undefined) return errorFromWire(error);
  const bytes = response as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const statusCode =
    bytes[0] === httpResponseKind
      ? view.getUint16(httpStatusOffset, true)
      : view.getUint32(rpcStatusOffset, true);
  return new RestError(`The service responded with status ${statusCode}.`, { statusCode });
}

/** What the store remembers of a client. */
export type RememberedCalls = Omit<KnownCalls, "isFinal">;

// Returns whether the store may have applied a call and forgotten it, together with its client, in
// favour of others (core/store/call_window.h). `known`: the client's calls that it knows. The
// writes of a client are applied in order, so none after a known one was applied.
export function mayBeForgotten(
  { number, appliedAfter }: Pick<UnstoredCall, "number" | "appliedAfter">,
  { numbers, droppedThrough }: RememberedCalls,
): boolean {
  return appliedAfter < droppedThrough && !numbers.some((known) => known <= number);
}

// The error of a call that may be forgotten.
export function forgottenError(): StoreError {
  const message = "The store has forgotten which calls of this tab it applied, because many others";
  return new StoreError("ConnectionLost", `${message} have written since`);
}

// The error of an unstored write that an earlier owner left out although it applied later ones.
export function leftOutError(): StoreError {
  return new StoreError("ConnectionLost", "A later write was applied, and this one was not.");
}
