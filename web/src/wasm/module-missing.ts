// Tells errors of a module whose file is no longer on the server from errors that may be temporary.

import { StoreError } from "../errors.ts";

/** The server responded, but not with the module. A later response would be the same. */
export class NoModuleError extends Error {}

// Request Timeout, Too Early, Too Many Requests.
const temporaryStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/** The error for a response with this HTTP status, which is not ok. */
export function statusError(status: number, url: string): Error {
  const message = `HTTP status ${status} for ${url}`;
  const isTemporary = status >= 500 || temporaryStatuses.has(status);
  return isTemporary ? new Error(message) : new NoModuleError(message);
}

/**
 * Returns whether the error of linkDeferredModule() (module.ts) says that the file of this version
 * is no longer on the server. Not so for a lost network connection, for example.
 */
export function isModuleMissing(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  return error.code === "WasmVersionMismatch" || error.cause instanceof NoModuleError;
}
