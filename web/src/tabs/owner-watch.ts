// Notices that an owner from whom an answer is due says nothing: its page is frozen, or hangs. Time is counted in ticks of
// this page, so a page that was itself asleep does not think the owner was.

const silentTicksMax = 5;

export interface OwnerWatchOptions {
  silenceMs: number; // for how long it may say nothing
  due(): boolean; // whether an answer is expected
  ask(): void; // whether it is there
  onSilent(): void;
}

export class OwnerWatch {
  readonly #o: OwnerWatchOptions;
  #timer: ReturnType<typeof setInterval> | undefined;
  #silentTicks = 0;
  #silent = false;

  constructor(options: OwnerWatchOptions) {
    this.#o = options;
  }

  start(): void {
    this.stop();
    this.#timer = setInterval(() => this.#tick(), this.#o.silenceMs / silentTicksMax);
    (this.#timer as { unref?(): void }).unref?.(); // in Node it would keep the process alive
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#silentTicks = 0;
  }

  heard(): void {
    this.#silentTicks = 0;
    this.#silent = false;
  }

  // Whether nothing was heard since onSilent().
  get silent(): boolean {
    return this.#silent;
  }

  #tick(): void {
    if (!this.#o.due()) {
      this.#silentTicks = 0;
      return;
    }
    this.#silentTicks += 1;
    if (this.#silentTicks <= silentTicksMax) {
      this.#o.ask();
    } else {
      this.#silentTicks = 0;
      this.#silent = true;
      this.#o.onSilent();
    }
  }
}
