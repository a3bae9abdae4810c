// Rejects options that a function does not have: a misspelled option must not be ignored silently.
// Copies the values of options.

import { StoreError } from "../errors.ts";

/**
 * Throws ValidationFailed if `options` has an option that is not in `known`. An option that is
 * undefined counts as absent. `hints` says what to write in place of options that callers expect.
 * `parent`: the option whose value `options` is.
 */
export function requireKnownOptions(
  method: string,
  options: object | undefined,
  known: readonly string[],
  hints: Readonly<Record<string, string>> = {},
  parent?: string,
): void {
  const [prefix, owner] = parent === undefined ? ["", ""] : [`${parent}.`, ` of ${parent}`];
  for (const name in options) {
    if (known.includes(name) || options[name as keyof object] === undefined) continue;
    const hint = Object.hasOwn(hints, name) ? hints[name] : undefined;
    throw new StoreError("ValidationFailed", `${method} has no option ${prefix}${name}.`, {
      hint: hint ?? `The options${owner} are: ${known.join(", ")}.`,
    });
  }
}

/** Returns a copy of a list or an object, which the caller may change. Returns other values. */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return [...value] as T;
  return typeof value === "object" && value !== null ? { ...value } : value;
}
