// The page's lifecycle, as the page reports it to its worker.

import type { LifecycleEvent, PageLifecycle } from "../host/page-lifecycle.ts";

export class RemotePageLifecycle implements PageLifecycle {
  #hidden = false;
  readonly #listeners = new Set<(event: LifecycleEvent) => void>();

  hidden(): boolean {
    return this.#hidden;
  }

  watch(listener: (event: LifecycleEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  // Sets the page's visibility, and passes on a lifecycle event if there is one.
  update(hidden: boolean, event?: LifecycleEvent): void {
    this.#hidden = hidden;
    if (event === undefined) return;
    for (const listener of [...this.#listeners]) listener(event);
  }
}
