// The two errors of the package. RestError is what the Table service would have answered, in the shape of the
// official client, so `error.statusCode` and `error.code` mean the same with both. StoreError is a failure of this
// machine: storage, module, lock.

export interface ODataError {
  code: string;
  message: { lang: string; value: string };
}

export interface RestErrorDetails {
  odataError?: ODataError;
  errorCode?: string;
  [header: string]: unknown;
}

export interface RestErrorOptions {
  code?: string;
  statusCode?: number;
  request?: unknown;
  response?: unknown;
  details?: RestErrorDetails;
  hint?: string;
}

export class RestError extends Error {
  static readonly REQUEST_SEND_ERROR: string = "REQUEST_SEND_ERROR";
  static readonly PARSE_ERROR: string = "PARSE_ERROR";

  // "declare": what an error does not have is no property of it.
  declare code?: string;
  declare statusCode?: number;
  declare request?: unknown;
  declare response?: unknown;
  declare details?: RestErrorDetails;
  /** One sentence on how to fix it. */
  declare hint?: string;

  constructor(message: string, options: RestErrorOptions = {}) {
    super(message);
    this.name = "RestError";
    if (options.code !== undefined) this.code = options.code;
    if (options.statusCode !== undefined) this.statusCode = options.statusCode;
    if (options.details !== undefined) this.details = options.details;
    if (options.hint !== undefined) this.hint = options.hint;
    // Not enumerable, as in the official client: logging an error must not print a whole exchange.
    Object.defineProperty(this, "request", { value: options.request, enumerable: false });
    Object.defineProperty(this, "response", { value: options.response, enumerable: false });
  }
}

// An answer that was cut off on its way, as a store for tests can have it. `responseMessage` is the block of the whole: some doors show a half of it.
export class TruncatedResponseError extends RestError {
  declare readonly responseMessage: Uint8Array;

  constructor(message: string, responseMessage: Uint8Array, code = RestError.PARSE_ERROR) {
    super(message, { code });
    Object.defineProperty(this, "responseMessage", { value: responseMessage, enumerable: false });
  }
}

// The error for a refusal by the service's rules: status, service code and text as the core says them.
export function serviceError(
  statusCode: number,
  code: string,
  message: string,
  hint?: string,
): RestError {
  const odataError = { code, message: { lang: "en-US", value: message } };
  return new RestError(message, {
    statusCode,
    code,
    details: { odataError, errorCode: code },
    ...(hint === undefined ? {} : { hint }),
  });
}

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
  | "OutOfMemory";

export interface StoreErrorOptions {
  cause?: unknown;
  hint?: string;
}

export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** One sentence on how to fix it. */
  declare hint?: string;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "StoreError";
    this.code = code;
    if (options.hint !== undefined) this.hint = options.hint;
  }
}

// What an aborted call rejects with; the name is what callers look at.
export class AbortError extends Error {
  constructor(message = "The operation was aborted.") {
    super(message);
    this.name = "AbortError";
  }
}
