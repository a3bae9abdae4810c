// How much entitable/sync adds to a page that opens a store.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeOfSync } from "../support/size-of-sync.ts";

// The glue of newer versions of Emscripten compresses differently together with it.
const allMax = process.env["ENTITABLE_ANY_VERSION"] === undefined ? 41_984 : 42_496;

test("entitable/sync adds at most 2.5 KB to the first load, and 41 KB in all", async (t) => {
  const added = await sizeOfSync();
  t.diagnostic(JSON.stringify(added));
  assert(added.first > 0 && added.first <= 2560, `${added.first} bytes at first`);
  assert(added.all > added.first && added.all <= allMax, `${added.all} bytes in all`);
  assert(added.worker > 100 && added.worker <= 3072, `${added.worker} bytes for stores in workers`);
  assert(added.options > 500 && added.options <= 2560, `${added.options} bytes for options`);
  const { consistent } = added;
  assert(consistent > 500 && consistent <= 3072, `${consistent} bytes for whole partitions`);
  // Loaded if the remote has a feed of changes.
  assert(added.feed > 1000 && added.feed <= 5120, `${added.feed} bytes for feeds`);
});
