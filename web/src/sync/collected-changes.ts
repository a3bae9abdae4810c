// The changes that a feed has brought, and that are not applied yet: the last one of each key.

import type { RemoteRow } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import type { FeedEvent } from "./remote.ts";

const keysMax = 10_000; // a scan reads more of them at once
const sizeMax = 2 ** 26; // characters

export class CollectedChanges {
  readonly #rows = new Map<Key, RemoteRow | undefined>();
  readonly #sizes = new Map<Key, number>();
  #size = 0;

  /** There are so many of them that they should be dropped, and everything read again. */
  get areTooMany(): boolean {
    return this.#rows.size > keysMax || this.#size > sizeMax;
  }

  add({ changes, size = 0 }: FeedEvent, isWanted: (key: Key) => boolean): void {
    for (const { key, row } of changes) {
      if (!isWanted(key)) continue;
      this.#remove(key); // the last change of a key is the last in the order
      this.#rows.set(key, row);
      this.#sizes.set(key, size / changes.length);
      this.#size += size / changes.length;
    }
  }

  #remove(key: Key): void {
    this.#rows.delete(key);
    this.#size -= this.#sizes.get(key) ?? 0;
  }

  clear(): void {
    this.#rows.clear();
    this.#sizes.clear();
    this.#size = 0;
  }

  /** Returns and removes them, in the order of the feed. */
  take(): [Key, RemoteRow | undefined][] {
    const taken = [...this.#rows];
    this.clear();
    return taken;
  }
}
