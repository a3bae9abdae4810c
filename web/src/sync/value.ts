// Values of properties as the service's data model compares them. A remote may return another text
// than it was sent: an Int64 without leading zeros, a DateTime in UTC and without trailing zeros, a
// Guid in lower case.

import type { Edm, EdmTypes } from "../types.ts";

export type Value = Edm<EdmTypes>;

/** Double NaN equals itself, and -0 differs from 0, because the service stores all 64 bits. */
export function isSameValue(a: Value | undefined, b: Value | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.type !== b.type) return false;
  return Object.is(a.value, b.value) || canonical(a) === canonical(b);
}

/** Equal values of a type have the same text. */
export function canonical({ type, value }: Value): string {
  const text = Object.is(value, -0) ? "-0" : String(value);
  if (type === "Guid") return text.toLowerCase();
  if (type === "Int64")
    return /^[+-]?\d+$/.test(text) ? String(BigInt(text.replace("+", ""))) : text;
  if (type === "DateTime") return String(ticksOfDateTime(text) ?? text);
  return text;
}

const dateTime = /^(.+?:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?$/;

// Many entities are written within one second: the ticks of the last one in UTC.
let last = { text: "", ticks: 0n };
const digitsOfSecond = "2000-01-01T00:00:00".length;

/** In units of 100 ns. Without an offset, it is UTC. Undefined: the text is no DateTime. */
export function ticksOfDateTime(text: string): bigint | undefined {
  if (last.text !== "" && text.startsWith(last.text)) {
    const rest = fractionOfSecond.exec(text.slice(digitsOfSecond));
    if (rest) return last.ticks + fractionTicks(rest[1] ?? "");
  }
  const [, seconds = "", fraction = "", offset = "Z"] = dateTime.exec(text) ?? [];
  const ms = Date.parse(seconds + offset);
  if (Number.isNaN(ms)) return undefined;
  const ticks = BigInt(ms) * 10_000n;
  if (offset === "Z" && seconds.length === digitsOfSecond) last = { text: seconds, ticks };
  return ticks + fractionTicks(fraction);
}

const fractionOfSecond = /^(?:\.(\d+))?Z$/;

const fractionTicks = (digits: string): bigint => BigInt(digits.slice(0, 7).padEnd(7, "0"));
