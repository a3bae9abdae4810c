// Waits until nothing has happened for a while: from once to twice as long, since there is one timer at a time, however much happens.

export class Lull {
  readonly #ms: number;
  readonly #over: () => void;
  #quiet = true; // since the timer was set
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, over: () => void) {
    this.#ms = ms;
    this.#over = over;
  }

  // Calls `over` once, when it has been quiet for long enough.
  await(): void {
    if (this.#timer !== undefined) return;
    this.#quiet = true;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#quiet) this.#over();
      else this.await();
    }, this.#ms);
    (this.#timer as { unref?: () => void }).unref?.(); // keeps no process alive
  }

  // Something happened.
  disturb(): void {
    this.#quiet = false;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
