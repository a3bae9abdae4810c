// What both directions are given, and check first.

import type { AbortError, StoreError } from "../errors.ts";
import type { nextTurn } from "../event-loop.ts";
import type { chunksOf } from "../pieces.ts";
import type { AbortSignalLike, FileFormat } from "../types.ts";

// What every page has in memory. It is handed over, since this room is loaded only when it is needed: what both imported, bundlers that
// split by importers alone (esbuild is one) would put into files of their own, and every page would wait for those.
export interface Shared {
  readonly AbortError: typeof AbortError;
  readonly StoreError: typeof StoreError;
  readonly nextTurn: typeof nextTurn;
  readonly chunksOf: typeof chunksOf;
}

const formats: readonly FileFormat[] = ["ndjson", "json", "csv"];

/** Throws StoreError ValidationFailed. */
export function checkFormat(format: FileFormat, shared: Shared): void {
  oneOf("format", format, formats, shared);
}

/** Likewise. */
export function oneOf<T extends string>(
  name: string,
  value: T,
  allowed: readonly T[],
  { StoreError }: Shared,
): void {
  if (allowed.includes(value)) return;
  throw new StoreError(
    "ValidationFailed",
    `${name} must be one of ${allowed.join(", ")}, not ${String(value)}.`,
  );
}

/** Throws AbortError. */
export function checkSignal(signal: AbortSignalLike | undefined, { AbortError }: Shared): void {
  if (signal?.aborted) throw new AbortError();
}
