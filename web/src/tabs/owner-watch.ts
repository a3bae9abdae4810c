// Notices that an owner does not respond although a response is due: its page is frozen or hangs.
// Time is counted in ticks of this page, so a page that was itself frozen does not blame the owner.

const silentTicksMax = 5;

export interface OwnerWatchOptions {
  ownerTimeoutMs: number; // how long the owner may be silent
  isResponseDue(): boolean; // whether a response is expected
  pingOwner(): void; // requests a sign of life
  onSilent(): void; // called each time the owner was silent for ownerTimeoutMs
}

export class OwnerWatch {
  readonly #options: OwnerWatchOptions;
  #timer: ReturnType<typeof setInterval> | undefined;
  #silentTicks = 0;
  #isSilent = false;

  constructor(options: OwnerWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.stop();
    this.#timer = setInterval(() => this.#tick(), this.#options.ownerTimeoutMs / silentTicksMax);
    (this.#timer as { unref?(): void }).unref?.(); // in Node the timer would keep the process alive
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#silentTicks = 0;
  }

  onMessageReceived(): void {
    this.#silentTicks = 0;
    this.#isSilent = false;
  }

  // Returns whether no message has arrived since onSilent().
  get isSilent(): boolean {
    return this.#isSilent;
  }

  #tick(): void {
    if (!this.#options.isResponseDue()) {
      this.#silentTicks = 0;
      return;
    }
    this.#silentTicks += 1;
    if (this.#silentTicks <= silentTicksMax) {
      this.#options.pingOwner();
    } else {
      this.#silentTicks = 0;
      this.#isSilent = true;
      this.#options.onSilent();
    }
  }
}
