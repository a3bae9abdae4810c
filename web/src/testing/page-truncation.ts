// Ends some pages early with a continuation token. The service does so when it runs out of time or
// reaches a server boundary.

import { StoreError } from "../errors.ts";
import type { Operation } from "../types.ts";
import type { SeededRandom } from "./seeded-random.ts";

export class PageTruncation {
  readonly #probability: number;

  // Throws StoreError ValidationFailed if the probability is invalid.
  constructor(probability = 0) {
    this.#probability = probability;
    if (probability >= 0 && probability <= 1) return;
    const message = `emptyPages must be a probability from 0 to 1, not ${probability}.`;
    throw new StoreError("ValidationFailed", message);
  }

  // Returns which fraction of a page to return: 0 is an empty page, 1 the whole page. Half of the
  // truncated pages are not empty. A client that follows continuation tokens therefore reaches the
  // end, even if every page is truncated.
  pageFraction(operation: Operation, random: SeededRandom): number {
    if (this.#probability === 0 || (operation !== "query" && operation !== "listTables")) return 1;
    if (random.fraction() >= this.#probability) return 1;
    return random.fraction() < 0.5 ? 0 : random.fraction();
  }
}
