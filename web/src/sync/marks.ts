// Keys that must be read again (PROTOCOL.md, Terms). A mark has the number of the commit that set
// it, so that an older answer never removes a newer mark.

import type { Draft } from "./draft.ts";
import type { Key } from "./keys.ts";

export function markKey(draft: Draft, key: Key): void {
  draft.put("marks", key, { at: draft.nextCommit });
}
