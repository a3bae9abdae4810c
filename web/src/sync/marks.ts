// Keys that must be read again (PROTOCOL.md, Terms). A mark has the number of the commit that set
// it, so that an older answer never removes a newer mark.

import type { Draft } from "./draft.ts";
import type { Mark, RemoteRow } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";

export function markKey(draft: Draft, key: Key): void {
  draft.put("marks", key, { at: draft.nextCommit });
}

const versionOf = (row: RemoteRow | undefined): string => row?.etag ?? "";

/**
 * A feed has brought this version. If the client itself has just written it, its push brings the
 * same news, so the mark names the version. `before`: the key's mark before. If that names none, it
 * may be about another version, so it stays as it is.
 */
export function markVersion(
  draft: Draft,
  key: Key,
  row: RemoteRow | undefined,
  before: Mark | undefined,
): void {
  const isNamed = before === undefined || before.etag !== undefined;
  draft.put("marks", key, { at: draft.nextCommit, etag: isNamed ? versionOf(row) : undefined });
}

/** An answer to a request that was sent at commit `sentAt` has brought this version. */
export function clearMark(
  draft: Draft,
  key: Key,
  row: RemoteRow | undefined,
  sentAt: number,
): void {
  const mark = draft.get("marks", key);
  if (mark === undefined) return;
  if (mark.at <= sentAt || mark.etag === versionOf(row)) draft.delete("marks", key);
}
