// The events of one store. If a listener throws, the other listeners still run, and the error is
// reported as an unhandled rejection.

import { isolatedListener } from "../util/isolated-listener.ts";

export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();

  on<K extends keyof Events>(event: K, listener: (event: Events[K]) => void): () => void {
    let listeners = this.#listeners.get(event);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(event, listeners);
    }
    const entry = isolatedListener(listener); // a new function: a listener may be added twice
    listeners.add(entry);
    return () => void listeners.delete(entry);
  }

  emit<K extends keyof Events>(event: K, value: Events[K]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      (listener as (value: Events[K]) => void)(value);
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}
