// The life of a page, as the page tells it to its worker.

import type { LifeEvent, PageLife } from "../host/page-life.ts";

export class ToldLife implements PageLife {
  #hidden = false;
  readonly #listeners = new Set<(event: LifeEvent) => void>();

  hidden(): boolean {
    return this.#hidden;
  }

  watch(listener: (event: LifeEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(hidden: boolean, event?: LifeEvent): void {
    this.#hidden = hidden;
    if (event === undefined) return;
    for (const listener of [...this.#listeners]) listener(event);
  }
}
