// Verifies that everything stored can be read back: opens the log a second time, in another engine,
// while the store stays open. Loaded with the first call.

import type { LogStorage } from "../storage/log-storage.ts";
import type { FileCount, StoreDamage, VerifyReport } from "../types.ts";
import type { Engine } from "../wasm/engine.ts";
import type { logTooLargeError } from "./limited-recovery.ts";
import type { recover } from "./log-recovery.ts";

export interface VerifyOptions {
  name: string; // of the store in use
  engine: Pick<Engine, "loadDeferredModule" | "createEmptyEngine" | "verify">;
  storage: Pick<LogStorage, "readWhileInUse">;
  memoryLimit: number; // of rows, in bytes; 0: none
  // What every page has loaded (StoreHandle.import() explains why it is passed).
  recover: typeof recover;
  logTooLargeError: typeof logTooLargeError;
}

// How much memory parts may take in the second engine, which needs each part only once.
const partsBytesMax = 4 * 1024 * 1024;

/**
 * Reads every file and decodes it in a second engine, and checks the invariants of both engines'
 * indexes. The second engine keeps few parts in memory, but the changes of the log may take twice
 * the memory limit: a change can make a whole part unsaved that in the first engine is an overlay.
 * Of what segments hold only for readers of the change feed, it checks nothing but the checksum.
 * Rejects with StoreError OutOfMemory or FormatTooNew, and with errors of the storage and of
 * Engine.loadDeferredModule().
 */
export async function verify({
  name,
  engine,
  storage,
  memoryLimit,
  recover,
  logTooLargeError,
}: VerifyOptions): Promise<VerifyReport> {
  const files = { manifest: noFiles(), parts: noFiles(), segments: noFiles() };
  const damage: StoreDamage[] = [];
  const addDamageIf = (index: string, wrong: string) => {
    if (wrong !== "") damage.push({ file: index, message: wrong });
  };
  await engine.loadDeferredModule("snapshot");
  addDamageIf("index in use", engine.verify());
  const second = await engine.createEmptyEngine();
  try {
    const orphans = await recover(
      second,
      (reader) =>
        storage.readWhileInUse({
          onManifest(bytes) {
            countFile(files.manifest, bytes);
            second.setMemoryLimit(partsBytesMax);
            return reader.onManifest(bytes);
          },
          onPart(id, bytes) {
            countFile(files.parts, bytes);
            reader.onPart(id, bytes);
          },
          onSegment(sequence, bytes) {
            countFile(files.segments, bytes);
            // Segments load no part, and no unloading can free their changes.
            second.setMemoryLimit(0);
            return reader.onSegment(sequence, bytes);
          },
        }),
      2 * memoryLimit,
    );
    damage.push(...second.damage());
    if (second.firstUnappliedSegment !== undefined && damage.length === 0) {
      const why = "verifying reads it into a second index of at most twice that size";
      throw logTooLargeError(name, why, "Call compact() first, which shortens the log.");
    }
    addDamageIf("index as stored", second.verify());
    return { ok: damage.length === 0, files, damage, orphans: orphans.length };
  } finally {
    second.close();
  }
}

function noFiles(): FileCount {
  return { count: 0, bytes: 0 };
}

function countFile(files: FileCount, bytes: Uint8Array | undefined): void {
  if (bytes === undefined) return;
  files.count += 1;
  files.bytes += bytes.length;
}
