// Reads the change feed of a store for as long as the store is open. After a gap or a failure,
// opens the feed again.

import type { ChangeBatch, ChangeFeed, ChangesOptions, Store } from "../types.ts";

const mostMs = 30_000; // between attempts to open a feed
const isOpenAfterMs = 1000; // if a feed was open for so long, it was not opened in vain

/** Returns the delay before the next attempt. `previousMs`: the last delay; 0: there was none. */
export function nextDelay(previousMs: number): number {
  return Math.min(previousMs * 2 || 1000, mostMs);
}

export interface FeedListener {
  /** The feed is open: all later commits follow. It is called again after each interruption. */
  onOpen(): void;
  onBatch(batch: ChangeBatch): void;
  /** Commits may be missing from here on: until onOpen() is called again, none follow. */
  onInterruption(error: unknown): void;
  /** The store is closed. Nothing else follows. */
  onEnd(): void;
}

/** Returns a function that ends the reading. After that, the listener is not called again. */
export function followFeed(
  store: Store,
  options: ChangesOptions,
  listener: FeedListener,
): () => void {
  const feed = new ReopeningFeed(store, options, listener);
  void feed.run();
  return () => feed.close();
}

class ReopeningFeed {
  readonly #store: Store;
  readonly #options: ChangesOptions;
  readonly #listener: FeedListener;
  #feed: ChangeFeed | undefined;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0; // since a batch has arrived, or the feed was open for a while
  #retryMs = 0; // the delay after the last failure
  #openSince = Number.POSITIVE_INFINITY;

  constructor(store: Store, options: ChangesOptions, listener: FeedListener) {
    this.#store = store;
    this.#options = options;
    this.#listener = listener;
  }

  async run(): Promise<void> {
    try {
      await this.#read();
      if (!this.#isClosed) this.#listener.onEnd();
    } catch (error) {
      if (this.#isClosed) return;
      if (isClosedStore(error)) this.#listener.onEnd();
      else this.#retry(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#feed?.return().catch(() => {});
  }

  // Resolves when the store was closed, or close() was called.
  async #read(): Promise<void> {
    const feed = this.#store.changes(this.#options);
    this.#feed = feed;
    await feed.ready;
    if (this.#isClosed) return;
    this.#openSince = performance.now();
    this.#listener.onOpen();
    for await (const batch of feed) {
      if (this.#isClosed) return;
      this.#failures = 0;
      this.#listener.onBatch(batch);
    }
  }

  // A feed with a gap is opened again at once, but only once: if too many changes led to the gap,
  // reading everything again makes it worse.
  #retry(error: unknown): void {
    if (performance.now() - this.#openSince >= isOpenAfterMs) this.#failures = 0;
    this.#openSince = Number.POSITIVE_INFINITY;
    const isFirst = this.#failures === 0;
    this.#failures += 1;
    if (isFirst) this.#retryMs = 0;
    const isAtOnce = isFirst && codeOf(error) === "FeedTruncated";
    this.#retryMs = isAtOnce ? 0 : nextDelay(this.#retryMs);
    this.#timer = setTimeout(() => void this.run(), this.#retryMs);
    this.#listener.onInterruption(error);
  }
}

export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code;
}

// A feed that was still being opened when the store was closed rejects with AbortError.
function isClosedStore(error: unknown): boolean {
  return codeOf(error) === "StoreClosed" || (error as Error | undefined)?.name === "AbortError";
}
