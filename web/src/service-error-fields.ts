// Reads the fields of a service error from an exception. RestErrors of a store and of the official
// client have them in different places.

export interface ServiceError {
  /** "EntityAlreadyExists" */
  readonly code: string | undefined;
  readonly message: string;
  /** The index (from 0) of the action in a transaction that failed; undefined if unknown. */
  readonly failedIndex: number | undefined;
}

interface ErrorFields {
  code?: string;
  message?: string;
  details?: { odataError?: { code?: string; message?: { value?: string } } };
}

/**
 * Returns an error's code, message and index. For an error that is not the service's, returns its
 * own code and message. Checks fields instead of classes, because each client has its own error
 * class.
 */
export function serviceErrorFields(error: unknown): ServiceError {
  const { code, message, details } = (error ?? {}) as ErrorFields;
  const odataError = details?.odataError;
  const text = odataError?.message?.value ?? message ?? "";
  const [, index] = /^(\d+):/.exec(text) ?? [];
  const failedIndex = index === undefined ? undefined : Number(index);
  return { code: odataError?.code ?? code, message: text, failedIndex };
}
