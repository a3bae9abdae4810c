// Notices that an owner does not respond for too long, because its page is frozen or hangs. Time is
// counted in timer ticks of this page. If this page itself was frozen, that time does not count.

const silentTicksMax = 5;

export interface OwnerWatchOptions {
  ownerTimeoutMs: number; // how long the owner may be silent
  isResponseDue(): boolean; // whether a response is expected
  pingOwner(): void; // sends a message that the owner answers
  onSilent(): void; // called whenever the owner was silent for ownerTimeoutMs
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
    (this.#timer as { unref?(): void }).unref?.(); // it must not keep a Node process alive
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#silentTicks = 0;
  }

  onMessageReceived(): void {
    this.#silentTicks = 0;
    this.#isSilent = false;
  }

  // Returns whether onSilent() was called, and no message has arrived since then.
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
