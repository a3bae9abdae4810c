// Looks whether all that is stored can be read back, by opening the log once more beside the store that is in use.

import type { LogStorage } from "../storage/log-storage.ts";
import type { FileCount, StoreDamage, VerifyReport } from "../types.ts";
import type { Engine } from "../wasm/engine.ts";
import { recover } from "./log-recovery.ts";

export interface VerifyOptions {
  engine: Pick<Engine, "complete" | "fresh" | "verify">; // of the store in use
  storage: Pick<LogStorage, "inspect">;
}

/**
 * Every file is read back and decoded by an engine of its own, which takes about the memory of the store until it is done; checked are also
 * the invariants of both indexes. Rejects with StoreError OutOfMemory, FormatTooNew, or as the storage and Engine.complete() do.
 */
export async function verify({ engine, storage }: VerifyOptions): Promise<VerifyReport> {
  const files = { manifest: none(), parts: none(), segments: none() };
  const damage: StoreDamage[] = [];
  const check = (index: string, wrong: string) => {
    if (wrong !== "") damage.push({ file: index, message: wrong });
  };
  await engine.complete();
  check("index in use", engine.verify());
  const second = await engine.fresh();
  try {
    const orphans = await recover(second, (reader) =>
      storage.inspect({
        manifest(bytes) {
          note(files.manifest, bytes);
          return reader.manifest(bytes);
        },
        part(id, bytes) {
          note(files.parts, bytes);
          reader.part(id, bytes);
        },
        segment(sequence, bytes) {
          note(files.segments, bytes);
          return reader.segment(sequence, bytes);
        },
      }),
    );
    damage.push(...second.damage());
    check("index as stored", second.verify());
    return { ok: damage.length === 0, files, damage, orphans: orphans.length };
  } finally {
    second.close();
  }
}

function none(): FileCount {
  return { count: 0, bytes: 0 };
}

function note(files: FileCount, bytes: Uint8Array | undefined): void {
  if (bytes === undefined) return;
  files.count += 1;
  files.bytes += bytes.length;
}
