// Values of the eight Edm types as text: validates them and formats them as filter literals.

import { isValidEdmText } from "../edm/text-validation.ts";
import type { EdmTypes } from "../types.ts";

export interface TypedValue {
  readonly type: EdmTypes;
  readonly value: string;
}

export const edmTypeNames: readonly EdmTypes[] = [
  "String",
  "Int32",
  "Int64",
  "Double",
  "Boolean",
  "DateTime",
  "Guid",
  "Binary",
];

/** Returns whether a value is a typed property, as read with disableTypeConversion. */
export function isTyped(value: unknown): value is TypedValue {
  return typeof value === "object" && value !== null && "type" in value && "value" in value;
}

const expected: Readonly<Record<EdmTypes, string>> = {
  String: "A String has at most 32,768 characters.",
  Int32: "A whole number from \u22122147483648 to 2147483647.",
  Int64: "A whole number from \u22129223372036854775808 to 9223372036854775807.",
  Double: "A number such as 1.5 or 2e10, NaN, Infinity or -Infinity.",
  Boolean: "true or false.",
  DateTime: "A date, with an optional time: 2026-03-29T12:30:00Z.",
  Guid: "32 hexadecimal digits as 8-4-4-4-12.",
  Binary: "Bytes as base64.",
};

/** Returns what is wrong with a value, as a message for the user; undefined: it is valid. */
export function valueProblem({ type, value }: TypedValue): string | undefined {
  return isValidEdmText(type, value) ? undefined : expected[type];
}

/**
 * Returns what is wrong with a property's name, as a message for the user; undefined: nothing. The
 * store makes the final check.
 */
export function propertyNameProblem(name: string): string | undefined {
  if (name === "") return "A property needs a name.";
  if (/^(?:PartitionKey|RowKey|Timestamp|partitionKey|rowKey|timestamp|etag)$/.test(name)) {
    return `${name} is a reserved property name.`;
  }
  const letters = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*$/u;
  if (!letters.test(name)) return "Letters, digits and _ only; the first must not be a digit.";
  return name.length <= 255 ? undefined : "At most 255 characters.";
}

/** Formats a value as a literal of a filter. */
export function literalOf({ type, value }: TypedValue): string {
  switch (type) {
    case "String":
      return quoted(value);
    case "Int64":
      return `${value}L`;
    case "Double":
      return /^-?\d+$/.test(value) ? `${value}.0` : value;
    case "DateTime":
      return `datetime${quoted(value)}`;
    case "Guid":
      return `guid${quoted(value)}`;
    case "Binary":
      return `X'${hexOf(value)}'`;
    default:
      return value;
  }
}

/**
 * Restores the line ends of a text that was edited in a text area, which turns every line end into
 * LF. Line ends outside the edited part get the form that they have in `before`. New ones get the
 * form of the first line end in `before`.
 */
export function restoreLineEnds(before: string, edited: string): string {
  const ends = before.match(lineEnd);
  if (ends === null || ends.every((end) => end === "\n")) return edited;
  const shown = before.replace(lineEnd, "\n");
  let from = 0;
  while (from < Math.min(shown.length, edited.length) && shown[from] === edited[from]) from += 1;
  let to = 0;
  const rest = Math.min(shown.length, edited.length) - from;
  while (to < rest && shown.at(-1 - to) === edited.at(-1 - to)) to += 1;
  const endsIn = (text: string) => text.split("\n").length - 1;
  const old = [...ends];
  const head = old.splice(0, endsIn(shown.slice(0, from)));
  const tail = to === 0 ? [] : old.splice(old.length - endsIn(shown.slice(-to)));
  const added = Array<string>(endsIn(edited) - head.length - tail.length).fill(ends[0]);
  const next = [...head, ...added, ...tail].values();
  return edited.replaceAll("\n", () => next.next().value as string);
}

const lineEnd = /\r\n?|\n/g;

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function hexOf(text: string): string {
  return Array.from(atob(text), (c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}
