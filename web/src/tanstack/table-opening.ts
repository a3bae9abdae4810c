// The table of a collection of TanStack DB, which an application may open late.

import type { Table } from "../types.ts";

export class TableOpening<T extends object> {
  readonly #source: Table<T> | (() => Table<T> | Promise<Table<T>>);
  #opened: Promise<Table<T>> | undefined;

  constructor(source: Table<T> | (() => Table<T> | Promise<Table<T>>)) {
    this.#source = source;
  }

  /** Returns the table. A function that returns it is called again only if it failed. */
  table(): Promise<Table<T>> {
    const source = this.#source;
    if (this.#opened !== undefined) return this.#opened;
    const opened = (async () => (typeof source === "function" ? await source() : source))();
    this.#opened = opened;
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined;
    });
    return opened;
  }

  /** The next call of table() opens the table again. */
  forget(): void {
    this.#opened = undefined;
  }
}
