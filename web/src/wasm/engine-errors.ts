// The errors of calls into the wasm module.

import { StoreError, type StoreErrorCode, serviceError } from "../errors.ts";

export function outOfMemoryError(): StoreError {
  return new StoreError("OutOfMemory", "There is not enough memory for this operation.");
}

export function internalError(message: string): Error {
  return serviceError(
    500,
    "InternalError",
    message,
    "Open the store again; what was stored is safe.",
  );
}

// Returns the error of a write of a synced table, if the module that records it cannot be loaded.
export function outboxMissingError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const message = `Writes of a synced table must be recorded for its remote table. ${error.message}`;
  const hint = `The next write loads it again. Offline, a Service Worker must cache it. ${error.hint}`;
  return new StoreError(error.code, message, { cause: error.cause, hint });
}

const localErrorCodes: ReadonlySet<string> = new Set<StoreErrorCode>([
  "OutOfMemory",
  "Corrupted",
  "FormatTooNew",
]);

// Returns the error that a failed call reports as the text "<HTTP status> <code>
// <message>". A status of 500 and above says that the engine has failed; with any other, it has
// refused the call.
export function errorFromText(text: string): Error {
  const end = text.indexOf("\n");
  const [status, code = ""] = text.slice(0, end).split(" ");
  const message = text.slice(end + 1);
  if (localErrorCodes.has(code)) return new StoreError(code as StoreErrorCode, message);
  if (code === "InvalidInput") return new StoreError("ValidationFailed", message);
  return Number(status) < 500
    ? serviceError(Number(status), code, message)
    : internalError(message);
}
