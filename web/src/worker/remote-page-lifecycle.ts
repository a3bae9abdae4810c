// The page's lifecycle events in its worker, as received from the page.

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

  // Called when the page sent its visibility, with or without a lifecycle event.
  update(hidden: boolean, event?: LifecycleEvent): void {
    this.#hidden = hidden;
    if (event === undefined) return;
    for (const listener of [...this.#listeners]) listener(event);
  }
}
