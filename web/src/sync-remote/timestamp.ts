// Timestamps of the remote as ticks, from and to its texts.

import { dateTimeText } from "../edm/edm.ts";
import type { Ticks } from "../sync/hidden-tables.ts";
import { ticksOfDateTime } from "../sync/value.ts";

const ticksPerMs = 10_000n;

/** All seven digits: a text with fewer would be earlier. */
export function timestampText(ticks: Ticks): string {
  const time = ticks < 0n ? 0n : ticks;
  return dateTimeText(Number(time / ticksPerMs), Number(time % ticksPerMs));
}

/** Returns undefined if the ETag does not have the service's form. */
export function timestampOfETag(etag: string): Ticks | undefined {
  const [, text] = /^W\/"datetime'(.+)'"$/.exec(etag) ?? [];
  return text === undefined ? undefined : ticksOfDateTime(text.replace(/%3A/gi, ":"));
}

/** Returns undefined if the text is no HTTP date. */
export function ticksOfHttpDate(text: string): Ticks | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * ticksPerMs;
}
