// Continues where a seed ends, in the thread with the store.

import { updateScanState } from "../sync/scan-state.ts";
import type { SyncStore } from "../sync/store.ts";
import type { SeedRange } from "./seed.ts";

/**
 * The scans of the ranges continue those of the seed: its rows are those of the remote, and all
 * writes since they were restored are recorded. Does nothing if the table was read since.
 */
export function adoptRanges(store: SyncStore, ranges: readonly SeedRange[]): Promise<void> {
  return store.transact((draft) => {
    if ([...draft.entries("scans", "")].length > 0) return;
    for (const { from, to, watermark } of ranges)
      updateScanState(draft, { from, to }, { watermark });
  });
}
