// Encodes numbers and times as text that sorts in the same order.

import { keyDecodeError } from "./check.ts";

/**
 * Returns a whole number padded with zeros to `width` digits, so that "009" sorts before "010".
 * Throws RangeError for a number that is negative, has a fraction, or has too many digits.
 */
export function paddedNumber(n: number | bigint, width: number): string {
  if (!Number.isInteger(width) || width < 1 || width > 512) {
    throw new RangeError(`A number is padded to 1 to 512 digits, not to ${width}.`);
  }
  if (
    typeof n === "number" ? !Number.isSafeInteger(n) || n < 0 : !(typeof n === "bigint" && n >= 0n)
  ) {
    throw new RangeError(
      `Only non-negative whole numbers sort as padded text, not ${String(n)}; ` +
        "pass numbers beyond 2⁵³ as a bigint.",
    );
  }
  const text = String(n).padStart(width, "0");
  if (text.length > width) throw new RangeError(`${n} has more than ${width} digits.`);
  return text;
}

/**
 * Parses a padded number. Throws RangeError for other text, and for numbers of 2⁵³ or more; use
 * BigInt(text) for those.
 */
export function parsePaddedNumber(text: string): number {
  const n = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(n)) return n;
  throw keyDecodeError("paddedNumber (of a number)", text);
}

// Ticks are units of 100 ns since the first day of year 1, as in .NET and in the Table service's
// design guide.
const ticksMax = 3155378975999999999n; // the last tick of year 9999
const ticksAt1970 = 621355968000000000n;
const ticksPerMs = 10000n;

/**
 * Returns a time as 19 digits that sort the latest time first. With such keys, the newest entries
 * of a log can be read without reading the older ones. Throws RangeError outside the years 1 to
 * 9999.
 */
export function invertedTicks(time: Date | number): string {
  const ms = millisecondsOf(time);
  const ticks = ticksAt1970 + BigInt(ms) * ticksPerMs;
  if (ticks < 0n || ticks > ticksMax) {
    throw new RangeError(`Ticks are counted in the years 1 to 9999: ${isoOf(ms)}.`);
  }
  return String(ticksMax - ticks).padStart(19, "0");
}

/**
 * Returns the time of inverted ticks, rounded down to milliseconds. Other programs' inverted ticks
 * can be parsed too. Throws RangeError for other text.
 */
export function parseInvertedTicks(text: string): Date {
  const ticks = /^\d{19}$/.test(text) ? ticksMax - BigInt(text) : -1n;
  if (ticks < 0n) throw keyDecodeError("invertedTicks", text);
  return new Date(Number(ticks / ticksPerMs - ticksAt1970 / ticksPerMs));
}

export type TimeUnit = "year" | "month" | "day" | "hour" | "minute" | "second" | "millisecond";

const digitsOf: Readonly<Record<TimeUnit, number>> = {
  year: 4,
  month: 6,
  day: 8,
  hour: 10,
  minute: 12,
  second: 14,
  millisecond: 17,
};

/**
 * Returns a time as digits that sort chronologically, down to `unit` and in UTC: 20261121 for a
 * day. The result can be a key, part of a key, or part of a table name. Throws RangeError outside
 * the years 0 to 9999.
 */
export function timeKey(time: Date | number, unit: TimeUnit): string {
  const length = digitsOf[unit];
  if (length === undefined) {
    throw new RangeError(`A time key is of a ${Object.keys(digitsOf).join(", ")}, not of ${unit}.`);
  }
  const iso = isoOf(millisecondsOf(time));
  if (!/^\d{4}-/.test(iso)) throw new RangeError(`A time key has a year of four digits: ${iso}.`);
  return iso.replace(/\D/g, "").slice(0, length);
}

/**
 * Returns the start of the period (the year, month, day …) that a time key names. Throws RangeError
 * for other text.
 */
export function parseTimeKey(key: string): Date {
  const unit = (Object.keys(digitsOf) as TimeUnit[]).find((u) => digitsOf[u] === key.length);
  const all = key + "00000101000000000".slice(key.length);
  const iso = all.replace(/^(.{4})(..)(..)(..)(..)(..)(...)$/, "$1-$2-$3T$4:$5:$6.$7Z");
  const time = new Date(iso);
  if (unit === undefined || Number.isNaN(time.getTime()) || timeKey(time, unit) !== key) {
    throw keyDecodeError("timeKey", key);
  }
  return time;
}

function millisecondsOf(time: Date | number): number {
  const ms = new Date(time).getTime();
  if (Number.isNaN(ms)) throw new RangeError(`This is no time: ${String(time)}.`);
  return ms;
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
