// Reads the change feed of a store for as long as the store is open. After a gap or a failure,
// opens the feed again.

import type { ChangeBatch, ChangeFeed, ChangesOptions, Store } from "../types.ts";

const mostMs = 30_000; // between attempts to open a feed

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
  const follower = new FeedFollower(store, options, listener);
  void follower.run();
  return () => follower.close();
}

class FeedFollower {
  readonly #store: Store;
  readonly #options: ChangesOptions;
  readonly #listener: FeedListener;
  #feed: ChangeFeed | undefined;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = 0; // the delay after the last failure; 0: the feed was open since

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

  // Resolves when the store or the follower was closed.
  async #read(): Promise<void> {
    const feed = this.#store.changes(this.#options);
    this.#feed = feed;
    await feed.ready;
    if (this.#isClosed) return;
    this.#retryMs = 0;
    this.#listener.onOpen();
    for await (const batch of feed) {
      if (this.#isClosed) return;
      this.#listener.onBatch(batch);
    }
  }

  // A feed with a gap is opened again at once.
  #retry(error: unknown): void {
    const isGap = codeOf(error) === "FeedTruncated" && this.#retryMs === 0;
    const delay = isGap ? 0 : Math.min(this.#retryMs * 2 || 1000, mostMs);
    this.#retryMs = delay;
    this.#timer = setTimeout(() => void this.run(), delay);
    this.#listener.onInterruption(error);
  }
}

const codeOf = (error: unknown) => (error as { code?: unknown } | undefined)?.code;

// A feed that was still being opened when the store was closed rejects with AbortError.
function isClosedStore(error: unknown): boolean {
  return codeOf(error) === "StoreClosed" || (error as Error | undefined)?.name === "AbortError";
}
