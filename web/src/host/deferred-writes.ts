// The deferred writes that are published but not stored: their size, their messages, and the timer
// that says when to store them. The commit queue stores them (commit-queue.ts). Sizes are the bytes
// of request messages.

import { type PooledRequest, requestPool } from "./request-pool.ts";

const bytesMax = 8 * 1024 * 1024;
const delayUnderLoadMs = 1000;
// Larger segments save nothing, and are in memory twice until stored.
const fullSegmentBytes = 1024 * 1024;
const retryFirstMs = 1000;
const retryMaxMs = 30_000;

// A deferred write that was acknowledged but is not stored yet.
export interface UnstoredWrite {
  readonly request: Uint8Array;
  readonly callNumber: number | undefined; // as given to CommitQueue.write()
}

export interface DeferredWritesOptions {
  deferredDelayMs: number;
  tracksUnstored: boolean; // keeps the messages, for `unstoredWrites`
  hidden: () => boolean; // while true, the writes are stored without delay
  // Called when the timer ends. `remainingMs`: how much longer the writes may wait, because further
  // writes arrived in the meantime; 0 or less: not at all.
  onTimer: (remainingMs: number) => void;
}

export class DeferredWrites {
  readonly #options: DeferredWritesOptions;
  #bytes = 0;
  readonly #writes: PooledRequest[] = []; // empty unless tracksUnstored
  #since = 0; // the oldest write arrived then or later, by performance.now()
  #lastAddedAt = 0; // by Date.now(), which is cheaper than performance.now()
  // As of the last seal. Until the segments are stored, further writes may arrive.
  #bytesInSegment = 0;
  #writesInSegment = 0;
  #sealedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = 0; // not 0: the last attempt to store failed

  constructor(options: DeferredWritesOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  // How many bytes may be added before writes have to wait until others are stored. Not above 0 if
  // the bound is reached.
  get bytesLeft(): number {
    return bytesMax - this.#bytes;
  }

  // In the order of the calls.
  get unstoredWrites(): UnstoredWrite[] {
    return [...this.#writes];
  }

  // Whether the last attempt to store failed.
  get isRetrying(): boolean {
    return this.#retryMs > 0;
  }

  // Copies the message if it has to be kept.
  add(request: Uint8Array, callNumber: number | undefined): void {
    this.#addBytes(request.length);
    if (this.#options.tracksUnstored) this.#writes.push(requestPool.add(request, callNumber));
  }

  // Takes ownership of the message.
  addPooled(pooled: PooledRequest): void {
    this.#addBytes(pooled.size);
    if (this.#options.tracksUnstored) this.#writes.push(pooled);
    else requestPool.release(pooled);
  }

  #addBytes(bytes: number): void {
    this.#lastAddedAt = Date.now();
    if (this.#bytes === 0) this.#since = performance.now();
    this.#bytes += bytes;
  }

  // Forgets the writes, and stops the timer.
  discard(): void {
    this.stopTimer();
    this.#bytes = 0;
    this.#release(this.#writes.length);
  }

  // Releases the messages of the first `count` writes.
  #release(count: number): void {
    const released = this.#writes.splice(0, count);
    requestPool.releaseAll(released, this.#writes.length > 0);
  }

  // ---- When they are stored -------------------------------------------------------------------

  // Called before sealing: all the writes go into the segments.
  beforeSeal(): void {
    this.#bytesInSegment = this.#bytes;
    this.#writesInSegment = this.#writes.length;
    this.#sealedAt = performance.now();
  }

  // Called when the segments that were sealed last are stored.
  onStored(): void {
    this.#bytes -= this.#bytesInSegment;
    this.#release(this.#writesInSegment);
    this.#since = this.#sealedAt; // the remaining writes arrived after that
    this.#retryMs = 0;
  }

  // Called when storing failed. Returns the delay before the next attempt, with exponential
  // back-off.
  backOff(): number {
    this.#retryMs = Math.min(Math.max(this.#retryMs * 2, retryFirstMs), retryMaxMs);
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
      queueMicrotask(() => this.#options.onTimer(0));
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

  // How much longer the writes may wait, in milliseconds. While further writes arrive, all of them
  // wait for one common segment. The upper bound uses the monotonic clock, so that it holds even if
  // the system clock is set back.
  get remainingDelayMs(): number {
    const quietFor = Date.now() - this.#lastAddedAt;
    const pendingFor = performance.now() - this.#since;
    return Math.min(this.#options.deferredDelayMs - quietFor, delayUnderLoadMs - pendingFor);
  }
}
