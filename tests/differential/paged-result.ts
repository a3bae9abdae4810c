// The pages of one query, combined.

import { rowName } from "./compare.ts";
import type { Difference, NormalisedResponse, Step } from "./request.ts";

type Pair<T> = readonly [T, T];

export class PagedResult {
  readonly #pages: Pair<string[][]> = [[], []];

  add(normalised: Pair<NormalisedResponse>): void {
    for (const [i, { body }] of normalised.entries()) {
      const rows = (body as { value?: unknown[] } | undefined)?.value ?? [];
      this.#pages[i as 0 | 1].push(rows.map(rowName));
    }
  }

  get count(): number {
    return this.#pages[0].length;
  }

  // Whether a page had rows. With `$top=0`, Azurite returns empty pages without end.
  get hasProgress(): boolean {
    return this.#pages.some((pages) => pages.at(-1)?.length !== 0);
  }

  // Called after the last page. Returns the difference between the combined pages of both backends.
  // If the generator knows the rows, also returns how our pages differ from them.
  differences({ pages = {} }: Step, enforcesRules: boolean): Difference[] {
    const [ours, theirs] = this.#pages.map((pages) => JSON.stringify(pages.flat()));
    const out: Difference[] = [];
    if (ours !== theirs) out.push({ path: "body.union", ours, theirs });
    if (!enforcesRules || pages.rows === undefined) return out;
    const known = JSON.stringify(pages.rows);
    if (ours !== known) out.push({ path: "rule.union", ours, theirs: known });
    const sizes = this.#pages[0].map((page) => page.length);
    const size = pages.size ?? sizes[0] ?? 0;
    const full = sizes.slice(0, -1).every((length) => length === size);
    const more = sizes.length > 1 && sizes.at(-1) === 0;
    if (!full || more || (sizes.at(-1) ?? 0) > size) {
      out.push({ path: "rule.pages", ours: sizes, theirs: `pages of ${size}` });
    }
    return out;
  }
}
