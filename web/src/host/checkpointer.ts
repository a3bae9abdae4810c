// Writes checkpoints when the log has grown enough. A checkpoint writes changed key ranges as part
// files, then the manifest that names the current parts; opening then replays a shorter log. It is
// written part by part, so that the page stays responsive.
//
// Each part is stored by itself. The manifest is written last, atomically; only then are the new
// parts in use. If a checkpoint fails, the previous manifest and its parts stay in use. The failed
// checkpoint's parts are removed immediately, or when the store opens next.

import { StoreError } from "../errors.ts";
import { type LogStorage, type ObsoleteFiles, StorageError } from "../storage/log-storage.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import { IdleTimer } from "./idle-timer.ts";
import { LogGrowth, type LogSize } from "./log-growth.ts";
import type { PartLoader } from "./part-loader.ts";
import { isFatal, toError } from "./segment-writer.ts";

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

export interface CheckpointerOptions {
  engine: Pick<
    Engine,
    | "stats"
    | "estimateCheckpointBytes"
    | "beginCheckpoint"
    | "nextCheckpointPart"
    | "finishCheckpoint"
    | "markCheckpointCommitted"
    | "abandonCheckpoint"
    | "beginReplace"
  >;
  storage: Pick<LogStorage, "putPart" | "commitManifest" | "deleteParts">;
  parts: Pick<PartLoader, "loadAndRetry">;
  orphans: readonly number[]; // ids of parts that no manifest names; removed first
  memoryLimit: number; // of rows, in bytes; 0: none
  automatic: boolean; // false: checkpoints only by compact() and replaceAllData()
  // returns what a checkpoint must wait for before it begins; undefined: nothing
  blocker: () => Promise<unknown> | undefined;
  onFailure: (error: unknown) => void; // the previous checkpoint stays in use; a retry follows
  onCheckpoint: () => void; // called when a new checkpoint is in use
}

export class Checkpointer {
  readonly #engine: CheckpointerOptions["engine"];
  readonly #storage: CheckpointerOptions["storage"];
  readonly #parts: CheckpointerOptions["parts"];
  readonly #blocker: CheckpointerOptions["blocker"];
  readonly #onFailure: CheckpointerOptions["onFailure"];
  readonly #onCheckpoint: CheckpointerOptions["onCheckpoint"];
  readonly #memoryLimit: number;
  readonly #automatic: boolean;
  readonly #log: LogGrowth;
  readonly #pause = new IdleTimer(pauseMs, () => this.#checkDue("pause"));
  readonly #idle = new IdleTimer(idleMs, () => this.#checkWhenIdle());
  #running: Promise<void> | undefined;
  #isAwaited = false; // a caller awaits #running and gets its error
  #isUrgent = false; // other work waits for #running, which then no longer pauses for writes
  #storedDuringPart = false; // segments were stored while the current part was written
  readonly #orphans: Set<number>; // parts that no manifest names
  // Parts of manifests that may or may not be stored (StorageError "unknown"). When the next
  // manifest is stored, they become orphans.
  readonly #possiblyReferenced = new Set<number>();
  #started = false;
  #stopped = false;
  #wake: () => void = () => {};

  constructor(options: CheckpointerOptions) {
    this.#engine = options.engine;
    this.#storage = options.storage;
    this.#parts = options.parts;
    this.#blocker = options.blocker;
    this.#onFailure = options.onFailure;
    this.#onCheckpoint = options.onCheckpoint;
    this.#memoryLimit = options.memoryLimit;
    this.#automatic = options.automatic;
    this.#log = new LogGrowth(options.engine);
    this.#orphans = new Set(options.orphans);
  }

  // Allows checkpoints. REQUIRES: this owner has claimed the log. Before the claim, the previous
  // owner may still write parts and a manifest that names them. May be called again.
  start(): void {
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
    return this.#runAlone(() => this.#checkpoint(() => this.#engine.beginReplace(call)));
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

  #checkDue(during: "burst" | "pause"): void {
    // #runWork() checks again when the work in progress ends.
    if (this.#stopped || this.#running !== undefined || !this.#automatic) return;
    if (!this.#log.isDue) return;
    if (during === "burst" && !this.#log.isOverdue) {
      this.#pause.start();
      return;
    }
    this.#log.postpone();
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
      this.#checkDue("burst");
      if (this.#log.hasSegments) this.#startIdleTimer();
    });
  }

  async #sweep(): Promise<void> {
    if (this.#orphans.size === 0) return;
    const parts = [...this.#orphans];
    await this.#storage.deleteParts(parts);
    for (const id of parts) this.#orphans.delete(id);
  }

  async #sweepIfPossible(): Promise<void> {
    // If removing fails, the next compact() and the next opening try again.
    await this.#sweep().catch(() => {});
  }

  async #runDueCheckpoint(): Promise<void> {
    await yieldToEventLoop(); // first acknowledges the write that made the checkpoint due
    await this.#checkpoint(() => this.#engine.beginCheckpoint()).catch((error: unknown) => {
      if (!(error instanceof CheckpointerStopped)) this.#onFailure(error);
    });
  }

  // Writes one checkpoint. `begin` begins it in the engine. On failure, abandons it and rejects
  // with the error.
  async #checkpoint(begin: () => boolean | PartsNeeded): Promise<void> {
    const written: number[] = [];
    try {
      if (!(await this.#tryBegin(begin))) return this.#log.onCheckpointEnded();
      this.#storedDuringPart = false;
      for (;;) {
        const began = performance.now();
        const part = this.#engine.nextCheckpointPart();
        if (part === undefined) break;
        written.push(part.id);
        this.#orphans.delete(part.id); // the engine may use the number of a removed part again
        await this.#storage.putPart(part.id, part.bytes);
        await yieldToEventLoop();
        await this.#yieldToWrites(performance.now() - began);
        if (this.#stopped) throw new CheckpointerStopped();
      }
      const { manifest, segmentsBelow, obsoleteParts } = this.#engine.finishCheckpoint();
      await this.#commit(manifest, { segmentsBelow, obsoleteParts });
      this.#engine.markCheckpointCommitted();
      for (const id of this.#possiblyReferenced) this.#orphans.add(id);
      this.#possiblyReferenced.clear();
      this.#log.onCheckpointCommitted();
      this.#onCheckpoint();
    } catch (error) {
      await this.#abandon(written, error);
      throw error;
    }
  }

  // Begins a checkpoint. Returns false if there is nothing to write. The engine begins within one
  // turn of the event loop in which all needed parts are loaded and the blocker returns undefined.
  async #tryBegin(begin: () => boolean | PartsNeeded): Promise<boolean> {
    for (;;) {
      for (let busy = this.#blocker(); busy !== undefined; busy = this.#blocker()) await busy;
      this.#log.onCheckpointBegin();
      if (this.#stopped) return false;
      const needed = begin();
      if (!(needed instanceof PartsNeeded)) return needed;
      const tryAgain = () => (this.#stopped || this.#blocker() !== undefined ? undefined : begin());
      const begun = await this.#parts.loadAndRetry(needed, tryAgain, "all");
      if (begun !== undefined) return begun;
    }
  }

  // Pauses if segments were stored while the last part was written, which took `partMs`.
  async #yieldToWrites(partMs: number): Promise<void> {
    const mayWait = !this.#stopped && !this.#isAwaited && !this.#isUrgent && !this.#log.isOverdue;
    if (this.#storedDuringPart && mayWait && !this.#memoryIsFull)
      await this.#sleep(Math.min(partMs * writeWaitFactor, pauseMs));
    this.#storedDuringPart = false;
  }

  // Whether rows exceed the memory limit. If so, the checkpoint hurries, because no part can be
  // unloaded before it ends.
  get #memoryIsFull(): boolean {
    const limit = this.#memoryLimit;
    return limit > 0 && this.#engine.stats().memoryBytes > limit;
  }

  // Stores the manifest. If the storage cannot tell whether the manifest is stored, tries again:
  // the engine can continue in neither case.
  async #commit(manifest: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    let unknownOutcome: StorageError | undefined; // a later failure does not make the outcome known
    for (let waitMs = 1000; ; waitMs = Math.min(waitMs * 2, 30_000)) {
      try {
        return await this.#storage.commitManifest(manifest, obsolete);
      } catch (error) {
        if (error instanceof StorageError && error.failure === "unknown") unknownOutcome ??= error;
        if (unknownOutcome === undefined) throw error;
        if (isFatal(toError(error))) throw unknownOutcome;
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

  async #abandon(written: readonly number[], error: unknown): Promise<void> {
    this.#log.onCheckpointFailed();
    try {
      this.#engine.abandonCheckpoint();
    } catch {
      // The engine is broken. The next write reports this.
      return;
    }
    // If the manifest may be stored, the parts may be in use and must not be removed.
    const unknown = error instanceof StorageError && error.failure === "unknown";
    for (const id of written) (unknown ? this.#possiblyReferenced : this.#orphans).add(id);
    await this.#sweepIfPossible();
  }
}

class CheckpointerStopped extends StoreError {
  constructor() {
    super("StoreClosed", "The store was closed.");
  }
}
