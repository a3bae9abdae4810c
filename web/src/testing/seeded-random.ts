// Pseudo-random bytes. The same seed gives the same bytes on every platform.

import { StoreError } from "../errors.ts";
import type { RandomSource } from "../types.ts";

export class SeededRandom implements RandomSource {
  state: number; // an integer of 32 bits

  // Throws StoreError ValidationFailed if the seed is invalid.
  constructor(seed: number) {
    if (seed !== seed >>> 0) {
      throw new StoreError("ValidationFailed", `seed is a whole number below 2^32, not ${seed}.`);
    }
    this.state = seed;
  }

  fill(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 4) {
      const word = this.#next();
      for (let i = at; i < Math.min(at + 4, bytes.length); ++i) {
        bytes[i] = word >>> (8 * (i - at));
      }
    }
  }

  // Returns a number from 0 (inclusive) to 1 (exclusive).
  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  // The generator "mulberry32". From every seed, it goes through all 2^32 states.
  #next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }
}
