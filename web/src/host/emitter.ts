// The events of one store. If a listener throws, the other listeners still run, and the error is
// reported as an unhandled rejection.

export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();

  on<K extends keyof Events>(event: K, listener: (event: Events[K]) => void): () => void {
    let listeners = this.#listeners.get(event);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(event, listeners);
    }
    // a new function, because the same listener may be added twice
    const entry = (value: Events[K]) => listener(value);
    listeners.add(entry);
    return () => void listeners.delete(entry);
  }

  emit<K extends keyof Events>(event: K, value: Events[K]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      try {
        (listener as (value: Events[K]) => void)(value);
      } catch (error) {
        void Promise.reject(error);
      }
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}
