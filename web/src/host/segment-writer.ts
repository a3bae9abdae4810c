// Seals what is not stored yet, hands it to the storage, and tells the engine how it went: one group at a time, in as many segments as suit
// the storage.
//
// If the storage can't say whether segments arrived, they stay *unsettled*: they are offered again, unchanged, until
// they are there (the same bytes under the same number are the same segment). That an offer after the first fails, for
// lack of room say, tells nothing of the first. Nothing else is stored before, so memory and disk never part ways.

import { StoreError, type StoreErrorCode } from "../errors.ts";
import { type LogStorage, type SegmentDurability, StorageError } from "../storage/log-storage.ts";
import type { Engine, Sealed } from "../wasm/engine.ts";
import type { LogSize } from "./log-growth.ts";

// What segments hold: writes of a candidate version (and everything published before), or published writes only.
export type Holding = "candidate" | "published";

export type Outcome =
  | { stored: true; size: LogSize }
  | { stored: false; error: Error; settled: boolean }; // settled: it is not there; a candidate in it is gone

// Called in the very turn in which the writer is idle again or what it has is unsettled: nothing that runs between could store or
// stage ahead of what is left of a group.
export type Over = (outcome: Outcome) => void;

interface Attempt {
  sealed: Sealed | undefined; // not yet
  holds: Holding;
  durability: SegmentDurability;
  mayBeThere: boolean; // an offer before ended without saying whether it arrived
}

export interface SegmentWriterOptions {
  engine: Pick<Engine, "seal" | "stored" | "publish" | "discard">;
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
    return this.#attempt?.holds === "candidate";
  }

  // REQUIRES: idle, and something to seal. On success the engine has published a candidate in it.
  store(holds: Holding, durability: SegmentDurability, over: Over): void {
    this.#attempt = { sealed: undefined, holds, durability, mayBeThere: false };
    void this.#offer(this.#attempt, over);
  }

  // Offers what is unsettled again. REQUIRES: neither idle nor running.
  settle(over: Over): void {
    void this.#offer(this.#attempt as Attempt, over);
  }

  async #offer(attempt: Attempt, over: Over): Promise<void> {
    this.#running = true;
    const outcome = await this.#outcome(attempt);
    this.#running = false;
    if (outcome.stored || outcome.settled) this.#attempt = undefined;
    over(outcome);
  }

  // Runs up to the storage's own first wait in this very turn: on leaving a page there is no other.
  async #outcome(attempt: Attempt): Promise<Outcome> {
    const { holds, durability } = attempt;
    try {
      attempt.sealed ??= this.#seal();
      const { sequence, segments } = attempt.sealed;
      await this.#storage.addSegments(sequence, segments, durability);
      this.#engine.stored(sequence + segments.length - 1);
      if (holds === "candidate") this.#engine.publish();
      const bytes = segments.reduce((sum, { length }) => sum + length, 0);
      return { stored: true, size: { segments: segments.length, bytes } };
    } catch (cause) {
      const error = asError(cause);
      attempt.mayBeThere ||= error instanceof StorageError && error.failure === "unknown";
      const settled = !attempt.mayBeThere || isFinal(error);
      if (settled && holds === "candidate" && !isFinal(error)) this.#engine.discard();
      return { stored: false, error, settled };
    }
  }

  #seal(): Sealed {
    const sealed = this.#engine.seal(this.#storage.segmentBytes);
    if (sealed === undefined) throw new Error("There was nothing to seal.");
    return sealed;
  }
}

// Errors after which the engine, the storage or both can't be trusted to go on. Lack of room or memory is not one, nor is
// not knowing, nor that the module's second half can't be had.
export function isFinal(error: Error): boolean {
  if (error instanceof StorageError) return error.final;
  return !(error instanceof StoreError && passing.has(error.code));
}

const passing: ReadonlySet<StoreErrorCode> = new Set([
  "OutOfMemory",
  "WasmLoadFailed",
  "WasmVersionMismatch",
]);

export function asError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}
