// Seals what is not stored yet, hands it to the storage, and tells the engine how it went: one group at a time, in as many segments as suit
// the storage.
//
// If the storage can't say whether segments arrived, they stay *unsettled*: they are offered again, unchanged, until
// they are there (the same bytes under the same number are the same segment). That an offer after the first fails, for
// lack of room say, tells nothing of the first. Nothing else is stored before, so memory and disk never part ways.

import { StoreError, type StoreErrorCode } from "../errors.ts";
import { type LogStorage, type SegmentDurability, StorageError } from "../storage/log-storage.ts";
import type { Engine, SealedSegments } from "../wasm/engine.ts";
import type { LogSize } from "./log-growth.ts";

// What segments hold: writes of a candidate version (and everything published before), or published writes only.
export type SegmentContents = "candidate" | "published";

export type StoreOutcome =
  | { stored: true; size: LogSize }
  | { stored: false; error: Error; settled: boolean }; // settled: it is not there; a candidate in it is gone

// Called in the very turn in which the writer is idle again or what it has is unsettled: nothing that runs between could store or
// stage ahead of what is left of a group.
export type OnStoreEnded = (outcome: StoreOutcome) => void;

interface Attempt {
  sealed: SealedSegments | undefined; // not yet
  contents: SegmentContents;
  durability: SegmentDurability;
  mayBeStored: boolean; // an offer before ended without saying whether it arrived
}

export interface SegmentWriterOptions {
  engine: Pick<Engine, "seal" | "markStored" | "publish" | "discard">;
  storage: Pick<LogStorage, "addSegments" | "segmentBytes">;
}

export class SegmentWriter {
  readonly #engine: SegmentWriterOptions["engine"];
  readonly #storage: SegmentWriterOptions["storage"];
  #attempt: Attempt | undefined;
  #running = false;

  constructor(options: SegmentWriterOptions) {
    this.#engine = options.engine;
    this.#storage = options.storage;
  }

  // Nothing is being stored, nothing is unsettled.
  get idle(): boolean {
    return this.#attempt === undefined && !this.#running;
  }
  get running(): boolean {
    return this.#running;
  }
  // While it does, the engine can't stage.
  get holdsCandidate(): boolean {
    return this.#attempt?.contents === "candidate";
  }

  // REQUIRES: idle, and something to seal. On success the engine has published a candidate in it.
  store(contents: SegmentContents, durability: SegmentDurability, onEnded: OnStoreEnded): void {
    this.#attempt = { sealed: undefined, contents, durability, mayBeStored: false };
    void this.#attemptStore(this.#attempt, onEnded);
  }

  // Offers what is unsettled again. REQUIRES: neither idle nor running.
  settle(onEnded: OnStoreEnded): void {
    void this.#attemptStore(this.#attempt as Attempt, onEnded);
  }

  async #attemptStore(attempt: Attempt, onEnded: OnStoreEnded): Promise<void> {
    this.#running = true;
    const outcome = await this.#tryStore(attempt);
    this.#running = false;
    if (outcome.stored || outcome.settled) this.#attempt = undefined;
    onEnded(outcome);
  }

  // Runs up to the storage's own first wait in this very turn: on leaving a page there is no other.
  async #tryStore(attempt: Attempt): Promise<StoreOutcome> {
    const { contents, durability } = attempt;
    try {
      attempt.sealed ??= this.#seal();
      const { sequence, segments } = attempt.sealed;
      await this.#storage.addSegments(sequence, segments, durability);
      this.#engine.markStored(sequence + segments.length - 1);
      if (contents === "candidate") this.#engine.publish();
      const bytes = segments.reduce((sum, { length }) => sum + length, 0);
      return { stored: true, size: { segments: segments.length, bytes } };
    } catch (cause) {
      const error = toError(cause);
      attempt.mayBeStored ||= error instanceof StorageError && error.failure === "unknown";
      const settled = !attempt.mayBeStored || isFatal(error);
      if (settled && contents === "candidate" && !isFatal(error)) this.#engine.discard();
      return { stored: false, error, settled };
    }
  }

  #seal(): SealedSegments {
    const sealed = this.#engine.seal(this.#storage.segmentBytes);
    if (sealed === undefined) throw new Error("There was nothing to seal.");
    return sealed;
  }
}

// Errors after which the engine, the storage or both can't be trusted to go on. Lack of room or memory is not one, nor is
// not knowing, nor that the module's second half can't be had.
export function isFatal(error: Error): boolean {
  if (error instanceof StorageError) return error.isFatal;
  return !(error instanceof StoreError && transientCodes.has(error.code));
}

const transientCodes: ReadonlySet<StoreErrorCode> = new Set([
  "OutOfMemory",
  "WasmLoadFailed",
  "WasmVersionMismatch",
]);

export function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}
