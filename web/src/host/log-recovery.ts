// A stored log into an engine: manifest, parts, segments.

import { type LogReader, manifestName, segmentName } from "../storage/log-storage.ts";
import type { Engine } from "../wasm/engine.ts";

/** `read` is the storage's load() or inspect(). Resolves to the parts that no manifest names. */
export async function recover(
  engine: Engine,
  read: (reader: LogReader) => Promise<number[]>,
): Promise<number[]> {
  let began = false; // there is a manifest or a segment
  const orphans = await read({
    manifest(bytes) {
      began = bytes !== undefined;
      const parts = engine.recover(bytes).map(({ id }) => id);
      return { parts, firstSegment: engine.firstLiveSequence };
    },
    part(id, bytes) {
      engine.loadPart(id, bytes);
    },
    segment(sequence, bytes) {
      began = true;
      if (bytes !== undefined) engine.replay(sequence, bytes);
      else engine.reportDamage({ file: segmentName(sequence), message: "is not a file of bytes" });
    },
  });
  // Segments go only when a manifest covers them: parts by themselves are what is left of a store, not of a checkpoint.
  if (!began && orphans.length > 0) {
    engine.reportDamage({ file: manifestName, message: "is missing" });
  }
  engine.finishRecovery();
  return orphans;
}
