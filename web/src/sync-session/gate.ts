// Holds back requests while the session is paused or the platform is offline, and knows which are
// on their way.

export class Gate {
  #isOpen: boolean;
  #waiting: (() => void)[] = [];
  #ended: (() => void)[] = [];
  inFlight = 0;

  constructor(isOpen: boolean) {
    this.#isOpen = isOpen;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  set isOpen(isOpen: boolean) {
    this.#isOpen = isOpen;
    if (!isOpen) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when the gate is open. */
  async opened(): Promise<void> {
    while (!this.#isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Sends a request as soon as the gate is open. It then ends also if the gate closes. */
  async pass<T>(send: () => Promise<T>): Promise<T> {
    while (!this.#isOpen) await this.opened();
    this.inFlight += 1;
    try {
      return await send();
    } finally {
      this.inFlight -= 1;
      if (this.inFlight === 0) for (const resolve of this.#ended.splice(0)) resolve();
    }
  }

  /** Resolves when no request is on its way. */
  async idle(): Promise<void> {
    if (this.inFlight > 0) await new Promise<void>((resolve) => this.#ended.push(resolve));
  }
}
