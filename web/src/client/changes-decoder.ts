// Decodes what has changed for the live queries and feeds of this client (core/rpc/LAYOUT.md).

import type { Change, ChangeBatch, TableEntityResult } from "../types.ts";
import type { MessageReader } from "./message-reader.ts";
import type { ResponseDecoder } from "./response-decoder.ts";

export interface RowKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

// A row as it is read, with its keys.
export type Row = Record<string, unknown> & RowKey;

export interface DeltaRow {
  readonly key: RowKey;
  readonly row: Row | undefined; // undefined: the row is removed
}

export interface WatchDelta {
  readonly watch: number;
  readonly isReset: boolean;
  readonly isComplete: boolean;
  readonly rows: readonly DeltaRow[]; // in the order of their keys
  readonly countChange: number; // of a watch that counts
}

export interface FeedBatch {
  readonly feed: number;
  readonly batch: ChangeBatch | undefined; // undefined: what has changed is not known
}

export interface Changes {
  readonly sequence: bigint;
  readonly stored: bigint; // the sequence of the last commit that is stored
  readonly deltas: readonly WatchDelta[];
  readonly batches: readonly FeedBatch[];
}

export interface PastChanges {
  readonly isEnd: boolean; // nothing else is published
  readonly isTruncated: boolean; // the changes are not known; `number` is the first known sequence
  readonly number: bigint; // otherwise the next segment
  readonly changes: Uint8Array; // a message for decodeChanges(), unless it is truncated
}

const changesKind = 8;
const pastChangesKind = 9;
const stateEnd = 1;
const stateTruncated = 3;
const flagReset = 1;
const flagComplete = 2;
const flagCounted = 4;
const flagUnknown = 1;
const removeRow = 2;
const removeKey = 3;
const absent = -1;
const origins = ["local", "other-tab", "sync", "restore"] as const; // CommitOrigin
const ops = ["insert", "update", "delete"] as const;
const wordsOfChange = 4;

// The rows are decoded by the decoder of lists, each page as a message of its own. This needs the
// decoder again, so the rows are decoded after the other parts of the message were read.
// `isTyped`: whether a feed, given by its id in the store, wants the text and the type of each
// property.
export function decodeChanges(
  decoder: ResponseDecoder,
  message: Uint8Array,
  isTyped: (feed: number) => boolean,
): Changes {
  const contents = decoder.message(message, changesKind, (reader) => {
    let pageAt = message.length - reader.binaryBytes;
    const sequence = reader.readLong();
    const stored = reader.readLong();
    const pages = list(reader, () => {
      const size = reader.readWord();
      pageAt += size;
      return message.subarray(pageAt - size, pageAt);
    });
    const keys = list(reader, () => ({
      partitionKey: reader.readText(),
      rowKey: reader.readText(),
    }));
    const deltas = list(reader, () => readDelta(reader, keys));
    const tables = list(reader, () => reader.readText());
    return {
      sequence,
      stored,
      pages,
      deltas,
      batches: list(reader, () => readBatch(reader, keys, tables)),
    };
  });
  const { pages, deltas, batches, ...sequences } = contents;
  const rows = rowsIn(decoder, pages, false);
  const typedRows = rowsIn(decoder, pages, true);
  return {
    ...sequences,
    deltas: deltas.map((delta) => delta(rows())),
    batches: batches.map(({ feed, batch }) => batch(isTyped(feed) ? typedRows() : rows())),
  };
}

// Returns a function that returns the rows of the pages, decoded at the first call.
function rowsIn(
  decoder: ResponseDecoder,
  pages: readonly Uint8Array[],
  disableTypeConversion: boolean,
): () => Row[] {
  let rows: Row[] | undefined;
  return () => {
    if (rows !== undefined) return rows;
    rows = [];
    for (const page of pages)
      for (const row of decoder.page(page, { disableTypeConversion, copyBinaries: true }).rows)
        rows.push(row as Row);
    return rows;
  };
}

export function decodePastChanges(decoder: ResponseDecoder, message: Uint8Array): PastChanges {
  return decoder.message(message, pastChangesKind, (reader) => {
    const state = reader.readWord();
    return {
      isEnd: state === stateEnd,
      isTruncated: state === stateTruncated,
      number: reader.readLong(),
      changes: message.subarray(message.length - reader.binaryBytes),
    };
  });
}

function list<T>(reader: MessageReader, read: () => T, count = reader.readWord()): T[] {
  const items: T[] = []; // Array.from() is several times slower
  for (let i = 0; i < count; ++i) items.push(read());
  return items;
}

// Returns a function that returns the delta once the rows are decoded.
function readDelta(reader: MessageReader, keys: readonly RowKey[]): (rows: Row[]) => WatchDelta {
  const watch = reader.readWord();
  const flags = reader.readWord();
  const isReset = (flags & flagReset) !== 0;
  const isComplete = (flags & flagComplete) !== 0;
  if ((flags & flagCounted) !== 0) {
    const countChange = reader.readWord() - reader.readWord();
    return () => ({ watch, isReset, isComplete, rows: [], countChange });
  }
  const words = list(reader, () => reader.readWord());
  const deltaRow = (word: number, rows: Row[]): DeltaRow => {
    const number = word >>> 2;
    if ((word & 3) === removeKey) return { key: keys[number] as RowKey, row: undefined };
    const row = rows[number] as Row;
    return { key: row, row: (word & 3) === removeRow ? undefined : row };
  };
  return (rows) => ({
    watch,
    isReset,
    isComplete,
    rows: words.map((word) => deltaRow(word, rows)),
    countChange: 0,
  });
}

// Returns the feed, and a function that returns the batch once the rows are decoded.
function readBatch(
  reader: MessageReader,
  keys: readonly RowKey[],
  names: readonly string[],
): { feed: number; batch: (rows: Row[]) => FeedBatch } {
  const feed = reader.readWord();
  const isUnknown = (reader.readWord() & flagUnknown) !== 0;
  const origin = origins[reader.readWord()] as ChangeBatch["origin"];
  const changeCount = reader.readWord();
  const tableCount = reader.readWord();
  const sequence = reader.readLong();
  const at = new Date(reader.readDouble());
  const changes = reader.readWords(changeCount * wordsOfChange);
  const readTable = () => {
    const table = names[reader.readWord()] as string;
    return { table, op: reader.readWord() === 1 ? "create" : "delete" } as const;
  };
  const tables = list(reader, readTable, tableCount);
  const batch = (rows: Row[]): FeedBatch => {
    if (isUnknown) return { feed, batch: undefined };
    const batch = { sequence, at, origin, changes: changesIn(changes, names, keys, rows) };
    return { feed, batch: tables.length === 0 ? batch : { ...batch, tables } };
  };
  return { feed, batch };
}

// `words`: of each change, the table's name, the operation, the row (of a delete: the key), and the
// row before.
function changesIn(
  words: Int32Array,
  names: readonly string[],
  keys: readonly RowKey[],
  rows: readonly Row[],
): Change[] {
  const changes: Change[] = [];
  for (let i = 0; i < words.length; i += wordsOfChange) {
    const table = names[words[i] as number] as string;
    const op = ops[words[i + 1] as number] as Change["op"];
    const number = words[i + 2] as number;
    const before = words[i + 3] as number;
    const isDelete = op === "delete";
    const { partitionKey, rowKey } = (isDelete ? keys[number] : rows[number]) as RowKey;
    const change: MutableChange = { table, partitionKey, rowKey, op };
    if (!isDelete) change.after = rows[number] as Entity;
    if (before !== absent) change.before = rows[before] as Entity;
    changes.push(change);
  }
  return changes;
}

type Entity = TableEntityResult<Record<string, unknown>>;
type MutableChange = { -readonly [Name in keyof Change]: Change[Name] };
