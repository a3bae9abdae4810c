// Calls back after a period without activity. The period is between `ms` and twice `ms`: activity
// does not restart the timer but only makes it run once more, which is cheap.

export class IdleTimer {
  readonly #ms: number;
  readonly #onIdle: () => void;
  #isQuiet = true; // no activity since the timer was set
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, onIdle: () => void) {
    this.#ms = ms;
    this.#onIdle = onIdle;
  }

  // Calls onIdle once, after a period without activity.
  start(): void {
    if (this.#timer !== undefined) return;
    this.#isQuiet = true;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isQuiet) this.#onIdle();
      else this.start();
    }, this.#ms);
    (this.#timer as { unref?: () => void }).unref?.(); // does not keep a Node process alive
  }

  // Must be called on each activity.
  noteActivity(): void {
    this.#isQuiet = false;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
