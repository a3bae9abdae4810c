// Detects that the browser evicted a store's data. Eviction removes all that an origin has in
// IndexedDB and its caches, so that the log looks as if it had never been written. A marker outside
// IndexedDB therefore records that the store held data (open/last-seen-marker.ts).
//
// The marker is set after data is stored, and cleared before data is deleted. A crash in between
// leaves data without a marker, whose loss would go unnoticed, but never a marker without data.

import { yieldToEventLoop } from "../util/event-loop.ts";

export interface LastSeenMarker {
  // Resolves to when the store last held data; undefined if it never did or was deleted since.
  lastSeen(): Promise<Date | undefined>;
  set(at: Date): void;
  clear(): void;
}

export interface EvictionOptions {
  marker: LastSeenMarker;
  hasData: boolean; // the log is not empty
  now: () => number;
  onEvicted: (lastSeen: Date) => void; // called after the opener had a turn to listen
}

export class EvictionDetector {
  readonly #options: EvictionOptions;
  #isMarked = false; // the marker was set since opening

  constructor(options: EvictionOptions) {
    this.#options = options;
    // Later: the first access to localStorage takes a page a millisecond, which would delay
    // opening.
    if (options.hasData) void yieldToEventLoop().then(() => this.onStored());
    else void this.#detect();
  }

  // Called before the store closes.
  close(): void {
    if (this.#options.hasData) this.onStored();
  }

  // Called when data was stored.
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
    if (!this.#isMarked) marker.clear(); // an eviction is reported once
    onEvicted(lastSeen);
  }
}
