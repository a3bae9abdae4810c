// The dependencies of import and export, and the checks of their options.

import type { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike, ExportOptions, FileFormat } from "../types.ts";
import type { chunksFrom } from "../util/chunks.ts";
import type { yieldToEventLoop } from "../util/event-loop.ts";

// Code that every page has already loaded. This module is loaded on demand and therefore gets that
// code as a parameter. If it imported the code, bundlers such as esbuild would move it into
// separate files, for which every page would wait.
export interface TransferDependencies {
  readonly AbortError: typeof AbortError;
  readonly StoreError: typeof StoreError;
  readonly yieldToEventLoop: typeof yieldToEventLoop;
  readonly chunksFrom: typeof chunksFrom;
}

const formats: readonly FileFormat[] = ["ndjson", "json", "csv"];

/** Throws StoreError ValidationFailed if the format is unknown. */
export function checkFormat(format: FileFormat, dependencies: TransferDependencies): void {
  checkOneOf("format", format, formats, dependencies);
}

/** Throws StoreError ValidationFailed if safeCells is set for another format than CSV. */
export function checkSafeCells(
  { safeCells, format }: ExportOptions,
  { StoreError }: TransferDependencies,
): void {
  if (safeCells !== true || format === "csv") return;
  throw new StoreError("ValidationFailed", `safeCells is only for the format csv, not ${format}.`);
}

/** Throws StoreError ValidationFailed if an option is not one of the allowed values. */
export function checkOneOf<T extends string>(
  name: string,
  value: T,
  allowed: readonly T[],
  { StoreError }: TransferDependencies,
): void {
  if (allowed.includes(value)) return;
  throw new StoreError(
    "ValidationFailed",
    `${name} must be one of ${allowed.join(", ")}, not ${String(value)}.`,
  );
}

/** Throws AbortError if the signal is aborted. */
export function throwIfAborted(
  signal: AbortSignalLike | undefined,
  { AbortError }: TransferDependencies,
): void {
  if (signal?.aborted) throw new AbortError();
}
