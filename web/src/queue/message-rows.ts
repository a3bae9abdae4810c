// How messages stand in the table. A queue is a partition; a message is a row in one of its lanes:
//
//     queue!<visible from, in milliseconds>!<id>!<how often it was given out>
//     poison!...                                                                    the same, for what was given out too often
//
// So what may be given out is a range of keys, read without looking at what is hidden. To give a message out, to hide it longer or to put it
// back is to move its row to another key, in one transaction that deletes and creates. Of two that try at once one finds the row gone. No two
// times that a message is given out have the same key, so the key is what proves who has it: the pop receipt.

import { compositeKey, compositePrefix, paddedNumber, parseCompositeKey } from "../keys/index.ts";

export type SubQueue = "queue" | "poison";

const timeDigits = 15;
const countDigits = 9;

export interface MessageKey {
  subQueue: SubQueue;
  /** Milliseconds since 1970. */
  visibleAt: number;
  id: string;
  dequeueCount: number;
}

export interface Row {
  partitionKey: string;
  rowKey: string;
  /** JSON. */
  Body: string;
  InsertedAt: Date;
}

export function rowKeyOf({ subQueue, visibleAt, id, dequeueCount }: MessageKey): string {
  const time = paddedNumber(visibleAt, timeDigits);
  return compositeKey(subQueue, time, id, paddedNumber(dequeueCount, countDigits));
}

export function messageKeyOf(rowKey: string): MessageKey {
  const [subQueue, time, id, count] = parseCompositeKey(rowKey) as [
    SubQueue,
    string,
    string,
    string,
  ];
  return { subQueue, visibleAt: Number(time), id, dequeueCount: Number(count) };
}

/** A $filter for what is in a lane; with `until`, only what is visible then. */
export function subQueueFilter(partitionKey: string, subQueue: SubQueue, until?: number): string {
  const to =
    until === undefined
      ? `${subQueue}"` // the character after the separator
      : compositeKey(subQueue, paddedNumber(until + 1, timeDigits));
  return `PartitionKey eq ${quoted(partitionKey)} and RowKey ge '${compositePrefix(subQueue)}' and RowKey lt '${to}'`;
}

/** A $filter for one row. */
export function singleRowFilter(partitionKey: string, rowKey: string): string {
  return `PartitionKey eq ${quoted(partitionKey)} and RowKey eq ${quoted(rowKey)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
