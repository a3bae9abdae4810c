// Keys of entities as one text. A key of the Table service contains no control characters, so
// U+0000 separates PartitionKey and RowKey, and the order of these texts by UTF-16 code unit is the
// order of the service: PartitionKey, then RowKey.

export type Key = string;
export type Partition = string;

export const keyOf = (partition: Partition, rowKey: string): Key => `${partition}\0${rowKey}`;

export const partitionOf = (key: Key): Partition => key.slice(0, key.indexOf("\0"));

export const rowKeyOf = (key: Key): string => key.slice(key.indexOf("\0") + 1);

/** The keys of a partition: from `partition\0` (inclusive) to `partition\u0001` (exclusive). */
export const partitionRange = (partition: Partition): KeyRange => ({
  from: `${partition}\0`,
  to: `${partition}\u0001`,
});

/** `to` is exclusive. An empty `from` is before all keys; `to` undefined is after all keys. */
export interface KeyRange {
  readonly from: Key;
  readonly to?: Key | undefined;
}

export const isInRange = (key: Key, { from, to }: KeyRange): boolean =>
  key >= from && (to === undefined || key < to);

/** The next possible key: no key of the service is between the two. */
export const keyAfter = (key: Key): Key => `${key}\0`;

const receiptPrefix = "~entitable~";

/** The key of a client's receipt in a partition (receipt.ts). */
export const receiptKey = (partition: Partition, client: string): Key =>
  keyOf(partition, receiptPrefix + client);

export const isReceiptKey = (key: Key): boolean =>
  key.startsWith(receiptPrefix, key.indexOf("\0") + 1);
