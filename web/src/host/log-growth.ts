// Tracks how far the log has grown since the last checkpoint, and decides whether the next
// checkpoint is worth its work.

import type { Engine } from "../wasm/engine.ts";

// A checkpoint is due when the log exceeds segmentsMin or bytesMin, so that opening replays little.
// But a checkpoint rewrites whole parts, which is expensive if the changes are scattered over many
// parts. The log may therefore grow in proportion to the bytes that the checkpoint would write: to
// a quarter of them, or to 16 segments per megabyte. bytesMax bounds that, and thus the time to
// open.
const segmentsMin = 256;
const bytesMin = 4 * 1024 * 1024;
const segmentsPerMegabyte = 16;
const shareOfWork = 1 / 4;
const bytesMax = 16 * 1024 * 1024; // or shareOfRows of the store's size, if that is more
const shareOfRows = 1 / 32;
// A due checkpoint waits until writes pause, unless the log exceeds this size. Opening reads that
// much in a fraction of a second.
const burstSegmentsMax = 2048;
const burstBytesMax = 32 * 1024 * 1024;
// In an idle store, a smaller log is enough for a checkpoint. The proportion above still applies.
const idleSegmentsMin = 64;
const idleBytesMin = 256 * 1024;
// after a failure, the log grows by this share of the due size before the next attempt
const retryShare = 1 / 2;

export interface LogSize {
  segments: number;
  bytes: number;
}

export class LogGrowth {
  readonly #engine: Pick<Engine, "stats" | "estimateCheckpointBytes">;
  #size: LogSize; // written since the last checkpoint or attempt began
  #covered: LogSize = { segments: 0, bytes: 0 }; // what the checkpoint in progress covers
  #due: LogSize = { segments: segmentsMin, bytes: bytesMin };

  constructor(engine: Pick<Engine, "stats" | "estimateCheckpointBytes">) {
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

  // Whether a checkpoint must begin even during a burst of writes. Also counts the log that a
  // checkpoint in progress covers, because opening reads it if that checkpoint fails.
  get isOverdue(): boolean {
    return (
      this.#size.segments + this.#covered.segments >=
        Math.max(this.#due.segments, burstSegmentsMax) ||
      this.#size.bytes + this.#covered.bytes >= Math.max(this.#due.bytes, burstBytesMax)
    );
  }

  // Whether the log of an idle store is large enough for a checkpoint. A `costFactor` of n accepts
  // n times the work that is in proportion to the log.
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

  // Raises the size at which a checkpoint is due, if the checkpoint would take too much work for
  // this log.
  postponeIfTooCostly(): void {
    const { bytes, segments } = this.#proportionateSize();
    this.#due.bytes = Math.max(this.#due.bytes, bytes);
    this.#due.segments = Math.max(this.#due.segments, segments);
  }

  // Called before a checkpoint begins: counts the log so far as covered. May be called again until
  // the checkpoint has begun.
  onCheckpointBegin(): void {
    this.#covered.segments += this.#size.segments;
    this.#covered.bytes += this.#size.bytes;
    this.#size = { segments: 0, bytes: 0 };
  }

  onCheckpointCommitted(): void {
    this.#due = { segments: segmentsMin, bytes: bytesMin };
    this.onCheckpointEnded();
  }

  onCheckpointFailed(): void {
    this.#due.segments = Math.max(segmentsMin / 4, this.#due.segments * retryShare);
    this.#due.bytes = Math.max(bytesMin / 4, this.#due.bytes * retryShare);
    this.onCheckpointEnded();
  }

  // Called when a checkpoint ended, whether it succeeded or failed.
  onCheckpointEnded(): void {
    this.#covered = { segments: 0, bytes: 0 };
  }

  // Returns the size that the log must have now for a checkpoint to be worth its work.
  #proportionateSize(): LogSize {
    const work = this.#engine.estimateCheckpointBytes();
    const most = Math.max(bytesMax, shareOfRows * this.#engine.stats().bytes);
    const segments = (segmentsPerMegabyte * work) / (1024 * 1024);
    return { segments, bytes: Math.min(shareOfWork * work, most) };
  }
}
