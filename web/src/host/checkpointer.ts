// Writes checkpoints when the log has grown enough. A checkpoint writes changed key ranges as part
// files, then the manifest that names the current parts; opening then replays a shorter log. It is
// written part by part, so that the page stays responsive.
//
// Each part is stored by itself. The manifest is written last, atomically; only then are the new
// parts in use. If a checkpoint fails, the previous manifest and its parts stay in use. The next
// checkpoint uses what the failed one has stored. If the store closes before that, those parts are
// removed when it opens next.
//
// If the storage is full, a checkpoint stores interim manifests between its parts: manifests that
// cover no segments, but list new parts instead of old ones. This removes the old parts, so that
// there is space for further parts.

import { StoreError } from "../errors.ts";
import { type LogStorage, type ObsoleteFiles, StorageError } from "../storage/log-storage.ts";
import type { Clock } from "../types.ts";
import { nextRetryMs } from "../util/back-off.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { freeBytes } from "../util/free-bytes.ts";
import { toError } from "../util/platform-objects.ts";
import { type CheckpointPart, type Engine, PartsNeeded } from "../wasm/engine.ts";
import { IdleTimer } from "./idle-timer.ts";
import { LogGrowth, type LogSize } from "./log-growth.ts";
import type { MemoryGuard } from "./memory-guard.ts";
import type { PartLoader } from "./part-loader.ts";
import { isFatal } from "./segment-writer.ts";
import type { Checkpoints, SpaceReserve } from "./space-reserve.ts";

// A due checkpoint begins after this long without stored segments. During a burst of writes it
// would compete with them for the disk, and would write parts that soon change again.
const pauseMs = 100;
// If segments were stored while a part was written, the checkpoint pauses for this many times the
// part's duration (at most pauseMs). It does not wait for the burst to end, because until the
// checkpoint ends, changed rows are in memory twice.
const writeWaitFactor = 3;
// After this long without stored segments, a checkpoint is written even if the log is smaller.
const idleMs = 1000;
// A checkpoint on closing may cost this many times more work for the same log. It delays no other
// work, and speeds up the next opening.
const closingCostFactor = 4;
// If the storage is full, an interim manifest is stored after this many bytes of new parts.
const interimBytes = 512 * 1024;
// How often a checkpoint that waits for the log looks whether the storage is full.
const storingPollMs = 20;
const historyAgeMaxMs = 1e14; // the engine counts shorter times than milliseconds
// What is kept of the covered log, at most, for durable readers of the change feed.
export interface HistoryLimits {
  readonly bytes?: number; // default 16 MiB
  readonly ageMs?: number; // default 7 days
}

export interface CheckpointerOptions {
  engine: Pick<
    Engine,
    | "stats"
    | "isDamaged"
    | "estimateCheckpointBytes"
    | "beginCheckpoint"
    | "nextCheckpointPart"
    | "markCheckpointPartStored"
    | "interimCheckpoint"
    | "markInterimCheckpointCommitted"
    | "finishCheckpoint"
    | "markCheckpointCommitted"
    | "abandonCheckpoint"
    | "beginReplace"
  >;
  storage: Pick<LogStorage, "putPart" | "commitManifest" | "deleteParts">;
  space: Pick<SpaceReserve, "storeForCheckpoint" | "isFull">;
  parts: Pick<PartLoader, "loadForCheckpoint" | "waitForLoads" | "pauseWhile" | "trim">;
  orphans: readonly number[]; // ids of parts that no manifest names; removed first
  memory: Pick<MemoryGuard, "isFull" | "update" | "allowWrites">;
  clock: Pick<Clock, "now">;
  history?: HistoryLimits | undefined;
  automatic: boolean; // false: checkpoints only by compact() and replaceAllData()
  onFailure: (error: unknown) => void; // the previous checkpoint stays in use; a retry follows
  // Stores the published commits up to this one. Resolves when they are stored, or cannot be now.
  storeUpTo?: ((commit: number) => Promise<void>) | undefined;
  // Called before a manifest is stored, which removes segments.
  onManifest?: (() => void) | undefined;
  onCheckpoint: () => void; // called when a new checkpoint is in use
}

// Commits when the reads have ended that may still need obsolete parts.
type CommitAfterReads = (commit: () => Promise<void>) => Promise<void>;

export class Checkpointer implements Checkpoints {
  readonly #engine: CheckpointerOptions["engine"];
  readonly #storage: CheckpointerOptions["storage"];
  readonly #space: CheckpointerOptions["space"];
  readonly #parts: CheckpointerOptions["parts"];
  readonly #onFailure: CheckpointerOptions["onFailure"];
  readonly #storeUpTo: CheckpointerOptions["storeUpTo"];
  readonly #onManifest: CheckpointerOptions["onManifest"];
  readonly #onCheckpoint: CheckpointerOptions["onCheckpoint"];
  readonly #memory: CheckpointerOptions["memory"];
  readonly #now: () => number;
  readonly #history: Required<HistoryLimits>;
  readonly #automatic: boolean;
  readonly #log: LogGrowth;
  readonly #pause = new IdleTimer(pauseMs, () => this.#checkDue("pause"));
  readonly #idle = new IdleTimer(idleMs, () => this.#checkWhenIdle());
  #running: Promise<void> | undefined;
  #isAwaited = false; // a caller awaits #running and gets its error
  #isUrgent = false; // other work waits for #running, which then no longer pauses for writes
  #storedDuringPart = false; // segments were stored while the current part was written
  readonly #orphans: Set<number>; // stored parts that nothing uses
  #hasSucceeded = false; // a checkpoint succeeded in the work under way
  #isMemoryWaiting = false; // memory was full during other work than a due checkpoint
  #lastInTurn: Promise<unknown> = Promise.resolve(); // see #inTurn()
  #started = false;
  #stopped = false;
  #wake: () => void = () => {};
  #isOutcomeUnknown = false; // it is unknown whether the manifest is stored
  #onOutcomeUnknown: (() => void)[] = []; // to be called when that becomes so

  constructor(options: CheckpointerOptions) {
    this.#engine = options.engine;
    this.#storage = options.storage;
    this.#space = options.space;
    this.#parts = options.parts;
    this.#onFailure = options.onFailure;
    this.#storeUpTo = options.storeUpTo;
    this.#onManifest = options.onManifest;
    this.#onCheckpoint = options.onCheckpoint;
    this.#memory = options.memory;
    this.#now = () => options.clock.now();
    const { bytes = 16 * 1024 * 1024, ageMs = 7 * 24 * 60 * 60 * 1000 } = options.history ?? {};
    this.#history = {
      bytes: Math.min(bytes, Number.MAX_SAFE_INTEGER),
      ageMs: Math.min(ageMs, historyAgeMaxMs),
    };
    this.#automatic = options.automatic;
    this.#log = new LogGrowth(options.engine);
    this.#orphans = new Set(options.orphans);
  }

  // The stored parts that nothing uses.
  get orphans(): readonly number[] {
    return [...this.#orphans];
  }

  // Allows checkpoints. REQUIRES: this owner has claimed the log. Before the claim, the previous
  // owner may still write parts and a manifest that names them. May be called again.
  allowCheckpoints(): void {
    if (this.#started) return;
    this.#started = true;
    // Orphans are removed before the first checkpoint, because it may use their numbers for its
    // parts.
    this.#runWork(this.#sweepIfPossible());
  }

  // Must be called when segments were stored. Starts a checkpoint if one is due. REQUIRES: start()
  // was called.
  onSegmentsStored(size: LogSize): void {
    this.#log.add(size);
    this.#storedDuringPart = true;
    this.#pause.noteActivity();
    this.#idle.noteActivity();
    this.#checkDue("burst");
    this.#startIdleTimer();
  }

  // Writes a checkpoint of everything published, after any checkpoint in progress. Resolves when
  // the segments that it covers and the orphans are removed; rejects with the storage's error.
  // REQUIRES: start() was called.
  compact(): Promise<void> {
    return this.#runAlone(async () => {
      await this.#checkpoint(() => this.#engine.beginCheckpoint());
      await this.#sweep();
    });
  }

  // Writes a checkpoint of the data that the engine has restored from a snapshot. It replaces all
  // stored data. REQUIRES: start() was called; nothing is written until it resolves.
  replaceAllData(call: Uint8Array | undefined): Promise<void> {
    return this.#runAlone(async () => {
      this.#requireIntact();
      await this.#checkpoint(
        () => this.#engine.beginReplace(call),
        // The manifest and the engine change at different times, so no read may run meanwhile.
        (commit) => this.#parts.pauseWhile(commit),
      );
    });
  }

  // Stores a part of a snapshot file that is being restored. Checkpoints may run meanwhile. If the
  // data is not replaced by the restored data later, the caller must delete the part. REQUIRES:
  // start() was called.
  putRestoredPart(id: number, bytes: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      this.#orphans.delete(id); // a removed part's number may be used again
      await this.#storage.putPart(id, bytes);
    });
  }

  // Deletes parts that putRestoredPart() has stored. If that fails, the next compact() and the next
  // opening try again.
  async deleteRestoredParts(ids: readonly number[]): Promise<void> {
    for (const id of ids) this.#orphans.add(id);
    if (!this.#stopped) await this.#sweepIfPossible();
  }

  // Runs a read of segments while no manifest is being stored, which removes segments. When the
  // read begins and when it ends, the engine knows which there are.
  runBetweenManifests<T>(read: () => Promise<T>): Promise<T> {
    return this.#inTurn(read);
  }

  // Runs calls of the storage one after the other: a part that is being restored is not stored
  // while orphans are deleted, which may have its number, or while a manifest is stored, which
  // removes segments.
  #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const calling = this.#lastInTurn.then(call);
    this.#lastInTurn = calling.catch(() => {});
    return calling;
  }

  async #runAlone(work: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) await this.#finishSoon();
    if (this.#stopped) throw new CheckpointerStopped();
    const working = work();
    this.#isAwaited = true;
    this.#runWork(
      working
        .catch(() => {})
        .finally(() => {
          this.#isAwaited = false;
        }),
    );
    await working;
  }

  // Called on closing: writes a checkpoint if the log is worth it, after any checkpoint in
  // progress. REQUIRES: nothing is written until it resolves.
  async checkpointOnClose(): Promise<void> {
    if (this.#isAwaited) return;
    while (this.#running !== undefined) await this.#finishSoon();
    if (this.#stopped || !this.#started || !this.#automatic) return;
    if (!this.#log.isWorthCheckpoint(closingCostFactor)) return;
    this.#runWork(this.#runDueCheckpoint());
    await this.#running;
  }

  // Returns #running, which from now on does not pause for writes.
  #finishSoon(): Promise<void> | undefined {
    this.#isUrgent = true;
    this.#wake();
    return this.#running;
  }

  // Abandons the checkpoint in progress after its current part. Resolves when it has ended.
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pause.stop();
    this.#idle.stop();
    this.#wake();
    await this.#running;
  }

  // Starts a checkpoint because changes fill much of memory. It does not pause for writes, and nor
  // does one that is under way. Returns whether a checkpoint will run.
  startForMemory(): boolean {
    if (this.#stopped || !this.#started || !this.#automatic) return false;
    if (this.#running === undefined) this.#runWork(this.#runDueCheckpoint());
    else this.#isMemoryWaiting = true;
    void this.#finishSoon();
    return true;
  }

  // About how much space a checkpoint needs now: for the parts until an interim manifest frees
  // space, and for the rows that the log adds to them.
  bytesNeeded(): number {
    const { segmentBytesSinceCheckpoint } = this.#engine.stats();
    const added = segmentBytesSinceCheckpoint + interimBytes;
    return Math.min(this.#engine.estimateCheckpointBytes(), added);
  }

  // Whether parts are being written or removed.
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  // Starts a checkpoint because the storage is full. It does not pause for writes, and nor does one
  // that is under way. Resolves when it has ended, or when it has to repeat its last step.
  async startForSpace(): Promise<void> {
    if (this.#stopped || !this.#started || !this.#automatic) return;
    if (this.#running === undefined) this.#runWork(this.#runDueCheckpoint());
    if (this.#isOutcomeUnknown) return;
    const unknown = new Promise<void>((resolve) => this.#onOutcomeUnknown.push(resolve));
    await Promise.race([this.#finishSoon(), unknown]);
  }

  #checkDue(during: "burst" | "pause"): void {
    // #runWork() checks again when the work in progress ends.
    if (this.#stopped || this.#running !== undefined || !this.#automatic) return;
    if (!this.#log.isDue) return;
    if (during === "burst" && !this.#log.isOverdue) {
      this.#pause.start();
      return;
    }
    this.#log.postponeIfTooCostly();
    if (this.#log.isDue) this.#runWork(this.#runDueCheckpoint());
  }

  #startIdleTimer(): void {
    if (this.#automatic && !this.#stopped) this.#idle.start();
  }

  #checkWhenIdle(): void {
    if (this.#stopped || this.#running !== undefined) return; // #runWork() checks again afterwards
    if (this.#log.isWorthCheckpoint(1)) this.#runWork(this.#runDueCheckpoint());
  }

  // Sets #running to `work`. When it ends, checks whether a checkpoint is due. REQUIRES: #running
  // is undefined.
  #runWork(work: Promise<void>): void {
    this.#running = work.finally(() => {
      this.#running = undefined;
      this.#isUrgent = false;
      this.#isOutcomeUnknown = false;
      this.#onOutcomeUnknown = [];
      // Changes made meanwhile may fill memory already. After a failure, the next write tries
      // again.
      const mayBeFull = this.#hasSucceeded || this.#isMemoryWaiting;
      this.#hasSucceeded = false;
      this.#isMemoryWaiting = false;
      if (mayBeFull && !this.#stopped) this.#memory.update();
      this.#checkDue("burst");
      if (this.#log.hasSegments) this.#startIdleTimer();
    });
  }

  async #sweep(): Promise<void> {
    if (this.#orphans.size === 0) return;
    await this.#inTurn(async () => {
      const parts = [...this.#orphans];
      await this.#storage.deleteParts(parts);
      for (const id of parts) this.#orphans.delete(id);
    });
  }

  async #sweepIfPossible(): Promise<void> {
    // If removing fails, the next compact() and the next opening try again.
    await this.#sweep().catch(() => {});
  }

  async #runDueCheckpoint(): Promise<void> {
    await yieldToEventLoop(); // first acknowledges the write that made the checkpoint due
    try {
      const written = await this.#checkpoint(() => this.#engine.beginCheckpoint());
      if (!written) this.#memory.allowWrites();
    } catch (error) {
      this.#isMemoryWaiting = false; // the writes that waited are rejected
      if (!(error instanceof CheckpointerStopped)) this.#onFailure(error);
    }
  }

  // Writes one checkpoint. `begin` begins it in the engine, or returns false if there is nothing to
  // write. Resolves to whether a checkpoint was written. On failure, abandons it and rejects with
  // the error.
  async #checkpoint(
    begin: () => boolean,
    commitAfterReads: CommitAfterReads = (commit) => this.#parts.waitForLoads().then(commit),
  ): Promise<boolean> {
    try {
      this.#log.onCheckpointBegin();
      if (this.#stopped || !begin()) {
        this.#log.onCheckpointEnded();
        return false;
      }
      const covered = this.#engine.stats().lastCommit;
      await this.#writeParts(commitAfterReads);
      await this.#storeCovered(covered);
      const { manifest, ...obsolete } = this.#engine.finishCheckpoint(this.#history, this.#now());
      await commitAfterReads(async () => {
        this.#requireIntact();
        this.#onManifest?.();
        await this.#inTurn(async () => {
          await this.#commit(manifest, obsolete);
          this.#engine.markCheckpointCommitted();
        });
      });
      this.#hasSucceeded = true;
      this.#log.onCheckpointCommitted();
      this.#onCheckpoint();
      return true;
    } catch (error) {
      await this.#abandon(error);
      throw error;
    }
  }

  // Stores the commits that the manifest will cover, if they are not stored yet. Otherwise a crash
  // after the manifest could leave a gap in the log, which readers of the change feed may need.
  // Does not wait while the storage is full, because the manifest frees space.
  async #storeCovered(commit: number): Promise<void> {
    let hasEnded = false;
    const onEnded = () => {
      hasEnded = true;
      this.#wake();
    };
    this.#storeUpTo?.(commit).then(onEnded, onEnded);
    while (this.#storeUpTo !== undefined && !hasEnded && !this.#space.isFull && !this.#stopped)
      await this.#sleep(storingPollMs);
  }

  async #writeParts(commitAfterReads: CommitAfterReads): Promise<void> {
    this.#storedDuringPart = false;
    let interimDue = interimBytes;
    const next = () => this.#engine.nextCheckpointPart();
    for (;;) {
      this.#requireIntact();
      const began = performance.now();
      let part = next();
      if (part instanceof PartsNeeded) part = await this.#parts.loadForCheckpoint(part, next);
      if (part === undefined) return;
      this.#orphans.delete(part.id); // a removed part's number may be used again
      interimDue -= part.bytes.length;
      await this.#storePart(part);
      freeBytes(part.bytes);
      this.#engine.markCheckpointPartStored();
      if (this.#space.isFull && interimDue <= 0) {
        if (await this.#storeInterimManifest(commitAfterReads)) interimDue = interimBytes;
      }
      this.#parts.trim();
      await yieldToEventLoop();
      await this.#yieldToWrites(performance.now() - began);
      if (this.#memory.isFull) this.#memory.update();
      if (this.#stopped) throw new CheckpointerStopped();
    }
  }

  async #storePart({ id, bytes }: CheckpointPart): Promise<void> {
    await this.#space.storeForCheckpoint(
      () => this.#storage.putPart(id, bytes),
      () => this.bytesNeeded(),
    );
  }

  // Stores an interim manifest. Resolves to false if there is none now.
  async #storeInterimManifest(commitAfterReads: CommitAfterReads): Promise<boolean> {
    const interim = this.#engine.interimCheckpoint();
    if (interim === undefined) return false;
    const { manifest, extraPart, obsoleteParts } = interim;
    if (extraPart !== undefined) await this.#storePart(extraPart);
    await commitAfterReads(async () => {
      this.#requireIntact();
      await this.#commit(manifest, { segmentsBelow: 0, obsoleteParts, flushesSegments: true });
      this.#engine.markInterimCheckpointCommitted();
    });
    return true;
  }

  // Throws if a read has found damage. The damaged part was then loaded without its rows, and must
  // not be written like that.
  #requireIntact(): void {
    if (!this.#engine.isDamaged) return;
    throw new StoreError("Corrupted", "The store is damaged, so its log is not shortened.", {
      hint: "status.damage lists what is missing.",
    });
  }

  // Pauses if segments were stored while the last part was written, which took `partMs`.
  async #yieldToWrites(partMs: number): Promise<void> {
    const mayWait = !this.#stopped && !this.#isAwaited && !this.#isUrgent && !this.#log.isOverdue;
    if (this.#storedDuringPart && mayWait && !this.#memory.isFull)
      await this.#sleep(Math.min(partMs * writeWaitFactor, pauseMs));
    this.#storedDuringPart = false;
  }

  // Stores the manifest. If the storage cannot tell whether the manifest is stored, tries again:
  // the engine can continue in neither case.
  async #commit(manifest: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    let unknownOutcome: StorageError | undefined; // a later failure does not make the outcome known
    for (let waitMs = nextRetryMs(0); ; waitMs = nextRetryMs(waitMs)) {
      try {
        const commit = () => this.#storage.commitManifest(manifest, obsolete);
        return await this.#space.storeForCheckpoint(commit, () => 0);
      } catch (error) {
        if (isOutcomeUnknown(error)) unknownOutcome ??= error;
        if (unknownOutcome === undefined) throw error;
        if (isFatal(toError(error))) throw unknownOutcome;
        this.#isOutcomeUnknown = true;
        for (const resolve of this.#onOutcomeUnknown.splice(0)) resolve();
        await this.#sleep(waitMs);
        if (this.#stopped) throw unknownOutcome;
      }
    }
  }

  // Resolves after `ms`, or earlier when #wake() is called.
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #abandon(error: unknown): Promise<void> {
    this.#log.onCheckpointFailed();
    try {
      const unneeded = this.#engine.abandonCheckpoint();
      // If the manifest may have been stored, it names these parts. The next opening decides.
      if (isOutcomeUnknown(error)) return;
      for (const id of unneeded) this.#orphans.add(id);
    } catch {
      // The engine is broken. The next write reports this.
      return;
    }
    await this.#sweepIfPossible();
  }
}

function isOutcomeUnknown(error: unknown): error is StorageError {
  return error instanceof StorageError && error.failure === "unknown";
}

class CheckpointerStopped extends StoreError {
  constructor() {
    super("StoreClosed", "The store was closed.");
  }
}
