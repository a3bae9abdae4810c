// How far the log has grown since the last checkpoint, and whether that is worth the next one.

import type { Engine } from "../wasm/engine.ts";

// A checkpoint is due after this much log, so that opening reads little history. If it would have much to write, because changes lie far
// apart (a part is written whole for one changed row in it), the log may grow in proportion: to a quarter of that in bytes, to sixteen
// segments a megabyte; but never beyond what is bearable to read on opening.
const segmentsMin = 256;
const bytesMin = 4 * 1024 * 1024;
const segmentsPerMegabyte = 16;
const shareOfWork = 1 / 4;
const bytesMax = 16 * 1024 * 1024; // or a share of the rows, in a store that is larger than
const shareOfRows = 1 / 32;
// One that is due gives way to writes, but not for ever: a log of this size is read in a fraction of a second on opening.
const burstSegmentsMax = 2048;
const burstBytesMax = 32 * 1024 * 1024;
// When nothing was stored for a while a smaller log is worth it, under the same rule.
const idleSegmentsMin = 64;
const idleBytesMin = 256 * 1024;
const retryShare = 1 / 2; // of what was due, before the next attempt

export interface LogSize {
  segments: number;
  bytes: number;
}

export class LogGrowth {
  readonly #engine: Pick<Engine, "stats" | "checkpointBytes">;
  #size: LogSize; // since the last checkpoint began, or since the last attempt
  #covered: LogSize = { segments: 0, bytes: 0 }; // by the checkpoint under way
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

  // However much goes on. What a checkpoint under way covers would be read too, if it did not get done.
  get isOverdue(): boolean {
    return (
      this.#size.segments + this.#covered.segments >=
        Math.max(this.#due.segments, burstSegmentsMax) ||
      this.#size.bytes + this.#covered.bytes >= Math.max(this.#due.bytes, burstBytesMax)
    );
  }

  // Of a log that nobody adds to for now. `costFactor`: how many times what is in proportion the work may be.
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

  // As long as the work would be out of proportion to the log.
  postpone(): void {
    const { bytes, segments } = this.#proportionateSize();
    this.#due.bytes = Math.max(this.#due.bytes, bytes);
    this.#due.segments = Math.max(this.#due.segments, segments);
  }

  // A checkpoint is about to begin. May be said again until it has.
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

  // In whatever way.
  ended(): void {
    this.#covered = { segments: 0, bytes: 0 };
  }

  // The log that is in proportion to the work of a checkpoint now.
  #proportionateSize(): LogSize {
    const work = this.#engine.checkpointBytes();
    const most = Math.max(bytesMax, shareOfRows * this.#engine.stats().bytes);
    const segments = (segmentsPerMegabyte * work) / (1024 * 1024);
    return { segments, bytes: Math.min(shareOfWork * work, most) };
  }
}
