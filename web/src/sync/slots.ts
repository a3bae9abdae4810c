// Bounds how many tasks send requests at once. A task that waits for time to pass, or for the
// application, gives its slot back meanwhile, so that it does not stop the others.

export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  readonly #onFree: () => void;

  /** `onFree`: called when a task waits, and no other one has waited for its slot. */
  constructor(count: number, onFree: () => void) {
    this.#free = count;
    this.#onFree = onFree;
  }

  get hasFree(): boolean {
    return this.#free > 0;
  }

  async run(work: (slot: Slot) => Promise<void>): Promise<void> {
    await this.acquire();
    try {
      await work(new Slot(this));
    } finally {
      this.release();
    }
  }

  async acquire(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }

  pause(): void {
    this.release();
    if (this.hasFree) this.#onFree();
  }
}

/** The slot of one task. */
export class Slot {
  readonly #slots: Slots;

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  /** Waits without the slot. REQUIRES: the task has no other branch that runs or waits. */
  async pause<T>(wait: Promise<T>): Promise<T> {
    this.#slots.pause();
    try {
      return await wait;
    } finally {
      await this.#slots.acquire();
    }
  }
}
