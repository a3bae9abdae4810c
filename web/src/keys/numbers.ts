// Numbers and times as texts that sort as they do.

import { invalidKeyError } from "./check.ts";

/**
 * A whole number with zeros before it, so that "009" sorts before "010". Throws RangeError for a number that is negative, has a fraction, or
 * has more digits than that.
 */
export function paddedNumber(n: number | bigint, width: number): string {
  if (!Number.isInteger(width) || width < 1 || width > 512) {
    throw new RangeError(`A number is padded to 1 to 512 digits, not to ${width}.`);
  }
  if (
    typeof n === "number" ? !Number.isSafeInteger(n) || n < 0 : !(typeof n === "bigint" && n >= 0n)
  ) {
    throw new RangeError(
      `Only whole numbers from 0 on sort as padded text, not ${String(n)}; beyond 2⁵³ they are given as a bigint.`,
    );
  }
  const text = String(n).padStart(width, "0");
  if (text.length > width) throw new RangeError(`${n} has more than ${width} digits.`);
  return text;
}

/** The number that a text of digits stands for. Throws RangeError if it is none, or beyond 2⁵³: BigInt(text) reads that. */
export function parsePaddedNumber(text: string): number {
  const n = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(n)) return n;
  throw invalidKeyError("paddedNumber (of a number)", text);
}

// Ticks are 100 ns since the first day of the year 1, as .NET and the design guide of the Table service count them.
const ticksMax = 3155378975999999999n; // the last of the year 9999
const ticksAt1970 = 621355968000000000n;
const ticksPerMs = 10000n;

/**
 * A time as 19 digits that sort the latest first: a log whose newest entries are read without reading the others. Throws RangeError outside of the
 * years 1 to 9999.
 */
export function invertedTicks(time: Date | number): string {
  const ms = millisecondsOf(time);
  const ticks = ticksAt1970 + BigInt(ms) * ticksPerMs;
  if (ticks < 0n || ticks > ticksMax) {
    throw new RangeError(`Ticks are counted in the years 1 to 9999: ${isoOf(ms)}.`);
  }
  return String(ticksMax - ticks).padStart(19, "0");
}

/** The time of an inverted tick, of other makers' too; what is below a millisecond is left out. Throws RangeError if it is none. */
export function parseInvertedTicks(text: string): Date {
  const ticks = /^\d{19}$/.test(text) ? ticksMax - BigInt(text) : -1n;
  if (ticks < 0n) throw invalidKeyError("invertedTicks", text);
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
 * The year, month, day … (in UTC) that a time is in, as digits that sort as time goes: 20261121 for a day. A key, or part of one, for all
 * that happens in it; and as there are nothing but digits in it, good in a table's name too. Throws RangeError outside of the years 0 to 9999.
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

/** The moment at which the year, month, day … of a time key begins. Throws RangeError if it is none. */
export function parseTimeKey(key: string): Date {
  const unit = (Object.keys(digitsOf) as TimeUnit[]).find((u) => digitsOf[u] === key.length);
  const all = key + "00000101000000000".slice(key.length);
  const iso = all.replace(/^(.{4})(..)(..)(..)(..)(..)(...)$/, "$1-$2-$3T$4:$5:$6.$7Z");
  const time = new Date(iso);
  if (unit === undefined || Number.isNaN(time.getTime()) || timeKey(time, unit) !== key) {
    throw invalidKeyError("timeKey", key);
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
