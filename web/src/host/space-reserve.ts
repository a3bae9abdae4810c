// Keeps a reserve in the storage (storage/storage-reserve.ts), so that a full store can be emptied.
// When the storage has no space left, writes that only delete, and checkpoints, use the reserve
// entry by entry. Other writes are rejected. A checkpoint frees the space of what was deleted, and
// then the reserve is filled again. While the storage is full, a checkpoint replaces its parts in
// rounds (checkpointer.ts), so it needs space for the parts of one round, and for the rows that the
// log adds to the parts.
//
// After a write was rejected for lack of space, later ones are tried only if there is space for
// another entry, because a rejected write may itself take up space for a while.

import { type LogStorage, StorageError } from "../storage/log-storage.ts";
import { reserveEntryBytes } from "../storage/storage-reserve.ts";

// The reserve suffices for the rows that the log adds to parts and for one round of a checkpoint,
// but for no more than checkpointBytesMax, which is more than the log of most stores may have
// (log-growth.ts). Further entries are for segments, and one is for the manifest. A store with less
// than storedBytesMin has no reserve.
const storedBytesMin = 1024 * 1024;
const checkpointBytesMax = 32 * 1024 * 1024;
const roundBytesMax = 1024 * 1024;
const roundShare = 1 / 2; // in a small store, this share of the rows
const segmentEntries = 4;
// A reserve that is larger than needed shrinks only if it is also larger than this share of the
// store: the log grows again.
const keptShare = 1 / 16;
const partOverhead = 1.1; // the size of part files compared with that of their rows
const fillStepBytes = 512 * 1024; // stored since the reserve was last filled

// About how many bytes the rows have, and the segments since the last checkpoint.
export interface StoreSize {
  rows: number;
  log: number;
}

export interface SpaceReserveOptions {
  reserve: LogStorage["reserve"]; // undefined: the storage has none
  size: () => StoreSize;
}

export interface Checkpoints {
  bytesNeeded(): number; // about how much space a checkpoint needs now
  // Starts a checkpoint, unless one is running. Resolves when it has ended, or when it waits for
  // the storage.
  startForSpace(): Promise<void>;
  readonly isRunning: boolean;
}

export class SpaceReserve {
  readonly #options: SpaceReserveOptions;
  #checkpoints: Checkpoints | undefined;
  #entries: number | undefined; // undefined: not known yet
  #isFull = false; // a write was rejected for lack of space, and none was stored since
  #storedSinceFill = 0;
  #filling: Promise<void> | undefined;
  #uses = 0; // writes that are using the reserve; it is not filled meanwhile
  #isStopped = false;
  // The last change of the reserve; changes run one at a time.
  #changing: Promise<unknown> = Promise.resolve();

  constructor(options: SpaceReserveOptions) {
    this.#options = options;
  }

  // Bytes in the reserve, as far as known.
  get bytes(): number {
    return (this.#entries ?? 0) * reserveEntryBytes;
  }

  // Resolves to the bytes in the reserve; 0 if the storage does not say.
  async measure(): Promise<number> {
    await this.#count().catch(() => {});
    return this.bytes;
  }

  // Whether a write was rejected for lack of space, and none was stored since. False if the storage
  // has no reserve.
  get isFull(): boolean {
    return this.#isFull;
  }

  // From now on, segments that use the reserve start a checkpoint.
  useCheckpoints(checkpoints: Checkpoints): void {
    this.#checkpoints = checkpoints;
  }

  // Ends filling.
  stop(): void {
    this.#isStopped = true;
  }

  // ---- Storing ----------------------------------------------------------------------------------

  // Stores segments by calling `store`, in the current turn of the event loop if it can. Rejects
  // with its error.
  async storeSegments(store: () => Promise<void>, mayUseReserve: boolean): Promise<void> {
    if (this.#isFull && !mayUseReserve) await this.#requireFreeSpace();
    if (!mayUseReserve) return await this.#tryStore(store, async () => false);
    const checkpoints = this.#checkpoints;
    let checkpointsAwaited = 0;
    let hasReleased = false;
    await this.#tryStore(store, async () => {
      // One that is running frees space soon. Without the wait, many deletes in different parts
      // would make the next checkpoint larger than the reserve.
      const isFirst = checkpointsAwaited === 0 && this.#shouldAwaitCheckpoint();
      if (!isFirst && (await this.#release(this.#entriesForNextCheckpoint()))) {
        hasReleased = true;
        return true;
      }
      if (checkpoints === undefined || ++checkpointsAwaited > 2) return false;
      const isLikelyToSucceed = checkpoints.isRunning || this.#suffices(checkpoints.bytesNeeded());
      if (!isLikelyToSucceed && checkpointsAwaited > 1) return false;
      await checkpoints.startForSpace();
      return true;
    });
    if (hasReleased) this.#startCheckpoint();
  }

  // Whether segments wait for a checkpoint before they use the reserve: one is running, or only the
  // entries for segments are left. With them, a checkpoint is tried though the reserve may not
  // suffice for it: other space may be free, and without one, the deletes free none.
  #shouldAwaitCheckpoint(): boolean {
    if (this.#checkpoints === undefined) return false;
    if (this.#checkpoints.isRunning) return true;
    return this.#entries !== undefined && this.#entries <= segmentEntries;
  }

  // Never throws: the caller's segments are stored.
  #startCheckpoint(): void {
    try {
      const checkpoints = this.#checkpoints;
      if (checkpoints !== undefined && this.#suffices(checkpoints.bytesNeeded()))
        void checkpoints.startForSpace();
    } catch {
      // The engine is broken. The next write reports this.
    }
  }

  // Stores a claim, with which a store opens.
  async storeClaim(store: () => Promise<void>): Promise<void> {
    await this.#tryStore(store, () => this.#release(0));
  }

  // Stores a part or the manifest of a checkpoint. `bytesNeeded`: about how much space the
  // checkpoint still needs. If the reserve does not suffice for that, some of it is left for
  // segments: the checkpoint may fail.
  async storeForCheckpoint(store: () => Promise<void>, bytesNeeded: () => number): Promise<void> {
    await this.#tryStore(store, async () => {
      await this.#count();
      return await this.#release(this.#suffices(bytesNeeded()) ? 0 : segmentEntries);
    });
  }

  #suffices(bytes: number): boolean {
    return bytes === 0 || entriesForCheckpoint(bytes) <= (this.#entries ?? 0);
  }

  // What segments must leave in the reserve. If it does not suffice for a checkpoint, segments may
  // use all of it.
  #entriesForNextCheckpoint(): number {
    const bytes = this.#checkpoints?.bytesNeeded() ?? 0;
    return this.#suffices(bytes) ? entriesForCheckpoint(bytes) : 0;
  }

  // Calls `store` until it succeeds, or until `makeSpace` resolves to false after it failed for
  // lack of space.
  async #tryStore(store: () => Promise<void>, makeSpace: () => Promise<boolean>): Promise<void> {
    let unknownOutcome: unknown; // a later failure does not make the outcome known
    this.#uses += 1;
    try {
      for (let step = 0; ; ) {
        const error = await store().then(
          () => undefined,
          (cause: unknown) => cause,
        );
        if (error === undefined) return;
        if (error instanceof StorageError && error.isFatal) throw error;
        if (error instanceof StorageError && error.failure === "unknown") unknownOutcome ??= error;
        const reason = unknownOutcome ?? error;
        if (!isLackOfSpace(error)) throw reason;
        if (this.#options.reserve === undefined) throw reason;
        this.#isFull = true;
        const goesOn = await this.#takeStep(step++, makeSpace).catch((cause: unknown) => {
          throw unknownOutcome ?? cause;
        });
        if (!goesOn) throw reason;
      }
    } finally {
      this.#uses -= 1;
    }
  }

  // Does what the storage suggests after its failure number `step`, from 0. Resolves to false if
  // there is nothing more to do.
  async #takeStep(step: number, makeSpace: () => Promise<boolean>): Promise<boolean> {
    const { stepsAfterFailure = [] } = this.#options.reserve ?? {};
    const next = (this.#isStopped ? undefined : stepsAfterFailure[step]) ?? "release";
    if (next === "release") return await makeSpace();
    if (next > 0) await new Promise((resolve) => setTimeout(resolve, next));
    await this.#remeasure();
    return true;
  }

  #remeasure(): Promise<void> {
    return this.#change(async (reserve) => {
      await reserve.remeasure?.();
      return this.#entries ?? (await reserve.size());
    });
  }

  // Resolves if there is space for more than the reserve; otherwise rejects with "quota".
  async #requireFreeSpace(): Promise<void> {
    if (this.#options.reserve === undefined) return;
    await this.#remeasure();
    const kept = Math.max(this.#target(), this.#entries ?? 0);
    await this.#resizeTo(kept + 1);
    if ((this.#entries ?? 0) <= kept)
      throw new StorageError("quota", "There is no space for this write.");
    await this.#resizeTo(kept);
    this.#isFull = false;
  }

  // Frees an entry if there are more than `keep`. Resolves to whether it did. Counts the entries
  // again: another process or tab may have released some while it waited for this owner.
  async #release(keep: number): Promise<boolean> {
    await this.#change((reserve) => reserve.size());
    const entries = this.#entries ?? 0;
    if (entries <= keep) return false;
    await this.#resizeTo(entries - 1);
    return (this.#entries ?? 0) < entries;
  }

  // ---- Filling ----------------------------------------------------------------------------------

  // Must be called when segments of this size were stored.
  onStored(bytes: number): void {
    this.#storedSinceFill += bytes;
    if (this.#storedSinceFill < fillStepBytes) return;
    this.#storedSinceFill = 0;
    void this.fill();
  }

  // Fills the reserve of a store that was opened, if the store is large enough for one.
  fillAfterOpening(): void {
    if (this.#target() > 0) void this.fill();
  }

  // Gives the reserve the size that suits the store, as far as there is space. If there is more,
  // the storage is no longer full. Never rejects: the next write reports what is wrong.
  fill(): Promise<void> {
    if (this.#options.reserve === undefined) return Promise.resolve();
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  async #fill(): Promise<void> {
    try {
      await this.#count();
      const target = this.#target();
      const kept = (keptShare * this.#options.size().rows) / reserveEntryBytes;
      if ((this.#entries ?? 0) > Math.max(2 * target, kept)) await this.#resizeTo(target);
      // One at a time, so that writes can be stored in between.
      while (!this.#isStopped && !this.#isInUse && (this.#entries ?? 0) < target) {
        const wanted = (this.#entries ?? 0) + 1;
        await this.#resizeTo(wanted);
        if ((this.#entries ?? 0) < wanted) break;
      }
      const isFilled = !this.#isStopped && !this.#isInUse && (this.#entries ?? 0) >= target;
      if (this.#isFull && isFilled) await this.#requireFreeSpace();
    } catch {
      // See above.
    }
  }

  // Whether a write waits for space that filling would take away.
  get #isInUse(): boolean {
    return this.#isFull && this.#uses > 0;
  }

  #target(): number {
    const { rows, log } = this.#options.size();
    if (Math.max(rows, log) < storedBytesMin) return 0;
    const round = Math.min(roundBytesMax, roundShare * rows);
    const bytes = Math.min(checkpointBytesMax, rows, log + round);
    return segmentEntries + entriesForCheckpoint(bytes);
  }

  #count(): Promise<void> {
    return this.#change(async (reserve) => this.#entries ?? (await reserve.size()));
  }

  #resizeTo(entries: number): Promise<void> {
    return this.#change((reserve) => reserve.resize(entries));
  }

  async #change(
    change: (reserve: NonNullable<LogStorage["reserve"]>) => Promise<number>,
  ): Promise<void> {
    const { reserve } = this.#options;
    if (reserve === undefined) return;
    const changing = this.#changing.then(() => change(reserve));
    this.#changing = changing.catch(() => {});
    try {
      this.#entries = await changing;
    } catch (error) {
      this.#entries = undefined;
      throw withKnownOutcome(error);
    }
  }
}

function entriesForCheckpoint(bytes: number): number {
  return Math.ceil((partOverhead * bytes) / reserveEntryBytes) + 1;
}

function isLackOfSpace(error: unknown): boolean {
  if (!(error instanceof StorageError)) return false;
  return error.failure === "quota" || (error.failure === "unknown" && isLackOfSpace(error.cause));
}

// Whether the reserve was changed does not matter to the caller's write.
function withKnownOutcome(error: unknown): unknown {
  const isUnknown = error instanceof StorageError && error.failure === "unknown";
  return isUnknown ? new StorageError("aborted", error.message, error) : error;
}
