// The two error classes of the package. RestError is an error of the Table service, in the shape of
// the official client, so `error.statusCode` and `error.code` mean the same with both. StoreError
// is a local failure: storage, module, lock.

import { showHintInStack } from "./hints/stack-hint.ts";
import { type StoreErrorCode, storeErrorHints } from "./hints/store-errors.ts";

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

  // "declare": absent values are not properties of the error.
  declare code?: string;
  declare statusCode?: number;
  declare request?: unknown;
  declare response?: unknown;
  declare details?: RestErrorDetails;
  /** How to fix it. Every error of a store has a hint. */
  declare hint?: string;

  constructor(message: string, options: RestErrorOptions = {}) {
    super(message);
    this.name = "RestError";
    if (options.code !== undefined) this.code = options.code;
    if (options.statusCode !== undefined) this.statusCode = options.statusCode;
    if (options.details !== undefined) this.details = options.details;
    if (options.hint !== undefined) this.hint = options.hint;
    // Not enumerable, as in the official client, so that logging an error does not print a whole
    // exchange.
    Object.defineProperty(this, "request", { value: options.request, enumerable: false });
    Object.defineProperty(this, "response", { value: options.response, enumerable: false });
    if (options.hint !== undefined) showHintInStack(this);
  }
}

// A truncated response, as a mock store can simulate. `responseMessage` is the complete response
// message, of which some entry points show half.
export class TruncatedResponseError extends RestError {
  declare readonly responseMessage: Uint8Array;

  constructor(
    message: string,
    responseMessage: Uint8Array,
    options: Pick<RestErrorOptions, "code" | "hint">,
  ) {
    super(message, options);
    Object.defineProperty(this, "responseMessage", { value: responseMessage, enumerable: false });
  }
}

// Returns the error for a violation of the service's rules, with the core's status, code and text.
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

export type { StoreErrorCode } from "./hints/store-errors.ts";

export interface StoreErrorOptions {
  cause?: unknown;
  hint?: string;
  uncertain?: boolean;
}

export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** How to fix it. */
  readonly hint: string;
  /** Present if it is unknown whether the write was applied. Reading the data shows it. */
  declare uncertain?: true;
  /** Of FeedTruncated: the first sequence that is still in the log (ChangesOptions.since). */
  declare firstSequence?: bigint;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "StoreError";
    this.code = code;
    this.hint = options.hint ?? storeErrorHints[code];
    if (options.uncertain) this.uncertain = true;
    showHintInStack(this);
  }
}

// Resolves to a module that is imported when it is needed. Rejects with missingCodeError().
export function loadedCode<T>(code: Promise<T>): Promise<T> {
  return code.catch((cause: unknown) => {
    throw missingCodeError(cause);
  });
}

// The error of a call whose code cannot be loaded, for example because the site was redeployed.
export function missingCodeError(cause: unknown): StoreError {
  const hint = "Reload all tabs of this site.";
  const message = "A file is missing, or cannot be loaded.";
  return new StoreError("WasmLoadFailed", message, { cause, hint });
}

// The error of a snapshot whose store got another owner before all of it was read. Internal:
// snapshot() then takes it again.
export class SnapshotInterrupted extends StoreError {
  constructor() {
    super("ConnectionLost", "The store's owner changed before the snapshot was complete.", {
      hint: "Take the snapshot again.",
    });
  }
}

// The error of a cancelled call. Callers check its name.
export class AbortError extends Error {
  constructor(message = "The operation was aborted.") {
    super(message);
    this.name = "AbortError";
  }
}
