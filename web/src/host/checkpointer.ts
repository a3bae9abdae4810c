// Decides when the log is worth a checkpoint, and writes it part by part, so that the page stays
// responsive.
//
// Each part is stored by itself. The manifest is written last, atomically, and puts the parts into
// force. A checkpoint that fails leaves the previous one in force: its parts are removed, either
// immediately or when the store opens next.

import { StoreError } from "../errors.ts";
import { type LogStorage, type ObsoleteFiles, StorageError } from "../storage/log-storage.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import { IdleTimer } from "./idle-timer.ts";
import { LogGrowth, type LogSize } from "./log-growth.ts";
import type { PartLoader } from "./part-loader.ts";
import { isFatal, toError } from "./segment-writer.ts";

// A checkpoint that is due begins once nothing was stored for this long. During a burst of writes
// it would compete with them for the disk, and write parts that soon change again.
const pauseMs = 100;
// If writes arrived while a part was written, the checkpoint pauses for this many times the
// duration of that part. It does not wait for the burst to end: until the checkpoint ends, changed
// rows are in memory twice.
const writeWaitFactor = 3;
// After this long without writes, a smaller log is worth a checkpoint.
const idleMs = 1000;
// On closing, a checkpoint may cost this many times more work, because it delays no further work
// here and speeds up the next opening.
const closingCostFactor = 4;

export interface CheckpointerOptions {
  engine: Pick<
    Engine,
    | "stats"
    | "checkpointBytes"
    | "beginCheckpoint"
    | "nextCheckpointPart"
    | "finishCheckpoint"
    | "checkpointCommitted"
    | "abandonCheckpoint"
    | "beginReplace"
  >;
  storage: Pick<LogStorage, "putPart" | "commitManifest" | "dropParts">;
  parts: Pick<PartLoader, "loadAndRetry">;
  orphans: readonly number[]; // parts of an unfinished checkpoint; removed first
  memoryLimit: number; // of rows, in bytes; 0: none
  automatic: boolean; // false: only by compact() and replace()
  blocker: () => Promise<unknown> | undefined; // what to wait for before a checkpoint begins
  onFailure: (error: unknown) => void; // the old checkpoint stays in force; a retry follows
  onCheckpoint: () => void; // a new checkpoint is in force
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
  #isAwaited = false; // a caller awaits the work under way, and gets its error
  #isUrgent = false; // other work waits for the work under way
  #storedDuringPart = false; // segments were stored since the last part
  readonly #orphans: Set<number>; // parts that no manifest names
  // Parts of manifests whose outcome is unknown. They become orphans with the next manifest.
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

  // Starts checkpoints. REQUIRES: this owner has claimed the log; before that, the previous owner
  // may still write parts, and a manifest that names them. May be called again.
  start(): void {
    if (this.#started) return;
    this.#started = true;
    // The first checkpoint waits for this, because it may use the part numbers again.
    this.#runWork(this.#sweepIfPossible());
  }

  // Counts stored segments, and starts a checkpoint if one is due. REQUIRES: start() was called.
  onSegmentsStored(size: LogSize): void {
    this.#log.add(size);
    this.#storedDuringPart = true;
    this.#pause.noteActivity();
    this.#idle.noteActivity();
    this.#checkDue("burst");
    this.#startIdleTimer();
  }

  // Writes a checkpoint of everything published, after the one under way. Resolves when the
  // segments and orphans that existed are removed; rejects with the storage's error. REQUIRES:
  // start() was called.
  compact(): Promise<void> {
    return this.#runAlone(async () => {
      await this.#checkpoint(() => this.#engine.beginCheckpoint());
      await this.#sweep();
    });
  }

  // Writes a checkpoint of the data that the engine has restored; it replaces all stored data.
  // REQUIRES: start() was called; nothing is written meanwhile.
  replace(call: Uint8Array | undefined): Promise<void> {
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

  // Writes a checkpoint on closing if the log is worth it, after the one under way. REQUIRES:
  // nothing is written meanwhile.
  async checkpointOnClose(): Promise<void> {
    if (this.#isAwaited) return;
    while (this.#running !== undefined) await this.#finishSoon();
    if (this.#stopped || !this.#started || !this.#automatic) return;
    if (!this.#log.isWorthCheckpoint(closingCostFactor)) return;
    this.#runWork(this.#runDueCheckpoint());
    await this.#running;
  }

  // Waits for the work under way, which no longer pauses for writes.
  #finishSoon(): Promise<void> | undefined {
    this.#isUrgent = true;
    this.#wake();
    return this.#running;
  }

  // Abandons a checkpoint under way after its current part, and waits for that.
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pause.stop();
    this.#idle.stop();
    this.#wake();
    await this.#running;
  }

  #checkDue(during: "burst" | "pause"): void {
    // Checked again when that ends.
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
    if (this.#stopped || this.#running !== undefined) return; // checked again when that ends
    if (this.#log.isWorthCheckpoint(1)) this.#runWork(this.#runDueCheckpoint());
  }

  // Marks `work` as running, and checks afterwards whether a checkpoint is due. REQUIRES: nothing
  // else runs.
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
    await this.#storage.dropParts(parts);
    for (const id of parts) this.#orphans.delete(id);
  }

  async #sweepIfPossible(): Promise<void> {
    // Retried by the next compact(), and when the store opens next.
    await this.#sweep().catch(() => {});
  }

  async #runDueCheckpoint(): Promise<void> {
    await yieldToEventLoop(); // the write that made it due is acknowledged first
    await this.#checkpoint(() => this.#engine.beginCheckpoint()).catch((error: unknown) => {
      if (!(error instanceof CheckpointerStopped)) this.#onFailure(error);
    });
  }

  // Writes one checkpoint. On failure, restores the previous state and then rejects with the error.
  async #checkpoint(begin: () => boolean | PartsNeeded): Promise<void> {
    const written: number[] = [];
    try {
      if (!(await this.#tryBegin(begin))) return this.#log.ended();
      this.#storedDuringPart = false;
      for (;;) {
        const began = performance.now();
        const part = this.#engine.nextCheckpointPart();
        if (part === undefined) break;
        written.push(part.id);
        this.#orphans.delete(part.id); // a removed part's number may be used again
        await this.#storage.putPart(part.id, part.bytes);
        await yieldToEventLoop();
        await this.#yieldToWrites(performance.now() - began);
        if (this.#stopped) throw new CheckpointerStopped();
      }
      const { manifest, segmentsBelow, obsoleteParts } = this.#engine.finishCheckpoint();
      await this.#commit(manifest, { segmentsBelow, obsoleteParts });
      this.#engine.checkpointCommitted();
      for (const id of this.#possiblyReferenced) this.#orphans.add(id);
      this.#possiblyReferenced.clear();
      this.#log.committed();
      this.#onCheckpoint();
    } catch (error) {
      await this.#abandon(written, error);
      throw error;
    }
  }

  // Begins a checkpoint. Returns false if there is nothing to do. Beginning happens in one turn in
  // which all needed parts are loaded and nothing blocks it.
  async #tryBegin(begin: () => boolean | PartsNeeded): Promise<boolean> {
    for (;;) {
      for (let busy = this.#blocker(); busy !== undefined; busy = this.#blocker()) await busy;
      this.#log.begin();
      if (this.#stopped) return false;
      const needed = begin();
      if (!(needed instanceof PartsNeeded)) return needed;
      const tryAgain = () => (this.#stopped || this.#blocker() !== undefined ? undefined : begin());
      const begun = await this.#parts.loadAndRetry(needed, tryAgain, "all");
      if (begun !== undefined) return begun;
    }
  }

  // Pauses for writes if some arrived while a part was written.
  async #yieldToWrites(partMs: number): Promise<void> {
    const mayWait = !this.#stopped && !this.#isAwaited && !this.#isUrgent && !this.#log.isOverdue;
    if (this.#storedDuringPart && mayWait && !this.#memoryIsFull)
      await this.#sleep(Math.min(partMs * writeWaitFactor, pauseMs));
    this.#storedDuringPart = false;
  }

  // Whether rows exceed the memory limit. No part can be unloaded before the checkpoint ends.
  get #memoryIsFull(): boolean {
    const limit = this.#memoryLimit;
    return limit > 0 && this.#engine.stats().memoryBytes > limit;
  }

  // Stores the manifest. While the outcome is unknown, it retries, because the engine can rely on
  // neither outcome.
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

  // Sleeps, until the time is over or #wake() is called.
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
    this.#log.failed();
    try {
      this.#engine.abandonCheckpoint();
    } catch {
      // The engine is broken; the next write reports it.
      return;
    }
    // If the manifest may be stored, the parts may be in use.
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
