// Opens a log whose changes do not fit in memory at once. Segments are applied until their changes
// fill half of the memory limit; the rest of the log is only checked. Then this owner claims the
// log, a checkpoint stores the changes, and further segments are applied, until the log ends.
//
// A crash in between leaves a log that starts with the last manifest: each checkpoint covers
// exactly the segments that were applied. The claim is the last segment, and is applied like the
// others.

import { StoreError } from "../errors.ts";
import { fencedError, type LogStorage, StorageError } from "../storage/log-storage.ts";
import type { Clock } from "../types.ts";
import type { Engine } from "../wasm/engine.ts";
import { Checkpointer } from "./checkpointer.ts";
import { claimLog, replay } from "./log-recovery.ts";
import { PartLoader } from "./part-loader.ts";
import type { SpaceReserve } from "./space-reserve.ts";

export interface LimitedRecoveryOptions {
  name: string; // of the store
  engine: Engine;
  storage: LogStorage;
  memoryLimit: number; // of rows, in bytes
  clock: Pick<Clock, "now">;
  space: Pick<SpaceReserve, "storeClaim" | "storeForCheckpoint" | "isFull">;
  isOwner: () => boolean; // false: another owner may have claimed the log; nothing more is stored
}

type CheckpointStorage = Pick<LogStorage, "putPart" | "commitManifest" | "deleteParts">;

/**
 * Returns the memory that changes may take before a checkpoint stores them. Merging changes into
 * their parts takes up to the same amount again. 0: no limit.
 */
export function changesMaxFor(memoryLimit: number): number {
  return Math.ceil(memoryLimit / 2);
}

/**
 * Claims the log and applies the segments that recover() has only checked. `orphans` are the stored
 * parts that no manifest names; resolves to those that are left. REQUIRES: the engine has such
 * segments and is not damaged. Rejects with errors of the storage, and with StoreErrors Corrupted
 * and OutOfMemory.
 */
export async function applyUnappliedSegments(
  options: LimitedRecoveryOptions,
  orphans: readonly number[],
): Promise<readonly number[]> {
  const { engine, storage } = options;
  const checkpointer = checkpointerFor(options, orphans);
  try {
    await claimLog(engine, storage, options.space);
    checkpointer.allowCheckpoints();
    while (engine.firstUnappliedSegment !== undefined) {
      await checkpointer.compact();
      await applyMore(options, engine.firstUnappliedSegment);
    }
    return checkpointer.orphans;
  } catch (error) {
    throw openingError(options.name, error);
  } finally {
    await checkpointer.stop();
  }
}

/** The error of an opening that would have to write a checkpoint, but cannot. */
export function logTooLargeError(name: string, why: string, hint: string): StoreError {
  const message = `The log of the store "${name}" needs more memory than memoryLimit: ${why}.`;
  return new StoreError("OutOfMemory", message, { hint });
}

async function applyMore(
  { engine, storage, memoryLimit }: LimitedRecoveryOptions,
  first: number,
): Promise<void> {
  engine.resumeRecovery(changesMaxFor(memoryLimit));
  await storage.readSegments(first, (sequence, bytes) => {
    replay(engine, sequence, bytes);
    return engine.firstUnappliedSegment === sequence + 1;
  });
  if (engine.firstUnappliedSegment === first) replay(engine, first, undefined);
  engine.finishRecovery();
  if (engine.isDamaged && engine.firstUnappliedSegment !== undefined) throw damagedError(engine);
}

// The log was intact when it was read first, but no longer.
function damagedError(engine: Engine): StoreError {
  const [damage] = engine.damage();
  return new StoreError("Corrupted", `The log is damaged: ${damage?.file} ${damage?.message}.`);
}

// Stores nothing once this owner is replaced. If the outcome of storing a manifest is unknown, it
// is not stored again: the opening fails, and the next one decides.
function storageWhileOwner({ storage, isOwner }: LimitedRecoveryOptions): CheckpointStorage {
  let lastManifest: Uint8Array | undefined;
  const requireOwner = () => {
    if (!isOwner()) throw fencedError("nothing yet, but has the lock");
  };
  return {
    async putPart(id, bytes) {
      requireOwner();
      await storage.putPart(id, bytes);
    },
    async commitManifest(manifest, obsolete) {
      requireOwner();
      if (manifest === lastManifest) throw new StorageError("gone", "The manifest may be stored.");
      lastManifest = manifest;
      await storage.commitManifest(manifest, obsolete);
    },
    deleteParts: (ids) => storage.deleteParts(ids),
  };
}

function checkpointerFor(
  options: LimitedRecoveryOptions,
  orphans: readonly number[],
): Checkpointer {
  return new Checkpointer({
    ...options,
    storage: storageWhileOwner(options),
    parts: new PartLoader({ ...options, onDamage() {} }),
    orphans,
    memory: { isFull: false, update() {}, allowWrites() {} },
    automatic: false,
    onFailure() {},
    onCheckpoint() {},
  });
}

function openingError(name: string, error: unknown): unknown {
  if (error instanceof StoreError && error.code === "Corrupted") {
    const why = "a damaged store writes no checkpoint";
    const hint = `Open it with a larger memoryLimit, or 0, to read the rest. ${error.message}`;
    return logTooLargeError(name, why, hint);
  }
  if (error instanceof StorageError && error.failure === "quota") {
    const message = `Opening the store "${name}" writes a checkpoint, for which space is missing.`;
    const hint = "Free space, or open the store with a larger memoryLimit.";
    return new StoreError("QuotaExceeded", message, { cause: error, hint });
  }
  return error;
}
