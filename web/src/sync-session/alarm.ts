// Wakes one loop, after a time or at once.

import type { SessionTime } from "./clock.ts";

export class Alarm {
  readonly #time: SessionTime;
  #hasRung = false;
  #wake: (() => void) | undefined;

  constructor(time: SessionTime) {
    this.#time = time;
  }

  /** Ends the wait, or the next one if the loop does not wait now. */
  ring(): void {
    if (this.#wake) this.#wake();
    else this.#hasRung = true;
  }

  /** Ends the wait, if the loop waits now. */
  endWait(): void {
    this.#wake?.();
  }

  /** REQUIRES: one wait at a time. */
  async wait(ms: number): Promise<void> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const cancel = ms === Number.POSITIVE_INFINITY ? () => {} : this.#time.after(ms, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#hasRung = false;
  }
}
