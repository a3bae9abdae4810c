// The values that were written last, by their bytes. A push is read soon after it was written, and
// decoding its hundred entities takes longer than comparing their bytes.

import type { BinaryProperties } from "./opaque-value.ts";

const valuesMax = 8; // more than the partitions that are pushed at once

interface Written {
  readonly rows: readonly BinaryProperties[];
  readonly value: unknown;
}

export class WrittenValues {
  readonly #written = new Map<string, Written>();

  /** `rows`: of the value. REQUIRES: neither changes any more. */
  add(key: string, rows: readonly BinaryProperties[], value: unknown): void {
    this.#written.delete(key);
    if (rows.length > 0) this.#written.set(key, { rows, value });
    const [oldest = ""] = this.#written.keys();
    if (this.#written.size > valuesMax) this.#written.delete(oldest);
  }

  /** Returns undefined if these rows are not those that were written last. */
  get(key: string, rows: readonly BinaryProperties[]): unknown {
    const { rows: written = [], value } = this.#written.get(key) ?? {};
    const areSame =
      written.length === rows.length && written.every((row, i) => isSame(row, rows[i]));
    return areSame ? value : undefined;
  }
}

function isSame(a: BinaryProperties, b: BinaryProperties | undefined): boolean {
  return a.size === b?.size && [...a].every(([name, bytes]) => areSame(bytes, b.get(name)));
}

function areSame(a: Uint8Array, b: Uint8Array | undefined): boolean {
  if (a.length !== b?.length) return false;
  for (let i = 0; i < a.length; ++i) if (a[i] !== b[i]) return false;
  return true;
}
