// Decides when the log is worth a checkpoint, and writes it in slices between which the page goes on.
//
// Each part is a small write of its own; only the manifest, last and atomic, makes them count. A checkpoint that fails
// leaves the old one in force: what it wrote is removed, now or when the store opens next.

import { StoreError } from "../errors.ts";
import { nextTurn } from "../event-loop.ts";
import { type LogStorage, type Obsolete, StorageError } from "../storage/log-storage.ts";
import { type Engine, NeededParts } from "../wasm/engine.ts";
import { LogGrowth, type LogSize } from "./log-growth.ts";
import { Lull } from "./lull.ts";
import type { Parts } from "./parts.ts";
import { asError, isFinal } from "./segment-writer.ts";

// One that is due begins when nothing was stored for so long: while a burst of writes lasts it would take the disk from them, and write
// parts that are soon to be written again.
const pauseMs = 100;
// Writes that come while one is under way have the disk for so many times as long as the part took that they may have waited for. Not
// until they pause: until it ends, rows that they change are in memory twice.
const timesForWrites = 3;
// When nothing was stored for so long a smaller log is worth one.
const idleMs = 1000;
// When the store is closed it is worth so many times the work: nobody waits for this page any more, but for the next to open it.
const closingPatience = 4;

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
  parts: Pick<Parts, "answer">;
  orphans: readonly number[]; // parts left by a checkpoint that never finished; removed first
  memoryLimit: number; // of rows, in bytes; 0: none
  automatic: boolean; // false: only when asked to
  free: () => Promise<unknown> | undefined; // what to wait for before one begins
  onFailure: (error: unknown) => void; // the old checkpoint stays in force; it is tried again later
  onCheckpoint: () => void; // one is in force
}

export class Checkpointer {
  readonly #engine: CheckpointerOptions["engine"];
  readonly #storage: CheckpointerOptions["storage"];
  readonly #parts: CheckpointerOptions["parts"];
  readonly #free: CheckpointerOptions["free"];
  readonly #onFailure: CheckpointerOptions["onFailure"];
  readonly #onCheckpoint: CheckpointerOptions["onCheckpoint"];
  readonly #memoryLimit: number;
  readonly #automatic: boolean;
  readonly #log: LogGrowth;
  readonly #pause = new Lull(pauseMs, () => this.#consider("pause"));
  readonly #idle = new Lull(idleMs, () => this.#considerIdle());
  #running: Promise<void> | undefined;
  #called = false; // somebody waits for what runs, and is told if it ends early
  #hurries = false; // somebody waits for what runs to end
  #disturbed = false; // something was stored since the last part
  readonly #orphans: Set<number>; // parts that no manifest names
  readonly #doubtful = new Set<number>(); // the same, unless a manifest arrived of which it is not known; until the next one is
  #started = false;
  #stopped = false;
  #wake: () => void = () => {};

  constructor(options: CheckpointerOptions) {
    this.#engine = options.engine;
    this.#storage = options.storage;
    this.#parts = options.parts;
    this.#free = options.free;
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
    this.#begin(this.#sweepIfPossible());
  }

  // Segments were stored. REQUIRES: start() was called.
  noteStored(size: LogSize): void {
    this.#log.add(size);
    this.#disturbed = true;
    this.#pause.disturb();
    this.#idle.disturb();
    this.#consider("burst");
    this.#awaitIdle();
  }

  // A checkpoint of all that is published, after the one under way. Resolves when neither segments nor orphans are left of what was
  // there, or rejects with the storage's error. REQUIRES: start() was called.
  compact(): Promise<void> {
    return this.#alone(async () => {
      await this.#checkpoint(() => this.#engine.beginCheckpoint());
      await this.#sweep();
    });
  }

  // A checkpoint of what the engine has restored, in the place of all that there is. REQUIRES: start() was called; nothing is
  // written meanwhile.
  replace(call: Uint8Array | undefined): Promise<void> {
    return this.#alone(() => this.#checkpoint(() => this.#engine.beginReplace(call)));
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) await this.#hurried();
    if (this.#stopped) throw new Stopped();
    const working = work();
    this.#called = true;
    this.#begin(
      working
        .catch(() => {})
        .finally(() => {
          this.#called = false;
        }),
    );
    await working;
  }

  // The one on closing, if the log is worth it, after one under way. REQUIRES: nothing is written meanwhile.
  async last(): Promise<void> {
    if (this.#called) return;
    while (this.#running !== undefined) await this.#hurried();
    if (this.#stopped || !this.#started || !this.#automatic) return;
    if (!this.#log.isWorth(closingPatience)) return;
    this.#begin(this.#run());
    await this.#running;
  }

  // The end of what runs, which gives way to nobody any more.
  #hurried(): Promise<void> | undefined {
    this.#hurries = true;
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

  #consider(during: "burst" | "pause"): void {
    if (this.#stopped || this.#running !== undefined || !this.#automatic) return; // what ends looks again
    if (!this.#log.isDue) return;
    if (during === "burst" && !this.#log.isOverdue) {
      this.#pause.await();
      return;
    }
    this.#log.putOff();
    if (this.#log.isDue) this.#begin(this.#run());
  }

  #awaitIdle(): void {
    if (this.#automatic && !this.#stopped) this.#idle.await();
  }

  #considerIdle(): void {
    if (this.#stopped || this.#running !== undefined) return; // what ends looks again
    if (this.#log.isWorth(1)) this.#begin(this.#run());
  }

  // One thing at a time; then looks whether a checkpoint is due.
  #begin(work: Promise<void>): void {
    this.#running = work.finally(() => {
      this.#running = undefined;
      this.#hurries = false;
      this.#consider("burst");
      if (this.#log.any) this.#awaitIdle();
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

  async #run(): Promise<void> {
    await nextTurn(); // the write that made it due is answered first
    await this.#checkpoint(() => this.#engine.beginCheckpoint()).catch((error: unknown) => {
      if (!(error instanceof Stopped)) this.#onFailure(error);
    });
  }

  // Rejects with what went wrong, when all is as it was before.
  async #checkpoint(begin: () => boolean | NeededParts): Promise<void> {
    const written: number[] = [];
    try {
      if (!(await this.#hasBegun(begin))) return this.#log.ended();
      this.#disturbed = false;
      for (;;) {
        const began = performance.now();
        const part = this.#engine.nextCheckpointPart();
        if (part === undefined) break;
        written.push(part.id);
        this.#orphans.delete(part.id); // the number of one that could not be removed is used again
        await this.#storage.putPart(part.id, part.bytes);
        await nextTurn();
        await this.#giveWay(performance.now() - began);
        if (this.#stopped) throw new Stopped();
      }
      const { manifest, segmentsBelow, obsoleteParts } = this.#engine.finishCheckpoint();
      await this.#commit(manifest, { segmentsBelow, obsoleteParts });
      this.#engine.checkpointCommitted();
      for (const id of this.#doubtful) this.#orphans.add(id);
      this.#doubtful.clear();
      this.#log.committed();
      this.#onCheckpoint();
    } catch (error) {
      await this.#abandon(written, error);
      throw error;
    }
  }

  // False: there is nothing to do. It begins in the turn in which all is there that it needs, and that nobody else stands in its way.
  async #hasBegun(begin: () => boolean | NeededParts): Promise<boolean> {
    for (;;) {
      for (let busy = this.#free(); busy !== undefined; busy = this.#free()) await busy;
      this.#log.begin();
      if (this.#stopped) return false;
      const needed = begin();
      if (!(needed instanceof NeededParts)) return needed;
      const again = () => (this.#stopped || this.#free() !== undefined ? undefined : begin());
      const begun = await this.#parts.answer(needed, again, "all");
      if (begun !== undefined) return begun;
    }
  }

  // To writes, if some came during a part.
  async #giveWay(tookMs: number): Promise<void> {
    const mayWait = !this.#stopped && !this.#called && !this.#hurries && !this.#log.isOverdue;
    if (this.#disturbed && mayWait && !this.#memoryIsFull)
      await this.#sleep(Math.min(tookMs * timesForWrites, pauseMs));
    this.#disturbed = false;
  }

  // No part can go from it before a checkpoint under way ends.
  get #memoryIsFull(): boolean {
    const limit = this.#memoryLimit;
    return limit > 0 && this.#engine.stats().memoryBytes > limit;
  }

  // As long as it is not known whether the manifest is in force, the engine must not build on either case.
  async #commit(manifest: Uint8Array, obsolete: Obsolete): Promise<void> {
    let doubt: StorageError | undefined; // that another attempt fails does not dispel it
    for (let waitMs = 1000; ; waitMs = Math.min(waitMs * 2, 30_000)) {
      try {
        return await this.#storage.commitManifest(manifest, obsolete);
      } catch (error) {
        if (error instanceof StorageError && error.failure === "unknown") doubt ??= error;
        if (doubt === undefined) throw error;
        if (isFinal(asError(error))) throw doubt;
        await this.#sleep(waitMs);
        if (this.#stopped) throw doubt;
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
    for (const id of written) (unknown ? this.#doubtful : this.#orphans).add(id);
    await this.#sweepIfPossible();
  }
}

class Stopped extends StoreError {
  constructor() {
    super("StoreClosed", "The store was closed.");
  }
}
