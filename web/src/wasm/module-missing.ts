// Tells errors of a module whose file is no longer on the server from errors that may be temporary.

import { StoreError } from "../errors.ts";

/** The server responded, but not with the module. A later response would be the same. */
export class NoModuleError extends Error {}

/**
 * Returns whether the error of linkDeferredModule() (module.ts) says that the file of this version
 * is no longer on the server. Not so for a lost network connection, for example.
 */
export function isModuleMissing(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  return error.code === "WasmVersionMismatch" || error.cause instanceof NoModuleError;
}
