// Key ranges for prefixes. A query with such a range reads no other rows.

import { requireText } from "./check.ts";

export interface PrefixRange {
  /** Inclusive. Equals the prefix. */
  from: string;
  /** Exclusive. Absent if all keys from `from` on have the prefix. */
  to?: string;
}

/** Returns the range of all keys that begin with the prefix. */
export function prefixRange(prefix: string): PrefixRange {
  requireText(prefix, "A prefix");
  // The end of the range is the prefix with its last character replaced by the next one. If that
  // character has no successor, it is dropped and the one before it is replaced.
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  for (;;) {
    const last = points.pop();
    if (last === undefined) return { from: prefix };
    const next = nextCodePoint(last);
    if (next !== undefined) return { from: prefix, to: String.fromCodePoint(...points, next) };
  }
}

/** Returns the range as part of a $filter: `RowKey ge 'empid!' and RowKey lt 'empid"'`. */
export function rangeFilter(key: "PartitionKey" | "RowKey", { from, to }: PrefixRange): string {
  const bounds = [`${key} ge ${literal(from)}`];
  if (to !== undefined) bounds.push(`${key} lt ${literal(to)}`);
  return bounds.join(" and ");
}

// Returns the next code point in the order of UTF-16 units, in which surrogate pairs sort before
// U+E000. U+FFFF is the last one and has no successor.
function nextCodePoint(point: number): number | undefined {
  if (point === 0xd7ff) return 0x10000;
  if (point === 0x10ffff) return 0xe000;
  return point === 0xffff ? undefined : point + 1;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
