// Timestamps and ETags of rows as sync has them: units of 100 ns since 1970.

import type { Ticks } from "../sync/hidden-tables.ts";
import { ticksOfDateTime } from "../sync/value.ts";

const ticksPerMs = 10_000n;
/** The store counts from the year 1. */
export const storeTicksAtEpoch = 621_355_968_000_000_000n;

/** REQUIRES: the text is a Timestamp of the store. */
export const ticksOf = (text: string): Ticks => ticksOfDateTime(text) as Ticks;

// Many entities are written within one second.
let last = { second: 0n, text: "" };

/** The ETag of a row with this Timestamp, unless the remote has its own. */
export function etagOf(ticks: Ticks): string {
  const fraction = ((ticks % 10_000_000n) + 10_000_000n) % 10_000_000n;
  const second = ticks - fraction;
  if (last.text === "" || last.second !== second) last = { second, text: textOfSecond(second) };
  const digits = String(fraction).padStart(7, "0").replace(/0+$/, "");
  return `${last.text}${digits && `.${digits}`}Z'"`;
}

const textOfSecond = (second: Ticks): string => {
  const text = new Date(Number(second / ticksPerMs)).toISOString().slice(0, 19);
  return `W/"datetime'${text.replaceAll(":", "%3A")}`;
};
