// All keys that begin with something, as a range of keys: what a query can read without looking at others.

import { requireText } from "./check.ts";

export interface PrefixRange {
  /** Inclusive: the prefix. */
  from: string;
  /** Exclusive; absent if every key after `from` begins with it. */
  to?: string;
}

/** The range of the keys that begin with this. */
export function prefixRange(prefix: string): PrefixRange {
  requireText(prefix, "A prefix");
  // The last character that one can follow is raised to that one, in the order of UTF-16 units: pairs sort before U+E000.
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  for (;;) {
    const last = points.pop();
    if (last === undefined) return { from: prefix };
    const next = nextCodePoint(last);
    if (next !== undefined) return { from: prefix, to: String.fromCodePoint(...points, next) };
  }
}

/** The range as part of a $filter: `RowKey ge 'empid!' and RowKey lt 'empid"'`. */
export function rangeFilter(key: "PartitionKey" | "RowKey", { from, to }: PrefixRange): string {
  const bounds = [`${key} ge ${literal(from)}`];
  if (to !== undefined) bounds.push(`${key} lt ${literal(to)}`);
  return bounds.join(" and ");
}

// Of code points, the next one as UTF-16 units sort: U+10000 comes after U+D7FF, U+E000 after U+10FFFF, nothing after U+FFFF.
function nextCodePoint(point: number): number | undefined {
  if (point === 0xd7ff) return 0x10000;
  if (point === 0x10ffff) return 0xe000;
  return point === 0xffff ? undefined : point + 1;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
