// The codes of StoreError, and the hint of each. A place that knows more, such as the file that is
// missing or the option to change, gives a hint of its own.

export type StoreErrorCode =
  | "WasmLoadFailed"
  | "WasmVersionMismatch"
  | "PersistenceUnavailable"
  | "QuotaExceeded"
  | "StoreLocked"
  | "StoreClosed"
  | "VersionConflict"
  | "FormatTooNew"
  | "Corrupted"
  | "ConnectionLost"
  | "DecryptionFailed"
  | "EncryptedProperty"
  | "NotPortable"
  | "NotSupported"
  | "ValidationFailed"
  | "OutOfMemory"
  | "FeedTruncated";

// Short, because every page loads them.
export const storeErrorHints: Readonly<Record<StoreErrorCode, string>> = {
  WasmLoadFailed: "Serve the .wasm files, or pass the option wasm.",
  WasmVersionMismatch: "Deploy all files of one version.",
  PersistenceUnavailable: 'Use persistence: "memory".',
  QuotaExceeded: "Delete data.",
  StoreLocked: "Close the store where it is open.",
  StoreClosed: "Open the store again.",
  VersionConflict: "Reload the page.",
  FormatTooNew: "Update the package.",
  Corrupted: "Call verify(), and restore a snapshot.",
  ConnectionLost: "Open the store again.",
  DecryptionFailed: "Pass the key that encrypted the entity.",
  EncryptedProperty: "Use another property.",
  NotPortable: "Give the value's type.",
  NotSupported: "Use another client or browser.",
  ValidationFailed: "Correct the value that the message names.",
  OutOfMemory: "Read or write less at once.",
  FeedTruncated: "Read the tables again.",
};
