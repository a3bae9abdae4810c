// The virtual clock of mock stores.

import { StoreError } from "../errors.ts";
import type { Clock } from "../types.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";

const longestTimer = 2 ** 31 - 1; // setTimeout fires immediately if the delay is longer

interface PendingWait {
  readonly until: number;
  readonly resolve: () => void;
}

/** The clock of a mock store, in milliseconds. */
export class VirtualClock implements Clock {
  readonly #base: Clock;
  #isRunning: boolean; // without advance(), because the base clock runs
  #offset = 0; // relative to the base clock
  #startedAt: number;
  #autoAdvance = true;
  #waiting: PendingWait[] = [];
  #isAdvancing = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Creates a clock that stands still at this time, or one that follows the given clock. Throws
   * StoreError ValidationFailed for other values.
   */
  constructor(from: Date | string | Clock) {
    this.#isRunning = isClock(from);
    this.#base = isClock(from) ? from : frozenClock(timeOf(from));
    this.#startedAt = this.now();
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#base.now() + this.#offset;
  }

  /** Milliseconds that have passed on this clock since it was created. */
  get elapsedMs(): number {
    return this.now() - this.#startedAt;
  }

  advance(ms: number): void {
    checkLength(ms);
    this.set(this.now() + ms);
  }

  /**
   * Sets the clock, also to an earlier time. The timestamps and ETags of a store still only
   * increase.
   */
  set(time: Date | string | number): void {
    this.#offset += timeOf(time) - this.now();
    this.#wake();
    this.#setTimer();
  }

  /**
   * Whether the clock advances by itself: as soon as nothing else is pending, it advances to the
   * end of the next wait. Default true. If false, a wait ends when the clock is advanced, or when a
   * running clock reaches the time.
   */
  get autoAdvance(): boolean {
    return this.#autoAdvance;
  }
  set autoAdvance(on: boolean) {
    this.#autoAdvance = on;
    void this.#autoAdvanceWaits();
    this.#setTimer();
  }

  /**
   * Resolves when `ms` milliseconds have passed on this clock. If the signal aborts, rejects with
   * its reason, and the clock does not advance for this wait.
   */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    checkLength(ms);
    signal?.throwIfAborted();
    let cancel = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const waiting = { until: this.now() + ms, resolve };
        cancel = () => {
          this.#waiting = this.#waiting.filter((other) => other !== waiting);
          this.#setTimer();
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", cancel);
        this.#begin(waiting);
      });
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Returns an independent clock with the same time. */
  copy(): VirtualClock {
    const copy = new VirtualClock(this.#base);
    copy.#isRunning = this.#isRunning;
    copy.#offset = this.#offset;
    copy.#startedAt = this.#startedAt;
    copy.#autoAdvance = this.#autoAdvance;
    return copy;
  }

  #begin(waiting: PendingWait): void {
    this.#waiting.push(waiting);
    // the sort is stable: of equal times, the earlier wait ends first
    this.#waiting.sort((a, b) => a.until - b.until);
    this.#wake();
    void this.#autoAdvanceWaits();
    this.#setTimer();
  }

  #wake(): void {
    const now = this.now();
    const due = this.#waiting.filter(({ until }) => until <= now);
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    for (const { resolve } of due) resolve();
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const [next] = this.#waiting;
    if (next === undefined || this.#autoAdvance || !this.#isRunning) return;
    const ms = Math.min(Math.max(1, next.until - this.now()), longestTimer);
    this.#timer = setTimeout(() => {
      this.#wake();
      this.#setTimer();
    }, ms);
  }

  // Advances the clock from the end of one wait to the next. Yields to the event loop in between,
  // so that code that continues after a wait can wait again.
  async #autoAdvanceWaits(): Promise<void> {
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    for (;;) {
      await yieldToEventLoop();
      const [next] = this.#waiting;
      if (next === undefined || !this.#autoAdvance) break;
      if (next.until > this.now()) this.set(next.until);
      else this.#wake();
    }
    this.#isAdvancing = false;
  }
}

function isClock(from: Date | string | Clock): from is Clock {
  return typeof from !== "string" && "now" in from;
}

function frozenClock(time: number): Clock {
  return { now: () => time };
}

function checkLength(ms: number): void {
  if (ms >= 0 && ms < Number.POSITIVE_INFINITY) return;
  throw new StoreError("ValidationFailed", `A clock goes on by milliseconds, not by ${ms}.`);
}

function timeOf(time: Date | string | number): number {
  const ms = typeof time === "number" ? time : new Date(time).getTime();
  if (Number.isFinite(ms)) return ms;
  throw new StoreError("ValidationFailed", `This is no time: ${String(time)}.`);
}
