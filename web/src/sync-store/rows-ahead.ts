// Rows that are read together because their keys are expected. A page of a scan has up to 1,000
// keys, and most of them are absent in most tables.

import type { Key } from "../sync/keys.ts";
import { keyAfter } from "../sync/keys.ts";
import { entityKeyOf, rowKeyOf, type TableNumber } from "./hidden-keys.ts";
import type { HiddenReader } from "./hidden-reader.ts";
import type { HiddenRow } from "./row-decoder.ts";

export interface AheadLimits {
  /** For fewer keys, it would cost more than it saves. */
  readonly keysMin: number;
  /** If the expected keys are far apart, only so many rows are read for each of them. */
  readonly rowsPerKey: number;
  /** How many rows more are read of each table. */
  readonly rowsFree: number;
  /** After so many bytes of responses, no other page is read, but the first one of each table. */
  readonly bytesMax: number;
}

const defaultLimits: AheadLimits = {
  keysMin: 16,
  rowsPerKey: 2,
  rowsFree: 16,
  bytesMax: 4 * 1024 * 1024,
};

/** What a table has from one key to another, both included. */
interface Stretch {
  readonly from: Key;
  readonly to: Key;
  readonly rows: ReadonlyMap<Key, HiddenRow>;
}

export class RowsAhead {
  readonly #reader: HiddenReader;
  readonly #limits: AheadLimits;
  readonly #stretches = new Map<TableNumber, Stretch>();

  constructor(reader: HiddenReader, limits: AheadLimits = defaultLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  /** Returns true only if no table has any of the keys. REQUIRES: the keys are in order. */
  read(tables: readonly TableNumber[], keys: readonly Key[]): boolean {
    if (keys.length < this.#limits.keysMin) return false;
    const bytesEnd = this.#reader.bytesRead + this.#limits.bytesMax;
    let areAbsent = true;
    for (const table of tables) {
      const stretch = this.#readStretch(table, keys, bytesEnd);
      this.#stretches.set(table, stretch);
      areAbsent &&= stretch.rows.size === 0;
    }
    return areAbsent;
  }

  /** Returns null if there is no such row, and undefined if it was not read. */
  get(table: TableNumber, key: Key): HiddenRow | null | undefined {
    const stretch = this.#stretches.get(table);
    if (stretch === undefined || key < stretch.from || key > stretch.to) return undefined;
    return stretch.rows.get(key) ?? null;
  }

  /** The version that was read is not the published one any more. */
  clear(): void {
    this.#stretches.clear();
  }

  /** Ends the stretch where it becomes too long. The rows behind it are read one by one. */
  #readStretch(table: TableNumber, keys: readonly Key[], bytesEnd: number): Stretch {
    const reader = this.#reader;
    const { rowsPerKey, rowsFree } = this.#limits;
    const [from = ""] = keys;
    const to = keys.at(-1) as Key;
    const rows = new Map<Key, HiddenRow>();
    let passed = 0; // expected keys
    for (const row of reader.range(table, rowKeyOf(from), rowKeyOf(keyAfter(to)))) {
      const key = entityKeyOf(row);
      rows.set(key, row);
      while (passed < keys.length && (keys[passed] as Key) <= key) passed += 1;
      const isTooLong = rows.size > rowsPerKey * passed + rowsFree;
      if (isTooLong || reader.bytesRead > bytesEnd) return { from, to: key, rows };
    }
    return { from, to, rows };
  }
}
