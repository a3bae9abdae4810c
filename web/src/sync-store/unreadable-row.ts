// A hidden row that this version of the package cannot read: it is damaged, or a later version has
// written it. Sync must not go on as if it were absent (core/log/FORMAT.md, "Hidden tables").

import { StoreError } from "../errors.ts";
import type { RowKey } from "./hidden-keys.ts";

export function unreadableRow(table: string, { partitionKey, rowKey }: RowKey): StoreError {
  const key = JSON.stringify([partitionKey, rowKey]);
  const message = `Sync cannot read the row ${key} of its table "${table}".`;
  const hint = "Open the store with the newest version of the package that has written it.";
  return new StoreError("Corrupted", message, { hint });
}
