// The rows that store one large value: as many as needed, each with up to eleven properties of 64
// KiB.
//
//     <row key>        Version, Bytes, Value00 … Value10
//     <row key>!1      Version, Value00 …
//     <row key>!2
//     <row key>!3
//
// All rows of one write have the same Version, which no other write has. Bytes is the length of the
// whole value; it determines the number of rows.

import type { TableEntity } from "../types.ts";
import { isBytes } from "../util/platform-objects.ts";

const propertyBytes = 64 * 1024;
// The service's limit of 1 MiB would allow fifteen properties. Azurite counts their base64, so only
// eleven fit there.
const propertiesOfRow = 11;
const rowBytes = propertyBytes * propertiesOfRow;

/**
 * The longest value, in bytes. As base64, its rows fit into a transaction's 4 MiB and leave space
 * for other actions.
 */
export const valueBytesMax = 4 * rowBytes;

export interface Key {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** A row as a query returns it. It may be a row of other data. */
export interface FoundRow {
  readonly rowKey: string;
  readonly etag: string;
  readonly Version?: unknown;
  readonly Bytes?: unknown;
  readonly [name: string]: unknown;
}

/** Returns all row keys that a value may use; the first one is the value's own key. */
export function allPossibleRowKeys({ rowKey }: Key): string[] {
  const keys = [rowKey];
  for (let index = 1; index * rowBytes < valueBytesMax; index += 1) keys.push(`${rowKey}!${index}`);
  return keys;
}

/** Returns a $filter for all rows of a value. It may match other rows too. */
export function rowRangeFilter(key: Key): string {
  const quoted = (text = "") => `'${text.replaceAll("'", "''")}'`;
  const last = allPossibleRowKeys(key).at(-1);
  return `PartitionKey eq ${quoted(key.partitionKey)} and RowKey ge ${quoted(key.rowKey)} and RowKey le ${quoted(last)}`;
}

/** Encodes a value as rows, at least one. */
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

/**
 * Decodes a value from its rows. Returns undefined if rows are missing, or were written by
 * different writes.
 */
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
      if (!isBytes(chunk)) break;
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

// Splits bytes into properties' values. Each is a copy, because the official client sends the whole
// underlying buffer of a subarray.
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
