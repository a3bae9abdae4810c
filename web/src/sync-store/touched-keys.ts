// When each key was last touched by a commit of sync, as far as this process remembers. A commit
// that is discarded leaves its keys touched, which only makes sync read them again. So does another
// key with the same hash.

import type { Key } from "../sync/keys.ts";
import { textHash } from "../util/text-hash.ts";

const keysMax = 100_000; // of a generation, until the next commit
const stretchesMax = 1000;

/** All keys from one to another, both included, that a commit may have touched. */
interface Stretch {
  readonly from: Key;
  readonly to: Key;
  readonly commit: number;
}

/**
 * Forgets the oldest keys, but never those of the last commits: a first download touches many keys,
 * and a page whose request is as old as a forgotten key is read again, key by key.
 */
export class TouchedKeys {
  #older = new Map<number, number>(); // by the hash of the key
  /** The keys of commits until then are forgotten. */
  #olderSince: number;
  #newer = new Map<number, number>();
  #newerSince: number;
  #last: number; // commit
  #stretches: Stretch[] = [];
  #stretchesSince: number;

  /** `commit`: what was touched until then, before this process, is not known. */
  constructor(commit: number) {
    this.#olderSince = commit;
    this.#newerSince = commit;
    this.#last = commit;
    this.#stretchesSince = commit;
  }

  /** REQUIRES: the commit is not before that of the call before. */
  add(key: Key, commit: number): void {
    if (this.#newer.size >= keysMax && commit > this.#last) {
      this.#older = this.#newer;
      this.#olderSince = this.#newerSince;
      this.#newer = new Map();
      this.#newerSince = this.#last;
    }
    this.#newer.set(hashOf(key), commit);
    this.#last = commit;
  }

  /**
   * In place of add() for most keys from one to another: takes much less time and memory. REQUIRES:
   * the commit is not before that of the call before.
   */
  addStretch(stretch: Stretch): void {
    if (this.#stretches.length >= stretchesMax) {
      const forgotten = this.#stretches.splice(0, stretchesMax / 2);
      this.#stretchesSince = forgotten.at(-1)?.commit ?? 0;
    }
    this.#stretches.push(stretch);
  }

  /** Returns true only if no commit after this one has touched a key from one to another. */
  areUntouchedSince(from: Key, to: Key, commit: number): boolean {
    return commit >= this.#last && this.#isOutsideStretches(from, to, commit);
  }

  #isOutsideStretches(from: Key, to: Key, commit: number): boolean {
    for (let at = this.#stretches.length - 1; at >= 0; at -= 1) {
      const stretch = this.#stretches[at] as Stretch;
      if (stretch.commit <= commit) return true;
      if (from <= stretch.to && to >= stretch.from) return false;
    }
    return commit >= this.#stretchesSince;
  }

  /** Returns whether a commit after this one has touched the key, or may have. */
  isTouchedSince(key: Key, commit: number): boolean {
    if (commit < this.#olderSince || !this.#isOutsideStretches(key, key, commit)) return true;
    const hash = hashOf(key);
    return (this.#newer.get(hash) ?? this.#older.get(hash) ?? 0) > commit;
  }
}

/** Without the two lowest bits, so that a Map keeps it as a small integer. */
const hashOf = (key: Key): number => textHash(key) >>> 2;
