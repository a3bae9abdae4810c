// Tracks how far the log has grown since the last checkpoint, and decides whether the next
// checkpoint is worth its work.

import type { Engine } from "../wasm/engine.ts";

// A checkpoint is due after this much log, so that opening replays little history. A checkpoint
// rewrites whole parts, so scattered changes make it expensive. The log may then grow in proportion
// to that work: to a quarter of it in bytes, and to 16 segments per megabyte. The maximum bounds
// the time to open.
const segmentsMin = 256;
const bytesMin = 4 * 1024 * 1024;
const segmentsPerMegabyte = 16;
const shareOfWork = 1 / 4;
const bytesMax = 16 * 1024 * 1024; // or shareOfRows of the store's size, if that is more
const shareOfRows = 1 / 32;
// A due checkpoint waits for writes to pause, but not beyond this size of the log, which opening
// reads in a fraction of a second.
const burstSegmentsMax = 2048;
const burstBytesMax = 32 * 1024 * 1024;
// In an idle store, a smaller log is worth a checkpoint, under the same rule.
const idleSegmentsMin = 64;
const idleBytesMin = 256 * 1024;
const retryShare = 1 / 2; // of the due size: how far the log grows before a retry

export interface LogSize {
  segments: number;
  bytes: number;
}

export class LogGrowth {
  readonly #engine: Pick<Engine, "stats" | "checkpointBytes">;
  #size: LogSize; // since the last checkpoint began, or since the last attempt
  #covered: LogSize = { segments: 0, bytes: 0 }; // covered by the checkpoint under way
  #due: LogSize = { segments: segmentsMin, bytes: bytesMin };

  constructor(engine: Pick<Engine, "stats" | "checkpointBytes">) {
    this.#engine = engine;
    const stats = engine.stats();
    this.#size = {
      segments: stats.segmentsSinceCheckpoint,
      bytes: stats.segmentBytesSinceCheckpoint,
    };
  }

  get hasSegments(): boolean {
    return this.#size.segments > 0;
  }

  get isDue(): boolean {
    return this.#size.segments >= this.#due.segments || this.#size.bytes >= this.#due.bytes;
  }

  // Whether a checkpoint must begin even during a burst of writes. Counts the log that a checkpoint
  // under way covers, since opening reads it if the checkpoint fails.
  get isOverdue(): boolean {
    return (
      this.#size.segments + this.#covered.segments >=
        Math.max(this.#due.segments, burstSegmentsMax) ||
      this.#size.bytes + this.#covered.bytes >= Math.max(this.#due.bytes, burstBytesMax)
    );
  }

  // Whether an idle log is worth a checkpoint. `costFactor`: how many times the proportionate work
  // is acceptable.
  isWorthCheckpoint(costFactor: number): boolean {
    const { segments, bytes } = this.#size;
    if (segments < idleSegmentsMin && bytes < idleBytesMin) return false;
    const proportion = this.#proportionateSize();
    return (
      segments >= Math.max(idleSegmentsMin, proportion.segments / costFactor) ||
      bytes >= Math.max(idleBytesMin, proportion.bytes / costFactor)
    );
  }

  add({ segments, bytes }: LogSize): void {
    this.#size.segments += segments;
    this.#size.bytes += bytes;
  }

  // Raises the due size if the work would be out of proportion to the log.
  postpone(): void {
    const { bytes, segments } = this.#proportionateSize();
    this.#due.bytes = Math.max(this.#due.bytes, bytes);
    this.#due.segments = Math.max(this.#due.segments, segments);
  }

  // Called before a checkpoint begins; may be called again until it does.
  begin(): void {
    this.#covered.segments += this.#size.segments;
    this.#covered.bytes += this.#size.bytes;
    this.#size = { segments: 0, bytes: 0 };
  }

  committed(): void {
    this.#due = { segments: segmentsMin, bytes: bytesMin };
    this.ended();
  }

  failed(): void {
    this.#due.segments = Math.max(segmentsMin / 4, this.#due.segments * retryShare);
    this.#due.bytes = Math.max(bytesMin / 4, this.#due.bytes * retryShare);
    this.ended();
  }

  // Called when a checkpoint ended, whether it succeeded or not.
  ended(): void {
    this.#covered = { segments: 0, bytes: 0 };
  }

  // Returns the log size that is in proportion to the work of a checkpoint now.
  #proportionateSize(): LogSize {
    const work = this.#engine.checkpointBytes();
    const most = Math.max(bytesMax, shareOfRows * this.#engine.stats().bytes);
    const segments = (segmentsPerMegabyte * work) / (1024 * 1024);
    return { segments, bytes: Math.min(shareOfWork * work, most) };
  }
}
