// The key ranges of a table that are read in parallel. They stay the same across processes, because
// what a range has read is stored with its bounds.

import type { TableView } from "../sync/draft.ts";
import { type KeyRange, type Partition, partitionRange } from "../sync/keys.ts";
import type { Remote } from "../sync/remote.ts";
import { updateScanState } from "../sync/scan-state.ts";
import type { SyncStore } from "../sync/store.ts";

/** Divides the keys of the remote. Sends no more requests when `isOver`. */
export type Split = (
  whole: KeyRange,
  count: number,
  isOver: () => boolean,
) => Promise<readonly KeyRange[]>;

export interface RangeOptions {
  readonly store: SyncStore;
  readonly remote: Remote;
  readonly split: Split;
  /** Only these are synced. Undefined: all. */
  readonly partitions: readonly Partition[] | undefined;
}

export const rangesOfTable = 4;
/** A table with more pages is divided. */
export const undividedPages = 8;
const whole: KeyRange = { from: "" };

/** Returns the ranges that the table has now. */
export const rangesKnown = (
  view: TableView,
  partitions: RangeOptions["partitions"],
): readonly KeyRange[] => (partitions ? ofPartitions(partitions) : (storedRanges(view) ?? [whole]));

export async function rangesOf(options: RangeOptions): Promise<readonly KeyRange[]> {
  const { partitions, store } = options;
  if (partitions) return ofPartitions(partitions);
  const stored = await store.read(storedRanges);
  if (stored) return stored;
  const ranges = await firstRanges(options);
  if (ranges === undefined) return [whole]; // the next process can divide them
  await store.transact((draft) => {
    for (const range of ranges) updateScanState(draft, range, {});
  });
  return ranges;
}

const ofPartitions = (partitions: readonly Partition[]): KeyRange[] =>
  [...new Set(partitions)].sort(byCodeUnit).map(partitionRange);

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the ranges of an earlier process, if they are all keys. */
function storedRanges(view: TableView): KeyRange[] | undefined {
  const ranges: KeyRange[] = [];
  let next: string | undefined = whole.from;
  for (const [from, { to }] of view.entries("scans", "")) {
    if (from !== next) continue; // of other ranges, such as single partitions
    ranges.push({ from, to });
    next = to;
  }
  return ranges.length > 0 && next === undefined ? ranges : undefined;
}

/**
 * Dividing takes tens of requests, one after the other. A small table is read completely before
 * that, and stays whole. One that cannot be asked for a key's successor stays whole, too.
 */
async function firstRanges({
  remote,
  split,
}: RangeOptions): Promise<readonly KeyRange[] | undefined> {
  if (!remote.traits.isSorted) return [whole];
  const first = await keysAfter(remote, undefined);
  if (first === undefined) return undefined;
  if (first.token === undefined) return [whole];
  let isOver = false;
  const divided = split(whole, rangesOfTable, () => isOver);
  const isSmall = endsSoon(remote, first.token, () => isOver);
  const either = Promise.race([divided, isSmall.then((is) => (is ? [whole] : divided))]);
  return await either.finally(() => {
    isOver = true;
  });
}

/** Returns whether the pages after the first one are few. */
async function endsSoon(remote: Remote, after: string, isOver: () => boolean): Promise<boolean> {
  let token: string | undefined = after;
  for (let pages = 1; pages < undividedPages && !isOver(); ++pages) {
    const page = await keysAfter(remote, token);
    if (page === undefined) return false;
    ({ token } = page);
    if (token === undefined) return true;
  }
  return false;
}

/** Returns a page of keys. Undefined: it cannot be read. */
async function keysAfter(remote: Remote, token: string | undefined) {
  const request = { range: whole, keysOnly: true, isFiltered: false, token, needsOrder: true };
  const page = await remote.scan(request);
  return page.kind === "page" ? page : undefined;
}
