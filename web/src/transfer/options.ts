// What both directions check first.

import { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike, FileFormat } from "../types.ts";

const formats: readonly FileFormat[] = ["ndjson", "json", "csv"];

/** Throws StoreError ValidationFailed. */
export function checkFormat(format: FileFormat): void {
  oneOf("format", format, formats);
}

/** Likewise. */
export function oneOf<T extends string>(name: string, value: T, allowed: readonly T[]): void {
  if (allowed.includes(value)) return;
  throw new StoreError(
    "ValidationFailed",
    `${name} must be one of ${allowed.join(", ")}, not ${String(value)}.`,
  );
}

/** Throws AbortError. */
export function checkSignal(signal: AbortSignalLike | undefined): void {
  if (signal?.aborted) throw new AbortError();
}
