// Reads the service's error from an exception: stores and the official client keep its fields in
// different places.

export interface ServiceError {
  /** "EntityAlreadyExists" */
  readonly code: string | undefined;
  readonly message: string;
  /** The index of the failed action of a transaction, from 0, if known. */
  readonly failedIndex: number | undefined;
}

interface ErrorFields {
  code?: string;
  message?: string;
  details?: { odataError?: { code?: string; message?: { value?: string } } };
}

/**
 * Returns code, message and index of an error. Checks fields, not classes, because the clients'
 * classes differ. For other errors, returns their own code and message.
 */
export function parseServiceError(error: unknown): ServiceError {
  const { code, message, details } = (error ?? {}) as ErrorFields;
  const odataError = details?.odataError;
  const text = odataError?.message?.value ?? message ?? "";
  const [, index] = /^(\d+):/.exec(text) ?? [];
  const failedIndex = index === undefined ? undefined : Number(index);
  return { code: odataError?.code ?? code, message: text, failedIndex };
}
