// Checks the option `history` of openStore. Loaded if there is one.

import type { StoreError } from "../errors.ts";
import type { OpenOptions } from "../types.ts";
import type { requireKnownOptions } from "../util/option-names.ts";

// What a page has loaded anyway (StoreHandle.import() explains why it is passed).
interface Environment {
  readonly StoreError: typeof StoreError;
  readonly requireKnownOptions: typeof requireKnownOptions;
}

// Throws StoreError ValidationFailed.
export function checkHistory(
  history: NonNullable<OpenOptions["history"]>,
  { StoreError, requireKnownOptions }: Environment,
): void {
  requireKnownOptions("openStore", history, ["bytes", "ageMs"], {}, "history");
  const { bytes = 0, ageMs = 0 } = history;
  if (bytes >= 0 && ageMs >= 0) return;
  throw new StoreError("ValidationFailed", "history has limits in bytes and milliseconds.");
}
