// How far each key range has been read. The ranges may change between two processes.

import type { Draft, TableView } from "./draft.ts";
import type { ScanState } from "./hidden-tables.ts";
import type { KeyRange } from "./keys.ts";

/**
 * Returns the state of a range. That of another range with the same beginning is about other keys.
 * If it was larger, its watermark still holds, but not its positions.
 */
export function scanState(view: TableView, { from, to }: KeyRange): ScanState {
  const state = view.get("scans", from);
  if (state === undefined || state.to === to) return state ?? { to };
  const wasLarger = state.to === undefined || (to !== undefined && to < state.to);
  return wasLarger ? { to, watermark: state.watermark } : { to };
}

export function updateScanState(draft: Draft, range: KeyRange, changes: Partial<ScanState>): void {
  draft.put("scans", range.from, { ...scanState(draft, range), ...changes });
}
