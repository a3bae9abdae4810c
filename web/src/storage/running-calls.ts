// The calls of a storage that have not ended. Closing waits for them.

export class RunningCalls {
  readonly #calls = new Set<Promise<unknown>>();

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    const running = call();
    this.#calls.add(running);
    try {
      return await running;
    } finally {
      this.#calls.delete(running);
    }
  }

  // Resolves when the calls that are running now have ended.
  async whenEnded(): Promise<void> {
    await Promise.allSettled([...this.#calls]);
  }
}
