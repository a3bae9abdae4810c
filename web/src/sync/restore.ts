// Makes an operation again that lost a conflict, as a new local write.

import { baseOfLocalRow } from "./base.ts";
import { applyChange, changeBetween } from "./change.ts";
import type { Draft } from "./draft.ts";
import type { Lost } from "./hidden-tables.ts";
import { partitionOf } from "./keys.ts";
import { outboxKey } from "./partition-log.ts";
import type { Properties } from "./properties.ts";

/**
 * The write has the effect of the operation on the row as it is now: an edit changes the properties
 * that it changed before, and creates the row again if it is gone. Without an effect, there is no
 * write. `id`: the key of the lost operation.
 */
export function restoreLost(draft: Draft, id: string): void {
  const lost = draft.get("lost", id);
  if (lost === undefined) return;
  draft.delete("lost", id);
  const { key } = lost.op;
  const row = draft.get("rows", key);
  const after = restored(lost, row?.properties);
  const change = changeBetween(row?.properties, after);
  if (change === undefined) return;
  if (draft.get("bases", key) === undefined) draft.put("bases", key, baseOfLocalRow(row));
  const number = draft.nextNumber();
  const op = { number, group: draft.nextCommit, key, change };
  draft.put("outbox", outboxKey(partitionOf(key), number), op);
  if (after === undefined) draft.delete("rows", key);
  else draft.put("rows", key, { properties: after });
}

function restored({ local, op }: Lost, row: Properties | undefined): Properties | undefined {
  if (op.change.kind === "delete") return undefined;
  if (op.change.kind === "create") return op.change.properties;
  return row === undefined ? local : applyChange(row, op.change);
}
