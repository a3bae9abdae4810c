// Where the store keeps what sync remembers (core/model/hidden_table.h, core/store/outbox.h): the
// hidden table of each of sync's tables, and the keys of its rows. A text key of sync is a
// PartitionKey and a RowKey with U+0000 between; without U+0000 it is a PartitionKey.

import type { TableName } from "../sync/hidden-tables.ts";

/** The numbers of tables in calls of the engine. They never change. */
export const tableNumber = {
  bases: 0,
  baseRows: 1,
  etags: 2,
  outbox: 3,
  parked: 4,
  pushes: 5,
  tries: 6,
  receipts: 7,
  settling: 8,
  marks: 9,
  scans: 10,
  lost: 11,
  state: 12,
  rows: 0xff,
} as const;
export type TableNumber = (typeof tableNumber)[keyof typeof tableNumber];

/** The tables whose values are only for sync, and where they are. */
export type OpaqueTable = Exclude<TableName, "rows" | "bases" | "outbox">;

/**
 * `chunked`: a value may need several rows, which have the key and a number of three digits.
 * `prefix`: of the PartitionKey, for tables that share one hidden table.
 */
export interface Place {
  readonly number: TableNumber;
  readonly isChunked: boolean;
  readonly prefix: string;
}

const place = (number: TableNumber, isChunked = false, prefix = ""): Place => ({
  number,
  isChunked,
  prefix,
});

export const places: Readonly<Record<OpaqueTable, Place>> = {
  parked: place(tableNumber.parked, true),
  pushes: place(tableNumber.pushes, true),
  tries: place(tableNumber.tries),
  receipts: place(tableNumber.receipts),
  settling: place(tableNumber.settling),
  marks: place(tableNumber.marks),
  scans: place(tableNumber.scans),
  lost: place(tableNumber.lost, true),
  server: place(tableNumber.state, false, "server "),
  overlap: place(tableNumber.state, false, "overlap "),
};

export interface RowKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

export function rowKeyOf(key: string, { prefix }: Pick<Place, "prefix"> = { prefix: "" }): RowKey {
  const at = key.indexOf("\0");
  return at < 0
    ? { partitionKey: prefix + key, rowKey: "" }
    : { partitionKey: prefix + key.slice(0, at), rowKey: key.slice(at + 1) };
}

const chunkDigits = 3;

export const chunkKey = ({ partitionKey, rowKey }: RowKey, chunk: number): RowKey => ({
  partitionKey,
  rowKey: rowKey + String(chunk).padStart(chunkDigits, "0"),
});

/** The key of a row without the number of its chunk. */
export const withoutChunk = ({ partitionKey, rowKey }: RowKey): RowKey => ({
  partitionKey,
  rowKey: rowKey.slice(0, -chunkDigits),
});

/** Inverse of rowKeyOf(). `isPartition`: keys of the table are PartitionKeys. */
export function textKeyOf(
  { partitionKey, rowKey }: RowKey,
  { prefix }: Place,
  isPartition: boolean,
): string {
  const partition = partitionKey.slice(prefix.length);
  return isPartition ? partition : `${partition}\0${rowKey}`;
}
