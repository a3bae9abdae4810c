// Events of one store. A listener that throws does not disturb the others, nor the store: its error is reported as
// an unhandled rejection, like one thrown in a promise.

export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();

  on<K extends keyof Events>(event: K, listener: (event: Events[K]) => void): () => void {
    let listeners = this.#listeners.get(event);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(event, listeners);
    }
    const entry = (value: Events[K]) => listener(value); // the same function may be added twice
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
