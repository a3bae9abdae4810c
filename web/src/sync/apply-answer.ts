// What an answer of the remote about one entity changes locally (PROTOCOL.md, Pulling).

import { baseProperties, isAtBase } from "./base.ts";
import type { Draft } from "./draft.ts";
import type { RemoteRow } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import { clearMark, markKey } from "./marks.ts";
import { isUnread, putCleanRow, type RowFilter } from "./partition-log.ts";
import { areSameProperties } from "./properties.ts";

/**
 * "known": the store has it. "applied": the row was changed. "marked": it will be read again,
 * because the key is dirty, or was changed after the request had been sent.
 */
export type Applied = "known" | "applied" | "marked";

/**
 * Applies the remote's answer to a request that was sent at commit `sentAt`. The newer of two
 * answers is the one whose request was sent later, never the one with the greater Timestamp: an
 * entity that was deleted and created again can have a smaller one.
 */
export function applyAnswer(
  draft: Draft,
  key: Key,
  row: RemoteRow | undefined,
  sentAt: number,
  keeps: RowFilter,
): Applied {
  const base = draft.get("bases", key);
  const isDirty = base !== undefined && !isUnread(draft, key);
  if (isDirty) {
    if (isAtBase(base, row) && areSameProperties(baseProperties(base), row?.properties)) {
      return "known";
    }
    markKey(draft, key);
    return "marked";
  }
  const kept = row && keeps(key, row.properties) ? row : undefined;
  if (base === undefined && isLocalRow(draft, key, kept)) {
    if (kept === undefined) touchAbsentRow(draft, key);
    clearMark(draft, key, row, sentAt);
    return "known";
  }
  if (draft.isTouchedSince(key, sentAt)) {
    markKey(draft, key);
    return "marked";
  }
  if (base) draft.delete("bases", key);
  putCleanRow(draft, key, kept);
  clearMark(draft, key, row, sentAt);
  return "applied";
}

/**
 * Counts as a change of the key. An older answer that has the entity may still be on its way: of a
 * row that is here, it would not be older, because it was asked for after the row had come.
 */
export const touchAbsentRow = (draft: Draft, key: Key): void => draft.delete("rows", key);

/**
 * Compares the content too, because it costs nothing here and Azurite gives two versions of an
 * entity the same ETag if they are written within one millisecond. The Timestamp can be that of the
 * answer to a push, if the remote's ETags do not have it.
 */
function isLocalRow(draft: Draft, key: Key, row: RemoteRow | undefined): boolean {
  const local = draft.get("rows", key);
  return (
    local?.version?.etag === row?.etag &&
    local?.version?.timestamp === row?.timestamp &&
    (local === undefined) === (row === undefined) &&
    areSameProperties(local?.properties, row?.properties)
  );
}

/** A census has returned the key with this ETag. "marked": the entity must be read. */
export function compareVersion(draft: Draft, key: Key, etag: string): Applied {
  const base = draft.get("bases", key);
  const known = base ? base.kind === "row" && base.row.etag : draft.get("rows", key)?.version?.etag;
  if (known === etag) return "known";
  markKey(draft, key);
  return "marked";
}
