// Whether the browser threw a store's data away. What it evicts is all that an origin has in IndexedDB and its caches, and the
// log looks then as if it had never been written. So a trace of data is left elsewhere (opening/trace.ts), where there is an elsewhere.
//
// The trace comes after the data and goes before it. What a crash leaves between is data without a trace, whose loss nobody
// hears of, and never a trace of data that never was.

import { yieldToEventLoop } from "../util/event-loop.ts";

export interface LastSeenMarker {
  // When the store was last known to hold data; undefined: never, or it was deleted since.
  lastSeen(): Promise<Date | undefined>;
  set(at: Date): void;
  clear(): void;
}

export interface EvictionOptions {
  marker: LastSeenMarker;
  hasData: boolean; // there is something in the log
  now: () => number;
  onEvicted: (lastSeen: Date) => void; // not before whoever opens the store could listen
}

export class EvictionDetector {
  readonly #options: EvictionOptions;
  #isMarked = false; // a trace, by this opening

  constructor(options: EvictionOptions) {
    this.#options = options;
    // In a moment: the first that a page has to do with localStorage takes it a millisecond, which whoever opens the store would wait for.
    if (options.hasData) void yieldToEventLoop().then(() => this.onStored());
    else void this.#detect();
  }

  // The store is about to be closed.
  close(): void {
    if (this.#options.hasData) this.onStored();
  }

  // Something was stored.
  onStored(): void {
    if (this.#isMarked) return;
    this.#isMarked = true;
    this.#options.marker.set(new Date(this.#options.now()));
  }

  async #detect(): Promise<void> {
    const { marker, onEvicted } = this.#options;
    const lastSeen = await marker.lastSeen();
    if (lastSeen === undefined) return;
    await yieldToEventLoop();
    if (!this.#isMarked) marker.clear(); // it is told once
    onEvicted(lastSeen);
  }
}
