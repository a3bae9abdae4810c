// Recovers a stored log into an engine: manifest, parts, segments.

import {
  type LogReceiver,
  type LogStorage,
  manifestName,
  segmentName,
} from "../storage/log-storage.ts";
import { freeBytes } from "../util/free-bytes.ts";
import type { Engine } from "../wasm/engine.ts";
import type { SpaceReserve } from "./space-reserve.ts";

/**
 * Reads the log into the engine. `read` is the storage's load() or inspect(). Resolves to the ids
 * of parts that the manifest does not name. Once changes take more than `changesMax` bytes of
 * memory (0: no limit), the rest of the log is only checked (Engine.firstUnappliedSegment).
 */
export async function recover(
  engine: Engine,
  read: (reader: LogReceiver) => Promise<number[]>,
  changesMax: number,
): Promise<number[]> {
  let hasLog = false; // there is a manifest or a segment
  const orphans = await read({
    onManifest(bytes) {
      hasLog = bytes !== undefined;
      const parts = engine.recover(bytes, changesMax).map(({ id }) => id);
      const { firstLiveSequence, firstKeptSequence } = engine;
      return { parts, firstSegment: firstLiveSequence, historyFrom: firstKeptSequence };
    },
    onPart(id, bytes) {
      engine.loadPart(id, bytes);
      if (bytes !== undefined) freeBytes(bytes);
    },
    onSegment(sequence, bytes) {
      hasLog = true;
      replay(engine, sequence, bytes);
    },
  });
  // A checkpoint removes segments only after a manifest is stored. Parts without any manifest or
  // segment are therefore not left from an unfinished checkpoint: the rest of the store was lost.
  if (!hasLog && orphans.length > 0) {
    engine.reportDamage({ file: manifestName, message: "is missing" });
  }
  engine.finishRecovery();
  return orphans;
}

/**
 * Replays a segment and frees its bytes. `bytes` undefined: it is missing or cannot be read, which
 * is damage.
 */
export function replay(engine: Engine, sequence: number, bytes: Uint8Array | undefined): void {
  if (bytes === undefined) {
    engine.reportDamage({ file: segmentName(sequence), message: "is not a file of bytes" });
    return;
  }
  engine.replaySegment(sequence, bytes);
  freeBytes(bytes);
}

/**
 * Claims the log: adds a segment that makes this store its owner (storage/FENCING.md). It may use
 * the reserve of the storage.
 */
export async function claimLog(
  engine: Pick<Engine, "makeClaimSegment" | "markStored">,
  storage: Pick<LogStorage, "claim">,
  space: Pick<SpaceReserve, "storeClaim">,
): Promise<void> {
  const { sequence, bytes } = engine.makeClaimSegment();
  await space.storeClaim(() => storage.claim(sequence, bytes));
  engine.markStored(sequence);
}
