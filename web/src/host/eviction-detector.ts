// Detects that the browser evicted a store's data. Eviction removes everything that an origin has
// in IndexedDB and in caches, so the log looks as if it had never been written. A marker outside
// IndexedDB therefore records that the store held data (open/last-seen-marker.ts).
//
// The marker is set after data is stored, and cleared before data is deleted. A crash in between
// can leave data without a marker; the eviction of that data is not detected. It never leaves a
// marker without data.

import { yieldToEventLoop } from "../util/event-loop.ts";

export interface LastSeenMarker {
  // Resolves to the time when the store last held data; undefined if it never did, or if it was
  // deleted.
  lastSeen(): Promise<Date | undefined>;
  set(at: Date): void;
  clear(): void;
}

export interface EvictionOptions {
  marker: LastSeenMarker;
  hasData: boolean; // the log was not empty on opening
  now: () => number;
  // called after the code that opened the store could add listeners
  onEvicted: (lastSeen: Date) => void;
}

export class EvictionDetector {
  readonly #options: EvictionOptions;
  #isMarked = false; // the marker was set since opening

  constructor(options: EvictionOptions) {
    this.#options = options;
    // Sets the marker later: the first access to localStorage takes about a millisecond, which
    // would delay opening.
    if (options.hasData) void yieldToEventLoop().then(() => this.onStored());
    else void this.#detect();
  }

  // Called before the store closes.
  markOnClose(): void {
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
    if (!this.#isMarked) marker.clear(); // so that the eviction is reported only once
    onEvicted(lastSeen);
  }
}
