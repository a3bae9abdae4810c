// Values of the eight Edm types as texts: whether one is good, and how it stands in a filter.

import { isTextOf } from "../edm-text.ts";
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

/** A property of an entity that was read with disableTypeConversion. */
export function isTyped(value: unknown): value is TypedValue {
  return typeof value === "object" && value !== null && "type" in value && "value" in value;
}

const expected: Readonly<Record<EdmTypes, string>> = {
  String: "A String has at most 32,768 characters.",
  Int32: "A whole number from \u22122147483648 to 2147483647.",
  Int64: "A whole number from \u22129223372036854775808 to 9223372036854775807.",
  Double: "A number such as 1.5 or 2e10, NaN, Infinity or -Infinity.",
  Boolean: "true or false.",
  DateTime: "A date, with a time if need be: 2026-03-29T12:30:00Z.",
  Guid: "32 hexadecimal digits as 8-4-4-4-12.",
  Binary: "Bytes as base64.",
};

/** What is wrong with a text for its type, in words for people; undefined: nothing. */
export function valueProblem({ type, value }: TypedValue): string | undefined {
  return isTextOf(type, value) ? undefined : expected[type];
}

/** What is wrong with the name of a property. The store knows which letters there are. */
export function nameProblem(name: string): string | undefined {
  if (name === "") return "A property needs a name.";
  if (/^(?:PartitionKey|RowKey|Timestamp|partitionKey|rowKey|timestamp|etag)$/.test(name)) {
    return `${name} is not a property's name to choose.`;
  }
  const letters = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*$/u;
  if (!letters.test(name)) return "Letters, digits and _ only, and no digit first.";
  return name.length <= 255 ? undefined : "At most 255 characters.";
}

/** As the value stands in a filter. */
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

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function hexOf(text: string): string {
  return Array.from(atob(text), (c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}
