// Edm types (the service's property types) and JavaScript values: helpers that state a value's
// type, and the text forms of values.

import type { Edm, EdmTypes } from "../types.ts";
import { isBytes, isDate } from "../util/platform-objects.ts";
import { randomGuid } from "../util/random.ts";

// The type numbers of core/model/edm.h, used in messages and on disk. They never change.
export const edmTypeNumbers: Readonly<Record<EdmTypes, number>> = {
  String: 1,
  Binary: 2,
  Boolean: 3,
  DateTime: 4,
  Double: 5,
  Guid: 6,
  Int32: 7,
  Int64: 8,
};

// Creates values with an explicit type, for cases where the JavaScript type would imply another
// one: `edm.double(3)` is a Double, the number 3 an Int32. `edm.guid()` returns a random GUID.
export const edm = {
  int32: (n: number): Edm<"Int32"> => ({ type: "Int32", value: n }),
  int64: (n: bigint | number | string): Edm<"Int64"> => ({ type: "Int64", value: String(n) }),
  double: (n: number): Edm<"Double"> => ({ type: "Double", value: n }),
  guid: (text: string = randomGuid()): Edm<"Guid"> => ({ type: "Guid", value: text }),
  dateTime: (d: Date | string): Edm<"DateTime"> => ({
    type: "DateTime",
    value: typeof d === "string" ? d : d.toISOString(),
  }),
  binary: (b: Uint8Array | string): Edm<"Binary"> => ({
    type: "Binary",
    value: typeof b === "string" ? b : base64(b),
  }),
  string: (s: string): Edm<"String"> => ({ type: "String", value: s }),
  boolean: (b: boolean): Edm<"Boolean"> => ({ type: "Boolean", value: b }),
};

/** Encodes bytes as base64. */
export function base64(bytes: Uint8Array): string {
  let binary = "";
  const step = 8192; // fewer arguments than any engine's limit for a call
  for (let i = 0; i < bytes.length; i += step) {
    binary += String.fromCharCode(...bytes.subarray(i, i + step));
  }
  return btoa(binary);
}

/**
 * Decodes base64. Throws as atob does.
 * @internal
 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// Returns a DateTime as the service's text: the fraction has up to seven digits and no trailing
// zeros. `ticks`: the part below one millisecond, in units of 100 ns.
export function dateTimeText(milliseconds: number, ticks: number): string {
  const iso = new Date(milliseconds).toISOString(); // 2020-07-24T14:34:48.476Z
  const fraction = (iso.slice(20, 23) + String(ticks).padStart(4, "0")).replace(/0+$/, "");
  return fraction === "" ? `${iso.slice(0, 19)}Z` : `${iso.slice(0, 19)}.${fraction}Z`;
}

export function doubleText(n: number): string {
  return Object.is(n, -0) ? "-0" : String(n);
}

// Returns whether an object is a byte array or a date; undefined: neither.
export function builtinKind(value: object): "bytes" | "date" | undefined {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return undefined; // usual, so first
  if (isBytes(value)) return "bytes";
  return isDate(value) ? "date" : undefined;
}

// Returns the error for a value that has no Edm type. The message begins like the official
// client's.
export function unsupportedValueError(
  value: unknown,
  property: string,
  partitionKey: unknown,
  rowKey: unknown,
): TypeError {
  const kind = typeof value;
  const what = kind === "object" ? `a value of class ${className(value as object)}` : `a ${kind}`;
  return new TypeError(
    `Unknown EDM type ${kind}: property "${property}" of the entity with partitionKey ` +
      `${JSON.stringify(partitionKey)} and rowKey ${JSON.stringify(rowKey)} is ${what}. ` +
      "Store a string, number, boolean, bigint, Date or Uint8Array, or a { type, value } pair; " +
      "turn arrays and objects into text with JSON.stringify.",
  );
}
function className(value: object): string {
  return Object.getPrototypeOf(value)?.constructor?.name || "Object";
}
