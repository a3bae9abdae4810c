// The keys of the grid's rows, and their order.

import type { GridRow } from "./explorer-grid.ts";

export interface RowKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** All rows are read with their keys. */
export function keyOf({ partitionKey = "", rowKey = "" }: GridRow): RowKey {
  return { partitionKey, rowKey };
}

/** Different keys have different texts. */
export function keyText({ partitionKey, rowKey }: Partial<RowKey>): string {
  return JSON.stringify([partitionKey, rowKey]);
}

/** Compares in the order of the store: by UTF-16 units. */
export function compareKeys(a: Partial<RowKey>, b: Partial<RowKey>): number {
  const order = compareTexts(a.partitionKey ?? "", b.partitionKey ?? "");
  return order === 0 ? compareTexts(a.rowKey ?? "", b.rowKey ?? "") : order;
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/**
 * Returns the position of the row with the key; if there is none, of the first row behind it.
 * `rows` are in the order of their keys.
 */
export function positionOf(rows: readonly GridRow[], key: Partial<RowKey>): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(rows[middle] as GridRow, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the key at which the next page begins. client/paging.ts describes the tokens; it is not
 * imported, because bundlers would put it into a file of its own, which every page would load. An
 * unpaired surrogate becomes U+FFFD.
 */
export function keyOfToken(token: string): RowKey {
  const { nextPartitionKey, nextRowKey = "" } = JSON.parse(atob(token));
  return { partitionKey: decodeKey(nextPartitionKey), rowKey: decodeKey(nextRowKey) };
}

function decodeKey(value: string): string {
  const coded = value.slice(value.lastIndexOf("!") + 1);
  const base64 = coded.replaceAll("*", "+").replaceAll("_", "/").replaceAll("-", "=");
  const bytes = Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
