// What a page of a scan changes locally.

import { applyAnswer, touchAbsentRow } from "./apply-answer.ts";
import type { Draft } from "./draft.ts";
import { isReceiptKey, type Key } from "./keys.ts";
import { markKey } from "./marks.ts";
import { putCleanRow, type RowFilter } from "./partition-log.ts";
import type { ScannedRow } from "./remote.ts";

/** Applies a page of a scan that was sent at commit `sentAt`. Receipts are no rows of the table. */
export function applyPage(
  draft: Draft,
  page: readonly ScannedRow[],
  sentAt: number,
  keeps: RowFilter,
): void {
  const rows = page.filter(({ key }) => !isReceiptKey(key));
  if (!expectRows(draft, rows)) {
    for (const { key, row } of rows) applyAnswer(draft, key, row, sentAt, keeps);
    return;
  }
  const [from, to] = [rows[0] as ScannedRow, rows.at(-1) as ScannedRow];
  const areUntouched = draft.areUntouchedSince(from.key, to.key, sentAt);
  for (const { key, row } of rows) {
    // As applyAnswer(), for keys that have no row, Base or mark: most are, in a first download.
    if (!keeps(key, row.properties)) touchAbsentRow(draft, key);
    else if (!areUntouched && draft.isTouchedSince(key, sentAt)) markKey(draft, key);
    else putCleanRow(draft, key, row);
  }
}

/**
 * Returns true only if no row, Base or mark of the page is there. The rows of an unsorted page are
 * read one by one.
 */
export function expectRows(draft: Draft, rows: readonly ScannedRow[]): boolean {
  const keys = rows.map(({ key }) => key);
  return keys.every((key, at) => at === 0 || key > (keys[at - 1] as Key)) && draft.expect(keys);
}
