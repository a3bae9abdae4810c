// Estimates how far a key is between two others, to tell how much of a key range was read.

import { isReceiptKey, type Key, type KeyRange } from "../sync/keys.ts";

const charactersMax = 16; // more would not change the estimate

export class KeyPositions {
  readonly #known = new Set<string>();
  #ranks = new Map<string, number>(); // of the characters that keys have, in the order of keys

  /** Learns which characters keys have: the others are not between them. */
  learn(key: Key): void {
    if (isReceiptKey(key)) return;
    let hasNew = false;
    for (let at = 0; at < key.length; ++at) {
      const character = key.charAt(at);
      if (this.#known.has(character)) continue;
      this.#known.add(character);
      hasNew = true;
    }
    if (hasNew) this.#ranks = new Map([...this.#known].sort().map((one, rank) => [one, rank]));
  }

  /** From 0 to 1. Undefined if the range has no end. REQUIRES: key and bounds are learnt. */
  fractionOf(key: Key, { from, to }: KeyRange): number | undefined {
    if (to === undefined) return undefined;
    let same = 0;
    while (same < to.length && from[same] === to[same]) same += 1;
    const [begin, at, end] = [from, key, to].map((one) => this.#position(one.slice(same)));
    const fraction = ((at as number) - (begin as number)) / ((end as number) - (begin as number));
    return Number.isFinite(fraction) ? Math.min(Math.max(fraction, 0), 1) : undefined;
  }

  /** Of a text among all texts of known characters, from 0 to 1. */
  #position(text: string): number {
    const count = this.#ranks.size + 1; // one for the end of the text, which is before all of them
    let position = 0;
    let weight = 1;
    for (const character of text.slice(0, charactersMax)) {
      weight /= count;
      position += ((this.#ranks.get(character) ?? 0) + 1) * weight;
    }
    return position;
  }
}
