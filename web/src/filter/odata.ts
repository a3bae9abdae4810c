// The template tag `odata` for filters, which inserts values as literals of the filter language.

import { builtinKind, fromBase64 } from "../edm/edm.ts";

/**
 * Inserts values into a filter as literals: odata`Name eq ${"O'Neill"} and Age gt ${18}`. A string
 * is put in quotes, unless the template already has a quote before it.
 */
export function odata(strings: TemplateStringsArray, ...values: unknown[]): string {
  let filter = "";
  for (const [i, text] of strings.entries()) {
    filter += text;
    if (i < values.length) filter += literal(values[i], text);
  }
  return filter;
}

// Returns the value as a literal. `before`: the text of the template before the value.
export function literal(value: unknown, before: string): string {
  switch (typeof value) {
    case "string":
      // At the start of the template, a string is not quoted: it is the filter itself, not an
      // operand. The official function does the same.
      return before === "" || before.trim().endsWith("'")
        ? escapeQuotes(value)
        : quoteLiteral(value);
    case "bigint":
      return `${value}L`;
    case "undefined":
      throw noLiteralError(value);
    case "object":
      if (value === null) throw noLiteralError(value);
      return objectLiteral(value, before);
    default:
      return String(value);
  }
}

function objectLiteral(value: object, before: string): string {
  switch (builtinKind(value)) {
    case "date":
      return `datetime'${(value as Date).toISOString()}'`;
    case "bytes":
      return bytesLiteral(value as Uint8Array);
  }
  const typed = value as { type?: unknown; value?: unknown };
  if (typed.value === undefined || typed.value === null) return String(value);
  const text = String(typed.value);
  switch (typed.type) {
    case "String":
      return literal(text, before);
    case "Guid":
      return `guid'${text}'`;
    case "Int64":
      return `${text}L`;
    case "DateTime":
      return `datetime'${text}'`;
    case "Binary":
      return bytesLiteral(fromBase64(text));
    case "Double":
      // The service would read a Double without a decimal point as an Int32.
      return /^-?\d+$/.test(text) ? `${text}.0` : text;
    default:
      return text;
  }
}

function bytesLiteral(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `X'${hex}'`;
}

function escapeQuotes(text: string): string {
  return text.replaceAll("'", "''");
}

function quoteLiteral(text: string): string {
  return `'${escapeQuotes(text)}'`;
}

function noLiteralError(value: unknown): TypeError {
  return new TypeError(`odata: a property cannot be ${value}, so there is no literal for it.`);
}
