// Where the store keeps what sync remembers (core/model/hidden_table.h, core/store/outbox.h): the
// hidden table of each of sync's tables, and the keys of its rows. A text key of sync is a
// PartitionKey and a RowKey with U+0000 between; without U+0000 it is a PartitionKey.

import type { TableName } from "../sync/hidden-tables.ts";
import { type Key, keyOf } from "../sync/keys.ts";
import { textHash } from "../util/text-hash.ts";

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

/** Whether the table with this number is one of them. */
export const isOpaque = (table: TableNumber): boolean =>
  table >= tableNumber.parked && table <= tableNumber.state;

/**
 * Where a table is. `keys`: those of entities; or PartitionKeys; or any text, of which a hash is
 * the RowKey. `isChunked`: a value may need several rows, which have the key and a number of three
 * digits. `prefix`: of the PartitionKey, for tables that share one hidden table. `mayBeAbsent`: a
 * row that cannot be read is as if it were absent (core/log/FORMAT.md, "Hidden tables").
 */
export interface Place {
  readonly number: TableNumber;
  readonly keys: "entities" | "partitions" | "hashed";
  readonly isChunked?: boolean;
  readonly prefix?: string;
  readonly mayBeAbsent?: boolean;
}

export const places: Readonly<Record<OpaqueTable, Place>> = {
  parked: { number: tableNumber.parked, keys: "entities", isChunked: true },
  pushes: { number: tableNumber.pushes, keys: "partitions", isChunked: true },
  tries: { number: tableNumber.tries, keys: "partitions", mayBeAbsent: true },
  receipts: { number: tableNumber.receipts, keys: "partitions", mayBeAbsent: true },
  settling: { number: tableNumber.settling, keys: "entities" },
  marks: { number: tableNumber.marks, keys: "entities" },
  scans: { number: tableNumber.scans, keys: "hashed", mayBeAbsent: true },
  lost: { number: tableNumber.lost, keys: "entities", isChunked: true },
  server: {
    number: tableNumber.state,
    keys: "partitions",
    prefix: "server ",
    mayBeAbsent: true,
  },
  overlap: {
    number: tableNumber.state,
    keys: "partitions",
    prefix: "overlap ",
    mayBeAbsent: true,
  },
  client: {
    number: tableNumber.state,
    keys: "partitions",
    prefix: "client ",
    mayBeAbsent: true,
  },
  feed: {
    number: tableNumber.state,
    keys: "partitions",
    prefix: "feed ",
    mayBeAbsent: true,
  },
};

export interface RowKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

export function rowKeyOf(key: string, { prefix = "" }: Pick<Place, "prefix"> = {}): RowKey {
  const at = key.indexOf("\0");
  return at < 0
    ? { partitionKey: prefix + key, rowKey: "" }
    : { partitionKey: prefix + key.slice(0, at), rowKey: key.slice(at + 1) };
}

/** The key of an entity. */
export const entityKeyOf = ({ partitionKey, rowKey }: RowKey): Key => keyOf(partitionKey, rowKey);

const chunkDigits = 3;

export const chunkKey = ({ partitionKey, rowKey }: RowKey, chunk: number): RowKey => ({
  partitionKey,
  rowKey: rowKey + String(chunk).padStart(chunkDigits, "0"),
});

/** The key of a row without the number of its chunk. */
const withoutChunk = ({ partitionKey, rowKey }: RowKey): RowKey => ({
  partitionKey,
  rowKey: rowKey.slice(0, -chunkDigits),
});

/**
 * The key of the row of a table whose keys are any text: the ends of key ranges, which may have
 * control characters and be longer than keys of entities. The value has the key itself. If two keys
 * had one hash, the older value would be lost, which sync must allow for these tables.
 */
export function hashedKey(key: string): RowKey {
  const digits = (hash: number) => hash.toString(16).padStart(8, "0");
  return { partitionKey: "", rowKey: digits(textHash(key)) + digits(textHash(key, 0x050c5d1f)) };
}

/** Inverse of rowKeyOf(), for tables that are not hashed. */
export function textKeyOf(row: RowKey, { prefix = "", keys, isChunked }: Place): string {
  const { partitionKey, rowKey } = isChunked ? withoutChunk(row) : row;
  const partition = partitionKey.slice(prefix.length);
  return keys === "partitions" ? partition : `${partition}\0${rowKey}`;
}
