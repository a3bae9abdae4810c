// What tests of sync over the real engine share.

import type { TableName } from "../../web/src/sync/hidden-tables.ts";
import type { Key } from "../../web/src/sync/keys.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import { places } from "../../web/src/sync-store/hidden-keys.ts";
import { type CheckpointEnd, type Engine, PartsNeeded } from "../../web/src/wasm/engine.ts";

/** All tables of sync. */
export const tables = ["rows", "bases", "outbox", ...Object.keys(places)] as readonly TableName[];

/** The operations that write these rows. undefined: the row is deleted. */
export const operationsOf = (rows: ReadonlyMap<Key, Properties | undefined>) =>
  [...rows].map(([key, properties]) => {
    const [partitionKey = "", rowKey = ""] = key.split("\0");
    if (properties === undefined)
      return { kind: "delete", partitionKey, rowKey, etag: "*" } as const;
    const entity = Object.fromEntries(properties);
    return { kind: "insertOrReplace", partitionKey, rowKey, entity } as const;
  });

/**
 * Makes a checkpoint, of which `parts` get the parts by id. Returns undefined if there is nothing
 * new. Otherwise, the caller stores the manifest and calls Engine.markCheckpointCommitted().
 */
export function checkpoint(
  engine: Engine,
  parts: Map<number, Uint8Array>,
  nowMs: number,
): CheckpointEnd | undefined {
  if (!engine.beginCheckpoint()) return undefined;
  for (;;) {
    const part = engine.nextCheckpointPart();
    if (part === undefined) return engine.finishCheckpoint({ bytes: 0, ageMs: 0 }, nowMs);
    if (part instanceof PartsNeeded) {
      for (const id of part.ids) engine.loadPartForCheckpoint(id, parts.get(id));
    } else {
      parts.set(part.id, part.bytes);
      engine.markCheckpointPartStored();
    }
  }
}
