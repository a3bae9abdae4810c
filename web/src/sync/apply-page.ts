// What a page of a scan changes locally.

import { applyAnswer } from "./apply-answer.ts";
import type { Draft } from "./draft.ts";
import { isReceiptKey, type Key } from "./keys.ts";
import type { RowFilter } from "./partition-log.ts";
import type { ScannedRow } from "./remote.ts";

/** Applies a page of a scan that was sent at commit `sentAt`. Receipts are no rows of the table. */
export function applyPage(
  draft: Draft,
  page: readonly ScannedRow[],
  sentAt: number,
  keeps: RowFilter,
): void {
  const rows = page.filter(({ key }) => !isReceiptKey(key));
  expectRows(draft, rows);
  for (const { key, row } of rows) applyAnswer(draft, key, row, sentAt, keeps);
}

/** The rows of an unsorted page are read one by one. */
export function expectRows(draft: Draft, rows: readonly ScannedRow[]): void {
  const keys = rows.map(({ key }) => key);
  if (keys.every((key, at) => at === 0 || key > (keys[at - 1] as Key))) draft.expect(keys);
}
