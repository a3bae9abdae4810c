// What a page of a scan changes locally.

import { applyAnswer } from "./apply-answer.ts";
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
  const apply = expectRows(draft, rows) ? applyNew : applyAnswer;
  for (const { key, row } of rows) apply(draft, key, row, sentAt, keeps);
}

/**
 * Returns true only if no row, Base or mark of the page is there. The rows of an unsorted page are
 * read one by one.
 */
export function expectRows(draft: Draft, rows: readonly ScannedRow[]): boolean {
  const keys = rows.map(({ key }) => key);
  return keys.every((key, at) => at === 0 || key > (keys[at - 1] as Key)) && draft.expect(keys);
}

/** As applyAnswer(), for a key that has no row, Base or mark: most are, in a first download. */
function applyNew(
  draft: Draft,
  key: Key,
  row: ScannedRow["row"],
  sentAt: number,
  keeps: RowFilter,
): void {
  if (!keeps(key, row.properties)) return;
  if (draft.isTouchedSince(key, sentAt)) markKey(draft, key);
  else putCleanRow(draft, key, row);
}
