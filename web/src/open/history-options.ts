// Checks the option `history` of openStore. Loaded if there is one.

import type { OpenOptions } from "../types.ts";
import type { requireKnownOptions } from "../util/option-names.ts";

// Returns what is wrong; undefined: nothing. Throws StoreError ValidationFailed for a wrong name.
// `requireNames`: what a page has loaded anyway (StoreHandle.import() explains why it is passed).
export function mistakeInHistory(
  history: NonNullable<OpenOptions["history"]>,
  requireNames: typeof requireKnownOptions,
): string | undefined {
  requireNames("openStore", history, ["bytes", "ageMs"], {}, "history");
  const { bytes = 0, ageMs = 0 } = history;
  return bytes >= 0 && ageMs >= 0 ? undefined : "history has limits in bytes and milliseconds.";
}
