// Warns of options that a call does not have. They are ignored, as by the official client, so a
// write with a misspelled condition is unconditional. Loaded in development only.

import { filterAndSelect, optionHints } from "../client/operation-checks.ts";
import type { StoreError } from "../errors.ts";
import type { StoreWarning } from "../types.ts";
import { isolatedListener } from "../util/isolated-listener.ts";
import { requireKnownOptions } from "../util/option-names.ts";

type OnWarning = (warning: StoreWarning) => void;

const hints: Readonly<Record<string, string>> = {
  ...optionHints,
  etag: "Only updateEntity and deleteEntity have it.",
  orderBy: "Entities are ordered by their keys.",
  top: "Pass maxPageSize to byPage(), and read one page.",
};

// The messages that were reported, by listener.
const reported = new WeakMap<OnWarning, Set<string>>();

/** Reports an option that is not in `known`, once. */
export function warnOfIgnoredOption(
  method: string,
  options: object,
  known: readonly string[],
  onWarning: OnWarning,
): void {
  const { queryOptions } = Object(options) as { queryOptions?: object };
  try {
    requireKnownOptions(method, options, known, hints);
    requireKnownOptions(method, queryOptions, filterAndSelect, hints, "queryOptions");
  } catch (error) {
    const { message, hint } = error as StoreError;
    report(`${message.replace(/\.$/, "")}, so it is ignored. ${hint}`, onWarning);
  }
}

function report(message: string, onWarning: OnWarning): void {
  const messages = reported.get(onWarning) ?? new Set();
  reported.set(onWarning, messages);
  if (messages.has(message)) return;
  messages.add(message);
  isolatedListener(onWarning)({ code: "OptionIgnored", message });
}
