// Warns in development of options that a call does not have. They are ignored, as by the official
// client, so a write with a misspelled condition is unconditional.

import { filterAndSelect, optionHints } from "../client/operation-checks.ts";
import type { StoreError } from "../errors.ts";
import type { StoreWarning } from "../types.ts";
import { requireKnownOptions } from "../util/option-names.ts";

declare const process: { env: { NODE_ENV?: string } };

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
  onWarning: OnWarning | undefined,
): void {
  if (onWarning === undefined || !isDevelopment()) return;
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
  onWarning({ code: "OptionIgnored", message });
}

function isDevelopment(): boolean {
  try {
    return process.env.NODE_ENV !== "production";
  } catch {
    return false; // a page without a bundler has no `process`
  }
}
