// Counts the callbacks of live queries, and waits for them.

export class Callbacks {
  count = 0;
  readonly #waiting = new Set<() => void>();

  readonly note = (): void => {
    this.count += 1;
    for (const check of this.#waiting) check();
  };

  // Resolves when there have been this many callbacks in all.
  async reach(count: number): Promise<void> {
    await this.until(() => this.count >= count);
  }

  // Resolves when the condition holds. It is checked now and after each callback.
  async until(condition: () => boolean): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!condition()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
    });
  }
}
