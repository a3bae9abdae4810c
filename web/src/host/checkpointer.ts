// Decides when the log is worth a checkpoint, and writes it in slices between which the page goes on.
//
// Each part is a small write of its own; only the manifest, last and atomic, makes them count. A checkpoint that fails
// leaves the old one in force: what it wrote is removed, now or when the store opens next.

import { StoreError } from "../errors.ts";
import { type LogStorage, type ObsoleteFiles, StorageError } from "../storage/log-storage.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import { IdleTimer } from "./idle-timer.ts";
import { LogGrowth, type LogSize } from "./log-growth.ts";
import type { PartLoader } from "./part-loader.ts";
import { isFatal, toError } from "./segment-writer.ts";

// One that is due begins when nothing was stored for so long: while a burst of writes lasts it would take the disk from them, and write
// parts that are soon to be written again.
const pauseMs = 100;
// Writes that come while one is under way have the disk for so many times as long as the part took that they may have waited for. Not
// until they pause: until it ends, rows that they change are in memory twice.
const writeWaitFactor = 3;
// When nothing was stored for so long a smaller log is worth one.
const idleMs = 1000;
// When the store is closed it is worth so many times the work: nobody waits for this page any more, but for the next to open it.
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
  orphans: readonly number[]; // parts left by a checkpoint that never finished; removed first
  memoryLimit: number; // of rows, in bytes; 0: none
  automatic: boolean; // false: only when asked to
  blocker: () => Promise<unknown> | undefined; // what to wait for before one begins
  onFailure: (error: unknown) => void; // the old checkpoint stays in force; it is tried again later
  onCheckpoint: () => void; // one is in force
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
  #isAwaited = false; // somebody waits for what runs, and is told if it ends early
  #isUrgent = false; // somebody waits for what runs to end
  #storedDuringPart = false; // something was stored since the last part
  readonly #orphans: Set<number>; // parts that no manifest names
  readonly #possiblyReferenced = new Set<number>(); // the same, unless a manifest arrived of which it is not known; until the next one is
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

  // The log is ours by a claim: before, whoever owned it may still be writing parts, and a checkpoint that names them. May be called again.
  start(): void {
    if (this.#started) return;
    this.#started = true;
    // Waited for before the first checkpoint, which may use their numbers again.
    this.#runWork(this.#sweepIfPossible());
  }

  // Segments were stored. REQUIRES: start() was called.
  onSegmentsStored(size: LogSize): void {
    this.#log.add(size);
    this.#storedDuringPart = true;
    this.#pause.noteActivity();
    this.#idle.noteActivity();
    this.#checkDue("burst");
    this.#startIdleTimer();
  }

  // A checkpoint of all that is published, after the one under way. Resolves when neither segments nor orphans are left of what was
  // there, or rejects with the storage's error. REQUIRES: start() was called.
  compact(): Promise<void> {
    return this.#runAlone(async () => {
      await this.#checkpoint(() => this.#engine.beginCheckpoint());
      await this.#sweep();
    });
  }

  // A checkpoint of what the engine has restored, in the place of all that there is. REQUIRES: start() was called; nothing is
  // written meanwhile.
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

  // The one on closing, if the log is worth it, after one under way. REQUIRES: nothing is written meanwhile.
  async checkpointOnClose(): Promise<void> {
    if (this.#isAwaited) return;
    while (this.#running !== undefined) await this.#finishSoon();
    if (this.#stopped || !this.#started || !this.#automatic) return;
    if (!this.#log.isWorthCheckpoint(closingCostFactor)) return;
    this.#runWork(this.#runDueCheckpoint());
    await this.#running;
  }

  // The end of what runs, which gives way to nobody any more.
  #finishSoon(): Promise<void> | undefined {
    this.#isUrgent = true;
    this.#wake();
    return this.#running;
  }

  // Ends a checkpoint under way at its next slice, and waits for that.
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pause.stop();
    this.#idle.stop();
    this.#wake();
    await this.#running;
  }

  #checkDue(during: "burst" | "pause"): void {
    if (this.#stopped || this.#running !== undefined || !this.#automatic) return; // what ends looks again
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
    if (this.#stopped || this.#running !== undefined) return; // what ends looks again
    if (this.#log.isWorthCheckpoint(1)) this.#runWork(this.#runDueCheckpoint());
  }

  // One thing at a time; then looks whether a checkpoint is due.
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
    await this.#sweep().catch(() => {}); // with the next compact(), or when the store opens next
  }

  async #runDueCheckpoint(): Promise<void> {
    await yieldToEventLoop(); // the write that made it due is answered first
    await this.#checkpoint(() => this.#engine.beginCheckpoint()).catch((error: unknown) => {
      if (!(error instanceof CheckpointerStopped)) this.#onFailure(error);
    });
  }

  // Rejects with what went wrong, when all is as it was before.
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
        this.#orphans.delete(part.id); // the number of one that could not be removed is used again
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

  // False: there is nothing to do. It begins in the turn in which all is there that it needs, and that nobody else stands in its way.
  async #tryBegin(begin: () => boolean | PartsNeeded): Promise<boolean> {
    for (;;) {
      for (let busy = this.#blocker(); busy !== undefined; busy = this.#blocker()) await busy;
      this.#log.begin();
      if (this.#stopped) return false;
      const needed = begin();
      if (!(needed instanceof PartsNeeded)) return needed;
      const again = () => (this.#stopped || this.#blocker() !== undefined ? undefined : begin());
      const begun = await this.#parts.loadAndRetry(needed, again, "all");
      if (begun !== undefined) return begun;
    }
  }

  // To writes, if some came during a part.
  async #yieldToWrites(tookMs: number): Promise<void> {
    const mayWait = !this.#stopped && !this.#isAwaited && !this.#isUrgent && !this.#log.isOverdue;
    if (this.#storedDuringPart && mayWait && !this.#memoryIsFull)
      await this.#sleep(Math.min(tookMs * writeWaitFactor, pauseMs));
    this.#storedDuringPart = false;
  }

  // No part can go from it before a checkpoint under way ends.
  get #memoryIsFull(): boolean {
    const limit = this.#memoryLimit;
    return limit > 0 && this.#engine.stats().memoryBytes > limit;
  }

  // As long as it is not known whether the manifest is in force, the engine must not build on either case.
  async #commit(manifest: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    let unknownOutcome: StorageError | undefined; // that another attempt fails does not dispel it
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

  // Ends early when the checkpointer is stopped, or somebody waits for it.
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
      // The engine is broken, which the next write will say.
      return;
    }
    // If the manifest may have arrived, the parts may be in use.
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
