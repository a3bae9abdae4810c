// Waits until nothing has happened for a while: from once to twice as long, since there is one timer at a time, however much happens.

export class IdleTimer {
  readonly #ms: number;
  readonly #onIdle: () => void;
  #isQuiet = true; // since the timer was set
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, onIdle: () => void) {
    this.#ms = ms;
    this.#onIdle = onIdle;
  }

  // Calls `over` once, when it has been quiet for long enough.
  start(): void {
    if (this.#timer !== undefined) return;
    this.#isQuiet = true;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isQuiet) this.#onIdle();
      else this.start();
    }, this.#ms);
    (this.#timer as { unref?: () => void }).unref?.(); // keeps no process alive
  }

  // Something happened.
  noteActivity(): void {
    this.#isQuiet = false;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
