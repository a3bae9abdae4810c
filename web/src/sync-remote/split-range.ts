// Divides a key range for readers that run in parallel. Nothing says how many entities a range has,
// so the first keys of a few prefixes are read, of one entity each: the prefixes become longer
// until there are enough of them.

import type { Key, KeyRange } from "../sync/keys.ts";

/** The first key of a range; undefined: it has none. */
export interface FirstKey {
  readonly kind: "key";
  readonly key: Key | undefined;
}

/** Other kinds: it cannot be read, though tried several times. */
export type ReadFirstKey = (range: KeyRange) => Promise<FirstKey | { readonly kind: string }>;

class Unreadable extends Error {}

const probesMax = 100;

/**
 * Returns ranges that together are the range: `count`, or fewer if the entities have few prefixes,
 * or if a key cannot be read. Only a sorted remote can be asked. Ends as soon as `isOver`, with any
 * ranges.
 */
export async function splitRange(
  firstKey: ReadFirstKey,
  range: KeyRange,
  count: number,
  isOver: () => boolean = () => false,
): Promise<KeyRange[]> {
  let probes = 0;
  const hasProbes = () => probes < probesMax && !isOver();
  const first = async (from: Key) => {
    probes += 1;
    const found = await firstKey({ ...range, from });
    if (found.kind !== "key") throw new Unreadable();
    return (found as FirstKey).key;
  };
  let starts: Key[] = [];
  try {
    const smallest = await first(range.from);
    for (let length = 1; length <= (smallest?.length ?? 0) && hasProbes(); ++length) {
      const found = await prefixesOf(first, smallest as Key, length, hasProbes);
      if (found.length > starts.length) starts = found;
      if (starts.length >= count) break;
    }
  } catch (error) {
    // The prefixes of the length before divide the range, too.
    if (!(error instanceof Unreadable)) throw error;
  }
  // The first range also has what is before the smallest key.
  const chosen = Array.from({ length: Math.min(count, starts.length) }, (_, at) =>
    Math.floor((at * starts.length) / Math.min(count, starts.length)),
  );
  const bounds = [range.from, ...chosen.slice(1).map((at) => starts[at] as Key)];
  return bounds.map((from, at) => ({ from, to: bounds[at + 1] ?? range.to }));
}

/** Returns the prefixes of the keys, in their order, as far as probes are left. */
async function prefixesOf(
  first: (from: Key) => Promise<Key | undefined>,
  smallest: Key,
  length: number,
  hasProbes: () => boolean,
): Promise<Key[]> {
  const prefixes: Key[] = [];
  for (let key: Key | undefined = smallest; key !== undefined; ) {
    const prefix = prefixOf(key, length);
    prefixes.push(prefix);
    if (!hasProbes()) break;
    const from = afterPrefix(prefix);
    key = from === undefined ? undefined : await first(from);
  }
  return prefixes;
}

/** Does not cut a surrogate pair in two: no URL can have half of one. */
function prefixOf(key: Key, length: number): Key {
  const prefix = key.slice(0, length);
  return /[\ud800-\udbff]$/.test(prefix) ? key.slice(0, length + 1) : prefix;
}

/**
 * Returns a text that is after all keys with the prefix, and not after any other key. Undefined:
 * there is none.
 */
function afterPrefix(prefix: Key): Key | undefined {
  const [last] = [...prefix].slice(-1);
  if (last === undefined) return undefined;
  const before = prefix.slice(0, -last.length);
  const next = codePointAfter(last.codePointAt(0) as number);
  return next === undefined ? afterPrefix(before) : before + String.fromCodePoint(next);
}

/**
 * In the order of UTF-16 code units, surrogate pairs are before U+E000. No key has the control
 * characters after "~", and services refuse them.
 */
function codePointAfter(point: number): number | undefined {
  if (point >= 0x7e && point < 0xa0) return 0xa0;
  if (point === 0xffff) return undefined;
  if (point === 0xd7ff) return 0x10000;
  return point === 0x10ffff ? 0xe000 : point + 1;
}
