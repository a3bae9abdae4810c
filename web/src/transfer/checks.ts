// What both directions are given, and check first.

import type { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike, FileFormat } from "../types.ts";
import type { chunksFrom } from "../util/chunks.ts";
import type { yieldToEventLoop } from "../util/event-loop.ts";

// What every page has in memory. It is handed over, since this room is loaded only when it is needed: what both imported, bundlers that
// split by importers alone (esbuild is one) would put into files of their own, and every page would wait for those.
export interface Dependencies {
  readonly AbortError: typeof AbortError;
  readonly StoreError: typeof StoreError;
  readonly yieldToEventLoop: typeof yieldToEventLoop;
  readonly chunksFrom: typeof chunksFrom;
}

const formats: readonly FileFormat[] = ["ndjson", "json", "csv"];

/** Throws StoreError ValidationFailed. */
export function checkFormat(format: FileFormat, dependencies: Dependencies): void {
  oneOf("format", format, formats, dependencies);
}

/** Likewise. */
export function oneOf<T extends string>(
  name: string,
  value: T,
  allowed: readonly T[],
  { StoreError }: Dependencies,
): void {
  if (allowed.includes(value)) return;
  throw new StoreError(
    "ValidationFailed",
    `${name} must be one of ${allowed.join(", ")}, not ${String(value)}.`,
  );
}

/** Throws AbortError. */
export function checkSignal(
  signal: AbortSignalLike | undefined,
  { AbortError }: Dependencies,
): void {
  if (signal?.aborted) throw new AbortError();
}
