// Pages that end early, as the service's do when it runs out of time or comes to the end of what one of its machines holds.

import { StoreError } from "../errors.ts";
import type { Operation } from "../types.ts";
import type { SeededRandom } from "./seeded-random.ts";

export class PageTruncation {
  readonly #probability: number;

  // Throws StoreError ValidationFailed.
  constructor(probability = 0) {
    this.#probability = probability;
    if (probability >= 0 && probability <= 1) return;
    const message = `emptyPages must be a probability from 0 to 1, not ${probability}.`;
    throw new StoreError("ValidationFailed", message);
  }

  // What is given of a page: 0 is an empty one, 1 a whole one. Half of those that are cut are not empty, so that whoever follows
  // continuations comes to an end whatever the probability.
  pageFraction(operation: Operation, random: SeededRandom): number {
    if (this.#probability === 0 || (operation !== "query" && operation !== "listTables")) return 1;
    if (random.fraction() >= this.#probability) return 1;
    return random.fraction() < 0.5 ? 0 : random.fraction();
  }
}
