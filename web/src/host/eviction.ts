// Whether the browser threw a store's data away. What it evicts is all that an origin has in IndexedDB and its caches, and the
// log looks then as if it had never been written. So a trace of data is left elsewhere (opening/trace.ts), where there is an elsewhere.
//
// The trace comes after the data and goes before it. What a crash leaves between is data without a trace, whose loss nobody
// hears of, and never a trace of data that never was.

import { nextTurn } from "../event-loop.ts";

export interface Trace {
  // When the store was last known to hold data; undefined: never, or it was deleted since.
  lastSeen(): Promise<Date | undefined>;
  leave(at: Date): void;
  wipe(): void;
}

export interface EvictionOptions {
  trace: Trace;
  written: boolean; // there is something in the log
  now: () => number;
  onEvicted: (lastSeen: Date) => void; // not before whoever opens the store could listen
}

export class Eviction {
  readonly #o: EvictionOptions;
  #left = false; // a trace, by this opening

  constructor(options: EvictionOptions) {
    this.#o = options;
    // In a moment: the first that a page has to do with localStorage takes it a millisecond, which whoever opens the store would wait for.
    if (options.written) void nextTurn().then(() => this.stored());
    else void this.#look();
  }

  // The store is about to be closed.
  close(): void {
    if (this.#o.written) this.stored();
  }

  // Something was stored.
  stored(): void {
    if (this.#left) return;
    this.#left = true;
    this.#o.trace.leave(new Date(this.#o.now()));
  }

  async #look(): Promise<void> {
    const { trace, onEvicted } = this.#o;
    const lastSeen = await trace.lastSeen();
    if (lastSeen === undefined) return;
    await nextTurn();
    if (!this.#left) trace.wipe(); // it is told once
    onEvicted(lastSeen);
  }
}
