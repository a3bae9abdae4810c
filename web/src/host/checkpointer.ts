// Decides when the log is worth a checkpoint, and writes it in slices between which the page goes on.
//
// Each part is a small write of its own; only the manifest, last and atomic, makes them count. A checkpoint that fails
// leaves the old one in force: what it wrote is removed, now or when the store opens next.

import { StoreError } from "../errors.ts";
import { nextTurn } from "../event-loop.ts";
import { type LogStorage, type Obsolete, StorageError } from "../storage/log-storage.ts";
import { type Engine, NeededParts } from "../wasm/engine.ts";
import { Lull } from "./lull.ts";
import type { Parts } from "./parts.ts";
import { asError, isFinal } from "./segment-writer.ts";

// A checkpoint is due after this much log, so that opening reads little history. If it would have much to write, because changes lie far
// apart (a part is written whole for one changed row in it), the log may grow in proportion: to a quarter of that in bytes, to sixteen
// segments a megabyte; but never beyond what is bearable to read on opening.
const segmentsMin = 256;
const bytesMin = 4 * 1024 * 1024;
const segmentsPerMegabyte = 16;
const shareOfWork = 1 / 4;
const bytesMax = 16 * 1024 * 1024; // or a share of the rows, in a store that is larger than
const shareOfRows = 1 / 32;
// One that is due waits until nothing was stored for so long: while a burst of writes goes on it would take the disk from them, and
// write parts that are soon to be written again. But not for ever: a log of this size is read in a fraction of a second on opening.
const pauseMs = 100;
const burstSegmentsMax = 2048;
const burstBytesMax = 32 * 1024 * 1024;
// When nothing was stored for a while a smaller log is worth it, under the same rule.
const idleMs = 1000;
const idleSegmentsMin = 64;
const idleBytesMin = 256 * 1024;
// When the store is closed, too, even for so many times the work: nobody waits for this page any more, but for the next to open it.
const closingPatience = 4;
const afterFailure = 1 / 2; // of what was due, before the next attempt

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
  readonly #automatic: boolean;
  #segments = 0; // since the last checkpoint, or since the last attempt
  #bytes = 0;
  #dueSegments = segmentsMin;
  #dueBytes = bytesMin;
  readonly #pause = new Lull(pauseMs, () => this.#consider("pause"));
  readonly #idle = new Lull(idleMs, () => this.#considerIdle());
  #running: Promise<void> | undefined;
  #called = false; // somebody waits for what runs, and is told if it ends early
  readonly #orphans: Set<number>; // parts that no manifest names
  readonly #doubtful = new Set<number>(); // the same, unless a manifest arrived of which it is not known; until the next one is
  #stopped = false;
  #wake: () => void = () => {};

  constructor(options: CheckpointerOptions) {
    this.#engine = options.engine;
    this.#storage = options.storage;
    this.#parts = options.parts;
    this.#free = options.free;
    this.#onFailure = options.onFailure;
    this.#onCheckpoint = options.onCheckpoint;
    this.#automatic = options.automatic;
    const stats = this.#engine.stats();
    this.#segments = stats.segmentsSinceCheckpoint;
    this.#bytes = stats.segmentBytesSinceCheckpoint;
    this.#orphans = new Set(options.orphans);
    // Waited for before the first checkpoint, which may use their numbers again.
    this.#begin(this.#sweepIfPossible());
  }

  // A segment was stored.
  noteStored(bytes: number): void {
    this.#segments += 1;
    this.#bytes += bytes;
    this.#pause.disturb();
    this.#idle.disturb();
    this.#consider("burst");
    this.#awaitIdle();
  }

  // A checkpoint of all that is published, after the one under way. Resolves when neither segments nor orphans are left of what was
  // there, or rejects with the storage's error.
  compact(): Promise<void> {
    return this.#alone(async () => {
      await this.#checkpoint(() => this.#engine.beginCheckpoint());
      await this.#sweep();
    });
  }

  // A checkpoint of what the engine has restored, in the place of all that there is. REQUIRES: nothing is written meanwhile.
  replace(call: Uint8Array | undefined): Promise<void> {
    return this.#alone(() => this.#checkpoint(() => this.#engine.beginReplace(call)));
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) await this.#running;
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
    while (this.#running !== undefined) await this.#running;
    if (this.#stopped || !this.#automatic || !this.#isWorth(closingPatience)) return;
    this.#begin(this.#run());
    await this.#running;
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
    if (!this.#isDue) return;
    if (during === "burst" && !this.#isOverdue) {
      this.#pause.await();
      return;
    }
    this.#putOff();
    if (this.#isDue) this.#begin(this.#run());
  }

  get #isDue(): boolean {
    return this.#segments >= this.#dueSegments || this.#bytes >= this.#dueBytes;
  }

  // However much goes on.
  get #isOverdue(): boolean {
    return (
      this.#segments >= Math.max(this.#dueSegments, burstSegmentsMax) ||
      this.#bytes >= Math.max(this.#dueBytes, burstBytesMax)
    );
  }

  // As long as the work would be out of proportion to the log.
  #putOff(): void {
    const { bytes, segments } = this.#proportion();
    this.#dueBytes = Math.max(this.#dueBytes, bytes);
    this.#dueSegments = Math.max(this.#dueSegments, segments);
  }

  // The log that is in proportion to the work of a checkpoint now.
  #proportion(): { bytes: number; segments: number } {
    const work = this.#engine.checkpointBytes();
    const most = Math.max(bytesMax, shareOfRows * this.#engine.stats().bytes);
    const segments = (segmentsPerMegabyte * work) / (1024 * 1024);
    return { bytes: Math.min(shareOfWork * work, most), segments };
  }

  #awaitIdle(): void {
    if (this.#automatic && !this.#stopped) this.#idle.await();
  }

  #considerIdle(): void {
    if (this.#stopped || this.#running !== undefined) return; // what ends looks again
    if (this.#isWorth(1)) this.#begin(this.#run());
  }

  // Of a log that nobody adds to for now. `patience`: how many times what is in proportion the work may be.
  #isWorth(patience: number): boolean {
    if (this.#segments < idleSegmentsMin && this.#bytes < idleBytesMin) return false;
    const { bytes, segments } = this.#proportion();
    return (
      this.#segments >= Math.max(idleSegmentsMin, segments / patience) ||
      this.#bytes >= Math.max(idleBytesMin, bytes / patience)
    );
  }

  // One thing at a time; then looks whether a checkpoint is due.
  #begin(work: Promise<void>): void {
    this.#running = work.finally(() => {
      this.#running = undefined;
      this.#consider("burst");
      if (this.#segments > 0) this.#awaitIdle();
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
      if (!(await this.#hasBegun(begin))) return;
      for (;;) {
        const part = this.#engine.nextCheckpointPart();
        if (part === undefined) break;
        written.push(part.id);
        this.#orphans.delete(part.id); // the number of one that could not be removed is used again
        await this.#storage.putPart(part.id, part.bytes);
        await nextTurn();
        if (this.#stopped) throw new Stopped();
      }
      const { manifest, segmentsBelow, obsoleteParts } = this.#engine.finishCheckpoint();
      await this.#commit(manifest, { segmentsBelow, obsoleteParts });
      this.#engine.checkpointCommitted();
      for (const id of this.#doubtful) this.#orphans.add(id);
      this.#doubtful.clear();
      this.#dueSegments = segmentsMin;
      this.#dueBytes = bytesMin;
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
      this.#segments = 0;
      this.#bytes = 0;
      if (this.#stopped) return false;
      const needed = begin();
      if (!(needed instanceof NeededParts)) return needed;
      const again = () => (this.#stopped || this.#free() !== undefined ? undefined : begin());
      const begun = await this.#parts.answer(needed, again, "all");
      if (begun !== undefined) return begun;
    }
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

  // Ends early when the checkpointer is stopped.
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
    this.#dueSegments = Math.max(segmentsMin / 4, this.#dueSegments * afterFailure);
    this.#dueBytes = Math.max(bytesMin / 4, this.#dueBytes * afterFailure);
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
