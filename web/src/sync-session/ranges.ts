// The key ranges of a table that are read in parallel. They stay the same across processes, because
// what a range has read is stored with its bounds.

import type { TableView } from "../sync/draft.ts";
import { type KeyRange, type Partition, partitionRange } from "../sync/keys.ts";
import type { Remote } from "../sync/remote.ts";
import { updateScanState } from "../sync/scan-state.ts";
import type { SyncStore } from "../sync/store.ts";

/** Divides the keys of the remote. */
export type Split = (whole: KeyRange, count: number) => Promise<readonly KeyRange[]>;

export interface RangeOptions {
  readonly store: SyncStore;
  readonly remote: Remote;
  readonly split: Split;
  /** Only these are synced. Undefined: all. */
  readonly partitions: readonly Partition[] | undefined;
}

export const rangesOfTable = 4;
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

/** A table of one page is not divided, nor one that cannot be asked for a key's successor. */
async function firstRanges({
  remote,
  split,
}: RangeOptions): Promise<readonly KeyRange[] | undefined> {
  if (!remote.traits.isSorted) return [whole];
  const request = { range: whole, keysOnly: true, isFiltered: false, needsOrder: true };
  const page = await remote.scan(request);
  if (page.kind !== "page") return undefined;
  if (page.token === undefined) return [whole];
  return await split(whole, rangesOfTable);
}
