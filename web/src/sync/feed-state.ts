// What a feed of changes changes locally (PROTOCOL.md, Following a feed).

import { type Applied, applyAnswer } from "./apply-answer.ts";
import type { Draft } from "./draft.ts";
import type { FeedState, RemoteRow } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import { markVersion } from "./marks.ts";
import type { RowFilter } from "./partition-log.ts";

/** How far a feed was read. */
export type FeedProgress = Omit<FeedState, "isComplete"> & {
  /** Since the progress was stored, rows may have changed that the feed has not named. */
  readonly hasGap: boolean;
};

export function storeProgress(draft: Draft, { hasGap, ...progress }: FeedProgress): void {
  const stored = draft.get("feed", "state");
  const isComplete = !hasGap && stored?.isComplete === true;
  const isSame =
    stored?.position === progress.position &&
    stored.store === progress.store &&
    stored.scope === progress.scope &&
    stored.isComplete === isComplete;
  if (!isSame) draft.put("feed", "state", { ...progress, isComplete });
}

/**
 * Applies a change that the feed has brought. `sentAt`: a commit before which the local store knew
 * nothing newer about the key than the feed has brought now.
 */
export function applyFeedChange(
  draft: Draft,
  key: Key,
  row: RemoteRow | undefined,
  sentAt: number,
  keeps: RowFilter,
): Applied {
  const before = draft.get("marks", key);
  const applied = applyAnswer(draft, key, row, sentAt, keeps);
  // The key is perhaps being read, for a push or because it is marked, by a request that was sent
  // before this change.
  const isRead = draft.get("bases", key) !== undefined || before !== undefined;
  if (applied !== "marked" && !(applied === "known" && isRead)) return applied;
  markVersion(draft, key, row, before);
  return "marked";
}
