// Runs work that must not run twice at once, and of which a caller needs a run that began after the
// call.

export class Runs<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Callers that wait for the current run to end share the next one. */
  run(): Promise<T> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#next;
  }

  #begin(): Promise<T> {
    this.#next = undefined;
    const run = this.#work().finally(() => {
      // The next run begins in a later microtask: until then, there is still one that runs.
      if (this.#running === run && this.#next === undefined) this.#running = undefined;
    });
    this.#running = run;
    return run;
  }
}
