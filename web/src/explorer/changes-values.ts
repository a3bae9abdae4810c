// Compares the values of a property before and after a commit, and shows where they differ.

import { isBytes, isDate } from "../util/platform-objects.ts";

const valueUnits = 200; // how many UTF-16 units of a value are shown; a value may have 32,768
const unitsBefore = 20; // how many of them come before the first difference
const bytesShown = 16; // how many bytes of a binary valueText() shows
const bytesBefore = 4;

/** Whether two values have the same type and the same content. */
export function areEqual(a: unknown, b: unknown): boolean {
  if (typeOf(a) !== typeOf(b)) return false;
  if (isBytes(a) && isBytes(b)) return a.length === b.length && firstDifference(a, b) === a.length;
  if (isDate(a) && isDate(b)) return a.getTime() === b.getTime();
  if (isObject(a) && isObject(b)) return areEqual(a["value"], b["value"]);
  return Object.is(a, b);
}

/**
 * Returns the texts of a value before and after a commit; undefined: there was none. If the texts
 * are equal, the types differ, and are shown. Long values are cut around their first difference.
 */
export function differingTexts(
  valueText: (value: unknown) => string,
  before: unknown,
  after: unknown,
): [string, string] {
  if (isBytes(before) && isBytes(after)) {
    const first = firstDifference(before, after);
    const from = first < bytesShown ? 0 : first - bytesBefore;
    const text = (bytes: Uint8Array) => `${from > 0 ? "… " : ""}${valueText(bytes.subarray(from))}`;
    return [text(before), text(after)];
  }
  const texts = [before, after].map((value) => (value === undefined ? "" : valueText(value)));
  const [old, now] = texts as [string, string];
  if (before === undefined || after === undefined) return [cut(old, 0), cut(now, 0)];
  if (old === now)
    return [`${cut(old, 0)} (${typeOf(before)})`, `${cut(now, 0)} (${typeOf(after)})`];
  const first = firstDifference(old, now);
  const from = first < valueUnits ? 0 : first - unitsBefore;
  return [cut(old, from), cut(now, from)];
}

function cut(text: string, from: number): string {
  const end = from + valueUnits;
  return `${from > 0 ? "…" : ""}${text.slice(from, end)}${text.length > end ? "…" : ""}`;
}

// Returns the position of the first difference; if there is none, the shorter length.
function firstDifference(a: ArrayLike<unknown>, b: ArrayLike<unknown>): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; ++i) if (a[i] !== b[i]) return i;
  return length;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

// Returns the name of a value's type, as the service has it.
function typeOf(value: unknown): string {
  if (isBytes(value)) return "Binary";
  if (isDate(value)) return "DateTime";
  if (typeof value === "number") return Number.isInteger(value) ? "Int32" : "Double";
  if (isObject(value)) return String(value["type"]);
  const types: Readonly<Record<string, string>> = {
    string: "String",
    boolean: "Boolean",
    bigint: "Int64",
  };
  return types[typeof value] ?? "null";
}
