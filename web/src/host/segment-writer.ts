// Seals unstored commits (encodes them as segments), stores the segments, and reports the outcome
// to the engine. Stores one group of commits at a time, in as many segments as suit the storage.
//
// Segments are *unsettled* if the storage cannot tell whether they were stored. They are then
// offered to the storage again, unchanged, until it confirms them; storing the same bytes under the
// same number again is harmless. If such a retry fails, for example for lack of space, the first
// attempt may still have succeeded. Nothing else is stored until then, so that memory and disk stay
// consistent.

import { StoreError, type StoreErrorCode } from "../errors.ts";
import { type LogStorage, type SegmentDurability, StorageError } from "../storage/log-storage.ts";
import { freeBytes } from "../util/free-bytes.ts";
import { toError } from "../util/platform-objects.ts";
import type { Engine, SealedSegments } from "../wasm/engine.ts";
import type { LogSize } from "./log-growth.ts";
import type { SpaceReserve } from "./space-reserve.ts";

// What segments hold. "candidate": the candidate version (staged writes) and everything published
// before it. "published": only published writes.
export type SegmentContents = "candidate" | "published";

export type StoringOutcome =
  | { stored: true; size: LogSize }
  // settled: it is certain that nothing was stored, and the candidate was discarded.
  | { stored: false; error: Error; settled: boolean };

// Called in the same turn of the event loop in which storing ended. No other write can therefore be
// staged or stored before the callback has handled the outcome.
export type OnStoringEnded = (outcome: StoringOutcome) => void;

interface Attempt {
  readonly mayUseReserve: boolean;
  sealed: SealedSegments | undefined; // undefined: not sealed yet
  contents: SegmentContents;
  durability: SegmentDurability;
  mayBeStored: boolean; // an earlier attempt may have stored the segments
}

export interface SegmentWriterOptions {
  engine: Pick<Engine, "seal" | "markStored" | "publish" | "discard">;
  storage: Pick<LogStorage, "addSegments" | "segmentBytes">;
  space: Pick<SpaceReserve, "storeSegments" | "isFull">;
}

export class SegmentWriter {
  readonly #engine: SegmentWriterOptions["engine"];
  readonly #storage: SegmentWriterOptions["storage"];
  readonly #space: SegmentWriterOptions["space"];
  #attempt: Attempt | undefined;
  #isStoring = false;
  #whenNotStoring: Promise<void> = Promise.resolve();

  constructor(options: SegmentWriterOptions) {
    this.#engine = options.engine;
    this.#storage = options.storage;
    this.#space = options.space;
  }

  // Whether no segments are being stored or unsettled.
  get isIdle(): boolean {
    return this.#attempt === undefined && !this.#isStoring;
  }

  // Whether segments are being stored.
  get isStoring(): boolean {
    return this.#isStoring;
  }

  // Resolves when no segments are being stored, and onEnded was called.
  get whenNotStoring(): Promise<void> {
    return this.#whenNotStoring;
  }

  // Whether the segments in progress hold the candidate version. The engine cannot stage writes
  // then.
  get blocksStaging(): boolean {
    return this.#attempt?.contents === "candidate";
  }

  // Seals and stores everything that `contents` names. On success, the engine publishes the
  // candidate version if there is one. `mayUseReserve`: of the storage. REQUIRES: the writer is
  // idle, and there is something to seal.
  sealAndStore(
    contents: SegmentContents,
    durability: SegmentDurability,
    mayUseReserve: boolean,
    onEnded: OnStoringEnded,
  ): void {
    const about = { contents, durability, mayUseReserve };
    this.#attempt = { ...about, sealed: undefined, mayBeStored: false };
    this.#whenNotStoring = this.#attemptStore(this.#attempt, onEnded);
  }

  // Offers the unsettled segments to the storage again. REQUIRES: there are unsettled segments, and
  // no attempt is running.
  retryUnsettled(onEnded: OnStoringEnded): void {
    this.#whenNotStoring = this.#attemptStore(this.#attempt as Attempt, onEnded);
  }

  async #attemptStore(attempt: Attempt, onEnded: OnStoringEnded): Promise<void> {
    this.#isStoring = true;
    const outcome = await this.#tryStore(attempt);
    this.#isStoring = false;
    if (outcome.stored || outcome.settled) this.#attempt = undefined;
    onEnded(outcome);
  }

  // Seals and stores. Calls the storage in the current turn of the event loop, because a closing
  // page gets no further turn.
  async #tryStore(attempt: Attempt): Promise<StoringOutcome> {
    const { contents, durability } = attempt;
    // Nothing else can be stored, not even a delete, until it is known whether the segments are.
    const mayUseReserve = attempt.mayUseReserve || attempt.mayBeStored;
    try {
      attempt.sealed ??= this.#seal();
      const { sequence, segments } = attempt.sealed;
      const store = () => this.#storage.addSegments(sequence, segments, durability);
      await this.#space.storeSegments(store, mayUseReserve);
      this.#engine.markStored(sequence + segments.length - 1);
      if (contents === "candidate") this.#engine.publish();
      const bytes = segments.reduce((sum, { length }) => sum + length, 0);
      for (const segment of segments) freeBytes(segment);
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
    // A single large segment takes up no space if it is rejected (space-reserve.ts).
    const segmentBytes = this.#space.isFull ? undefined : this.#storage.segmentBytes;
    const sealed = this.#engine.seal(segmentBytes);
    if (sealed === undefined) throw new Error("There was nothing to seal.");
    return sealed;
  }
}

// Whether the engine or the storage cannot be trusted after this error. Not fatal are a lack of
// space or memory, an unknown outcome, and a deferred module that could not be loaded.
export function isFatal(error: Error): boolean {
  if (error instanceof StorageError) return error.isFatal;
  return !(error instanceof StoreError && transientCodes.has(error.code));
}

const transientCodes: ReadonlySet<StoreErrorCode> = new Set([
  "OutOfMemory",
  "WasmLoadFailed",
  "WasmVersionMismatch",
]);
