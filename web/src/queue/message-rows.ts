// The rows of a queue's messages. A queue is a partition. A message is a row in one of two
// sub-queues, which differ in the prefix of their row keys:
//
//     queue!<visible from, in milliseconds>!<id>!<dequeue count>
//     poison!...    the same, for messages that were dequeued too often
//
// The visible messages are therefore a range of keys, which is read without the hidden ones.
// Dequeuing, hiding and releasing a message move its row to a new key, by a transaction with a
// delete and a create. If two consumers try this at the same time, one of them fails because the
// row is gone. Every dequeue creates a different key, so the key is also the pop receipt (the proof
// that a consumer still has the message).

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
  /** The message's body as JSON. */
  Body: string;
  InsertedAt: Date;
}

export function rowKeyOf({ subQueue, visibleAt, id, dequeueCount }: MessageKey): string {
  const time = paddedNumber(visibleAt, timeDigits);
  return compositeKey(subQueue, time, id, paddedNumber(dequeueCount, countDigits));
}

export function parseMessageKey(rowKey: string): MessageKey {
  const [subQueue, time, id, count] = parseCompositeKey(rowKey) as [
    SubQueue,
    string,
    string,
    string,
  ];
  return { subQueue, visibleAt: Number(time), id, dequeueCount: Number(count) };
}

/**
 * Returns a $filter for the messages of a sub-queue. With `until`, only for those visible at that
 * time.
 */
export function subQueueFilter(partitionKey: string, subQueue: SubQueue, until?: number): string {
  const to =
    until === undefined
      ? `${subQueue}"` // " is the character after the separator !
      : compositeKey(subQueue, paddedNumber(until + 1, timeDigits));
  return `PartitionKey eq ${quoted(partitionKey)} and RowKey ge '${compositePrefix(subQueue)}' and RowKey lt '${to}'`;
}

/** Returns a $filter for one row. */
export function singleRowFilter(partitionKey: string, rowKey: string): string {
  return `PartitionKey eq ${quoted(partitionKey)} and RowKey eq ${quoted(rowKey)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
