// A member of a push that changes nothing, for any remote.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Base, Member } from "../../../web/src/sync/hidden-tables.ts";
import { keyOf } from "../../../web/src/sync/keys.ts";
import type { Properties } from "../../../web/src/sync/properties.ts";
import { areSameProperties } from "../../../web/src/sync/properties.ts";
import type { Remote } from "../../../web/src/sync/remote.ts";

/** It is accepted as long as the entity has its version, and keeps the entity's content. */
export async function checkUnchangedEntity(remote: Remote): Promise<void> {
  const partition = randomUUID();
  const key = keyOf(partition, "1");
  const intended: Properties = new Map([["name", { type: "String", value: "Bow" }]]);
  const push = (base: Base) => {
    const members: Member[] = [{ key, base, intended }];
    const name = { partition, token: randomUUID(), upTo: 1, groups: 1, idleKeys: [] };
    return remote.push({ ...name, members }, Number.POSITIVE_INFINITY);
  };
  assert.equal((await push({ kind: "absent" })).kind, "applied");
  const read = await remote.read(key);
  assert(read.kind === "found");
  const unchanged: Base = { kind: "row", row: read.row };
  assert.equal((await push(unchanged)).kind, "applied");
  const again = await remote.read(key);
  assert(again.kind === "found" && areSameProperties(again.row.properties, intended));
  assert.notEqual(again.row.etag, read.row.etag);
  const refused = await push(unchanged);
  assert(refused.kind === "refused" && refused.status === 412 && refused.index === 0);
}
