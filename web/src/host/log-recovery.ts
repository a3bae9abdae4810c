// Recovers a stored log into an engine: manifest, parts, segments.

import { type LogReceiver, manifestName, segmentName } from "../storage/log-storage.ts";
import type { Engine } from "../wasm/engine.ts";

/**
 * Reads the log into the engine. `read` is the storage's load() or inspect(). Resolves to the ids
 * of parts that the manifest does not name.
 */
export async function recover(
  engine: Engine,
  read: (reader: LogReceiver) => Promise<number[]>,
): Promise<number[]> {
  let hasLog = false; // there is a manifest or a segment
  const orphans = await read({
    onManifest(bytes) {
      hasLog = bytes !== undefined;
      const parts = engine.recover(bytes).map(({ id }) => id);
      return { parts, firstSegment: engine.firstLiveSequence };
    },
    onPart(id, bytes) {
      engine.loadPart(id, bytes);
    },
    onSegment(sequence, bytes) {
      hasLog = true;
      if (bytes !== undefined) engine.replaySegment(sequence, bytes);
      else engine.reportDamage({ file: segmentName(sequence), message: "is not a file of bytes" });
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
