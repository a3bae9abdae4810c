// Key ranges for prefixes, which a query can read without reading other rows.

import { requireText } from "./check.ts";

export interface PrefixRange {
  /** Inclusive: the prefix. */
  from: string;
  /** Exclusive. Absent if every key after `from` has the prefix. */
  to?: string;
}

/** Returns the range of the keys with this prefix. */
export function prefixRange(prefix: string): PrefixRange {
  requireText(prefix, "A prefix");
  // Increments the last character that has a successor, in the order of UTF-16 units: surrogate
  // pairs sort before U+E000.
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

// Returns the next code point in UTF-16 order: U+10000 follows U+D7FF, U+E000 follows U+10FFFF, and
// U+FFFF has no successor.
function nextCodePoint(point: number): number | undefined {
  if (point === 0xd7ff) return 0x10000;
  if (point === 0x10ffff) return 0xe000;
  return point === 0xffff ? undefined : point + 1;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
