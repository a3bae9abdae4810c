// What an error says that the service answered with: those of a store and those of the official client keep it in different places.

export interface ServiceError {
  /** "EntityAlreadyExists" */
  readonly code: string | undefined;
  readonly message: string;
  /** Which action of a transaction it is about, from 0, where it says so. */
  readonly failedIndex: number | undefined;
}

interface ErrorFields {
  code?: string;
  message?: string;
  details?: { odataError?: { code?: string; message?: { value?: string } } };
}

/** By shape, as the classes of errors differ between clients. Of what isn't the service's, what it calls itself. */
export function parseServiceError(error: unknown): ServiceError {
  const { code, message, details } = (error ?? {}) as ErrorFields;
  const odataError = details?.odataError;
  const text = odataError?.message?.value ?? message ?? "";
  const [, index] = /^(\d+):/.exec(text) ?? [];
  const failedIndex = index === undefined ? undefined : Number(index);
  return { code: odataError?.code ?? code, message: text, failedIndex };
}
