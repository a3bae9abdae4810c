// How a value stands in the table: in as many rows as it takes, each of up to eleven properties of 64 KiB.
//
//     <row key>        Version, Bytes, Value00 … Value10
//     <row key>!1      Version, Value00 …
//     <row key>!2
//     <row key>!3
//
// A write gives all of its rows the same Version, which no other write has. Bytes, the length of all, says how many rows there are to be.

import type { TableEntity } from "../types.ts";

const propertyBytes = 64 * 1024;
// Fifteen would fit the 1 MiB of an entity as the service counts it, by bytes. Azurite counts them as they travel, as base64.
const propertiesOfRow = 11;
const rowBytes = propertyBytes * propertiesOfRow;

/** As much as a transaction of 4 MiB has room for, as base64, in whole rows; with some left for other actions. */
export const valueBytesMax = 4 * rowBytes;

export interface Key {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** What a query gives of a row; of one that is not a value's, anything. */
export interface FoundRow {
  readonly rowKey: string;
  readonly etag: string;
  readonly Version?: unknown;
  readonly Bytes?: unknown;
  readonly [name: string]: unknown;
}

/** The first is `key`'s own; they may be fewer or more than there are. */
export function allPossibleRowKeys({ rowKey }: Key): string[] {
  const keys = [rowKey];
  for (let index = 1; index * rowBytes < valueBytesMax; index += 1) keys.push(`${rowKey}!${index}`);
  return keys;
}

/** A $filter that has all rows of a value, and may have others. */
export function rowRangeFilter(key: Key): string {
  const quoted = (text = "") => `'${text.replaceAll("'", "''")}'`;
  const last = allPossibleRowKeys(key).at(-1);
  return `PartitionKey eq ${quoted(key.partitionKey)} and RowKey ge ${quoted(key.rowKey)} and RowKey le ${quoted(last)}`;
}

/** The rows of a value that is to be written, at least one. */
export function encodeRows(key: Key, version: string, value: Uint8Array): TableEntity[] {
  const rows: TableEntity[] = [];
  for (const [index, rowKey] of allPossibleRowKeys(key).entries()) {
    const part = value.subarray(index * rowBytes, (index + 1) * rowBytes);
    if (index > 0 && part.length === 0) break;
    const row = { partitionKey: key.partitionKey, rowKey, Version: version };
    const chunks = splitIntoChunks(part).map((chunk, i) => [propertyName(i), chunk]);
    const length = index === 0 ? { Bytes: value.length } : {};
    rows.push({ ...row, ...length, ...Object.fromEntries(chunks) });
  }
  return rows;
}

/** The value of these rows; undefined if they are not those of one write, or not all. */
export function decodeRows(key: Key, rows: readonly FoundRow[]): Uint8Array | undefined {
  const [first] = rows;
  const length = lengthOf(first);
  if (length === undefined) return undefined;
  const value = new Uint8Array(length);
  let filled = 0;
  for (const [index, rowKey] of allPossibleRowKeys(key).entries()) {
    if (index > 0 && filled === length) break;
    const row = rows[index];
    if (row?.rowKey !== rowKey || row.Version !== first?.Version) return undefined;
    for (let i = 0; i < propertiesOfRow; i += 1) {
      const chunk = row[propertyName(i)];
      if (!(chunk instanceof Uint8Array)) break;
      if (filled + chunk.length > length) return undefined;
      value.set(chunk, filled);
      filled += chunk.length;
    }
  }
  return filled === length ? value : undefined;
}

function lengthOf(first: FoundRow | undefined): number | undefined {
  const length = first?.Bytes;
  const isOne = typeof length === "number" && length >= 0 && length <= valueBytesMax;
  return isOne ? length : undefined;
}

// Copies: the official client would send the whole buffer of an array that has a part of one.
function splitIntoChunks(part: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < part.length; at += propertyBytes) {
    chunks.push(part.slice(at, at + propertyBytes));
  }
  return chunks;
}

function propertyName(index: number): string {
  return `Value${String(index).padStart(2, "0")}`;
}
