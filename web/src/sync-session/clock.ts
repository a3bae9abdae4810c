// Time, as a session of sync sees it. Tests have their own.

import type { Platform } from "../sync/store.ts";
import type { ClockReading } from "../sync/watermark.ts";

export interface Clock {
  now(): ClockReading;
  /** Calls `run` once, after `ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number;
  /** Returns a random GUID. */
  token(): string;
}

/** The times for which one session waits. They end with the session: no promise resolves then. */
export class SessionTime implements Platform {
  readonly #clock: Clock;
  readonly #cancels = new Set<() => void>();
  readonly #backOffs = new Set<() => void>();
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): ClockReading {
    return this.#clock.now();
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  random(): number {
    return this.#clock.random();
  }

  token(): string {
    return this.#clock.token();
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  backOff(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#backOffs.delete(end);
        cancel();
        resolve();
      };
      const cancel = this.after(ms, end);
      this.#backOffs.add(end);
    });
  }

  /** Calls `run` after `ms`, unless it is cancelled or the session has stopped. */
  after(ms: number, run: () => void): () => void {
    if (this.#isStopped) return () => {};
    const stop = this.#clock.after(Math.min(Math.max(0, ms), mostMs), () => {
      this.#cancels.delete(cancel);
      run();
    });
    const cancel = () => {
      this.#cancels.delete(cancel);
      stop();
    };
    this.#cancels.add(cancel);
    return cancel;
  }

  /** Ends the waits before requests are repeated: the remote may be reachable now. */
  endBackOffs(): void {
    for (const end of [...this.#backOffs]) end();
  }

  stop(): void {
    this.#isStopped = true;
    for (const cancel of [...this.#cancels]) cancel();
    this.#backOffs.clear();
  }
}

const mostMs = 0x7fffffff; // of setTimeout
