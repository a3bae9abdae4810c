// The deferred writes that are published but not stored: their size, their messages, and the timer
// that says when to store them. The commit queue stores them (commit-queue.ts). Sizes are the bytes
// of request messages. The writes are numbered from 1 on in the order in which they were accepted:
// their positions.

import { nextRetryMs } from "../util/back-off.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { type PooledRequest, requestPool } from "./request-pool.ts";

const bytesMax = 8 * 1024 * 1024;
// Larger segments save nothing, and are in memory twice until stored.
const fullSegmentBytes = 1024 * 1024;
// Pending writes may use the reserve of the storage for a delete and this much after it.
const bytesAfterDeleteMax = 256 * 1024;

// A deferred write of this tab that was acknowledged, and may not be stored.
export interface UnstoredWrite {
  readonly request: Uint8Array;
  readonly callNumber: number; // as given to CommitQueue.write()
  readonly appliedAfter: number; // it was applied by a later commit than this one
}

export interface DeferredWritesOptions {
  deferredDelayMs: number;
  // The id of this tab's client; if set, the messages of its writes are kept for `unstoredWrites`.
  client: Uint8Array | undefined;
  hidden: () => boolean; // while true, the writes are stored without delay
  lastCommit: () => number; // the number of the newest published commit
  // Called when the timer ends. `remainingMs`: how much longer the writes may wait, because those
  // for which the timer was started are stored; 0 or less: not at all.
  onTimer: (remainingMs: number) => void;
}

export class DeferredWrites {
  readonly #options: DeferredWritesOptions;
  #bytes = 0;
  #bytesThroughDelete = 0; // of the writes through the newest that only deletes; 0: there is none
  readonly #writes: PooledRequest[] = []; // this tab's
  #accepted = 0; // the position of the newest write
  #stored = 0; // the position of the newest stored write
  #since = 0; // the oldest write arrived then or later, by performance.now()
  // As of the last seal. Until the segments are stored, further writes may arrive.
  #bytesInSegment = 0;
  #writesInSegment = 0;
  #acceptedInSegment = 0;
  #sealedAt = 0;
  #lastCommitInSegment: number;
  #lastStoredCommit: number; // all `#writes` were applied by later ones
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = 0; // not 0: the last attempt to store failed
  #mustBeStrict = false; // one of the writes
  #isSegmentStrict = false; // as of the last seal

  constructor(options: DeferredWritesOptions) {
    this.#options = options;
    this.#lastCommitInSegment = this.#lastStoredCommit = options.lastCommit();
  }

  get bytes(): number {
    return this.#bytes;
  }

  // How many bytes may be added before writes have to wait until others are stored. Not above 0 if
  // the bound is reached.
  get bytesLeft(): number {
    return bytesMax - this.#bytes;
  }

  // Whether the writes may use the reserve: an acknowledged delete must be stored, and with it the
  // writes before it. Writes after it are stored with it, but must not use up the reserve.
  get mayUseReserve(): boolean {
    const bytesAfter = this.#bytes - this.#bytesThroughDelete;
    return this.#bytesThroughDelete > 0 && bytesAfter <= bytesAfterDeleteMax;
  }

  // The writes of this tab, in the order of the calls.
  get unstoredWrites(): UnstoredWrite[] {
    const appliedAfter = this.#lastStoredCommit;
    return this.#writes.map(({ request, callNumber = 0 }) => ({
      request,
      callNumber,
      appliedAfter,
    }));
  }

  // The positions of the newest accepted and of the newest stored write.
  get positions(): { accepted: number; stored: number } {
    return { accepted: this.#accepted, stored: this.#stored };
  }

  // How the writes must be stored.
  get durability(): "strict" | "relaxed" {
    return this.#mustBeStrict ? "strict" : "relaxed";
  }

  // The newest write, and so all before it, must be stored with strict durability.
  requireStrict(): void {
    this.#mustBeStrict = true;
  }

  // Whether the last attempt to store failed.
  get isRetrying(): boolean {
    return this.#retryMs > 0;
  }

  // Adds a write and returns its position. Copies the message if it has to be kept. A write of this
  // tab has a call number. `onlyDeletes`: whether all that it changes are deletes.
  add(request: Uint8Array, callNumber: number | undefined, onlyDeletes: boolean): number {
    if (this.#keeps(callNumber)) this.#writes.push(requestPool.add(request, callNumber));
    return this.addBytes(request.length, onlyDeletes);
  }

  // Like add(), but takes ownership of the message.
  addPooled(pooled: PooledRequest, onlyDeletes: boolean): number {
    const { size } = pooled;
    if (this.#keeps(pooled.callNumber)) this.#writes.push(pooled);
    else requestPool.release(pooled);
    return this.addBytes(size, onlyDeletes);
  }

  #keeps(callNumber: number | undefined): boolean {
    return callNumber !== undefined && this.#options.client !== undefined;
  }

  // Like add(), for writes of another tab with this total size. They have one position.
  addBytes(bytes: number, onlyDeletes: boolean): number {
    if (this.#bytes === 0) this.#since = performance.now();
    this.#bytes += bytes;
    if (onlyDeletes) this.#bytesThroughDelete = this.#bytes;
    return ++this.#accepted;
  }

  // Forgets the writes, and stops the timer.
  discard(): void {
    this.stopTimer();
    this.#bytes = 0;
    this.#bytesThroughDelete = 0;
    this.#mustBeStrict = false;
    this.#stored = this.#accepted;
    this.#release(this.#writes.length);
  }

  // Releases the messages of the first `count` writes.
  #release(count: number): void {
    const released = this.#writes.splice(0, count);
    requestPool.releaseMany(released, this.#writes.length > 0);
  }

  // ---- When they are stored -------------------------------------------------------------------

  // Called before sealing: all the writes go into the segments.
  beforeSeal(): void {
    this.#isSegmentStrict = this.#mustBeStrict;
    this.#mustBeStrict = false;
    this.#bytesInSegment = this.#bytes;
    this.#writesInSegment = this.#writes.length;
    this.#acceptedInSegment = this.#accepted;
    this.#sealedAt = performance.now();
    this.#lastCommitInSegment = this.#options.lastCommit();
  }

  // Called when the segments that were sealed last are stored.
  onStored(): void {
    this.#bytes -= this.#bytesInSegment;
    this.#bytesThroughDelete = Math.max(0, this.#bytesThroughDelete - this.#bytesInSegment);
    this.#release(this.#writesInSegment);
    this.#writesInSegment = 0;
    this.#stored = this.#acceptedInSegment;
    this.#lastStoredCommit = this.#lastCommitInSegment;
    this.#since = this.#sealedAt; // the remaining writes arrived after that
    if (this.#retryMs > 0) this.stopTimer(); // it ends too late for the remaining writes
    this.#retryMs = 0;
  }

  // Called when storing failed. Returns the delay before the next attempt, with exponential
  // back-off.
  backOff(): number {
    this.#mustBeStrict ||= this.#isSegmentStrict;
    this.#retryMs = nextRetryMs(this.#retryMs);
    return this.#retryMs;
  }

  // ---- The timer ------------------------------------------------------------------------------

  // Starts the timer, unless it is running. After a failure it waits at least until the next
  // attempt. Otherwise, if the writes fill a segment or the page is hidden, calls onTimer() without
  // delay.
  startTimer(delayMs: number): void {
    const isSegmentFull = this.#bytes >= fullSegmentBytes;
    if (this.#retryMs === 0 && (isSegmentFull || this.#options.hidden())) {
      // Not a timer: browsers slow them down in hidden pages.
      inMicrotask(() => this.#options.onTimer(0));
      return;
    }
    if (this.#timer !== undefined) return;
    const wait = Math.max(delayMs, this.#retryMs);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#options.onTimer(this.#retryMs > 0 ? 0 : this.remainingDelayMs);
    }, wait);
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  // How much longer the oldest write may wait, in milliseconds. Later writes do not prolong it.
  // Uses the monotonic clock, so that it holds even if the system clock is set back.
  get remainingDelayMs(): number {
    return this.#options.deferredDelayMs - (performance.now() - this.#since);
  }
}
