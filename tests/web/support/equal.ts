// Compares values without Node's assert, for checks that also run in pages.

/**
 * Throws an Error that shows both values if they differ. An undefined property equals a missing
 * one.
 */
export function equal(actual: unknown, expected: unknown, message = "not equal"): void {
  const [a, b] = [show(actual), show(expected)];
  if (a !== b) throw new Error(`${message}:\n  actual   ${a}\n  expected ${b}`);
}

/** Returns the value as text that differs for values that are not equal. */
export function show(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))) {
    return Object.is(value, -0) ? "-0" : String(value);
  }
  if (value === undefined) return "undefined";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (value instanceof Date) return `Date ${value.toISOString()}`;
  if (value instanceof Uint8Array) return `bytes [${value.join()}]`;
  if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`;
  const entries = Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, one]) => `${name}: ${show(one)}`).join(", ")}}`;
}
