// The rows of the benchmark of live queries, and the queries. Rows consist of JSON values, so that
// every database stores them as they are.

import { entityAt, type Key, keyOf, partitionRows, random } from "../peers/workload.ts";

export type LiveRow = {
  partitionKey: string;
  rowKey: string;
  name: string;
  city: string;
  note: string;
  count: number;
  rank: number;
  ratio: number;
  active: boolean;
};

// Keys are in the order of their ids. `from` is inclusive, `to` is exclusive.
export type Query =
  | { kind: "entity"; key: Key }
  | { kind: "partitions"; from: string; to: string }
  | { kind: "range"; partitionKey: string; from: string; to: string }
  | { kind: "filter"; partitionKey: string; count: number }; // count ge …

export function rowAt(i: number): LiveRow {
  const { when: _when, big: _big, bytes: _bytes, version: _version, ...row } = entityAt(i);
  return row;
}

// Returns rows of other partitions, whose keys begin with this letter.
export function rowsUnder(letter: string, first: number, count: number): LiveRow[] {
  return Array.from({ length: count }, (_, k) => {
    const { partitionKey, ...row } = rowAt(first + k);
    return { ...row, partitionKey: `${letter}${partitionKey}` };
  });
}

export const under = (letter: string): Query => ({
  kind: "partitions",
  from: letter,
  to: String.fromCharCode(letter.charCodeAt(0) + 1),
});

// All of the first `rows` rows, which are whole partitions.
export const firstRows = (rows: number): Query => ({
  kind: "partitions",
  from: "p",
  to: keyOf(rows).partitionKey,
});

// ---- Ids: for databases whose primary key is one text -------------------------------------------

export const idOf = ({ partitionKey, rowKey }: Key) => `${partitionKey}|${rowKey}`;

export type RowWithId = LiveRow & { id: string };

export const withId = (row: LiveRow): RowWithId => ({ ...row, id: idOf(row) });

// What a query selects, for those databases: ids from `from` up to but without `to`, and the least
// count.
export interface Bounds {
  from: string;
  to: string;
  count?: number;
}

export function boundsOf(query: Query): Bounds {
  switch (query.kind) {
    case "entity":
      return { from: idOf(query.key), to: `${idOf(query.key)} ` };
    case "partitions":
      return { from: query.from, to: query.to };
    case "range": {
      const { partitionKey } = query;
      return {
        from: idOf({ partitionKey, rowKey: query.from }),
        to: idOf({ partitionKey, rowKey: query.to }),
      };
    }
    case "filter":
      return { from: `${query.partitionKey}|`, to: `${query.partitionKey}}`, count: query.count };
  }
}

// ---- Many live queries --------------------------------------------------------------------------

// Nine in ten are points, one in a hundred is a filter over a partition, and the others are ranges
// of 100 rows. They lie in the first nine tenths of `count` rows. The core's benchmark
// (core/live_bench.cc) has the same.
export function mixture(count: number): Query[] {
  const rows = (count / 10) * 9;
  const points = Array.from({ length: rows }, (_, i): Query => ({ kind: "entity", key: keyOf(i) }));
  const ranges = Array.from({ length: (count / 100) * 9 }, (_, i): Query => {
    const first = (i * 100) % rows;
    const { partitionKey, rowKey: from } = keyOf(first);
    return { kind: "range", partitionKey, from, to: keyOf(first + 100).rowKey };
  });
  const filters = Array.from({ length: count / 100 }, (_, i): Query => {
    const { partitionKey } = keyOf((i * partitionRows) % rows);
    return { kind: "filter", partitionKey, count: i % 100 };
  });
  return [...points, ...ranges, ...filters];
}

// Counts that updates write are at least this, so all filters of the mixture accept the row after
// an update.
export const leastCount = 1000;

export function selects(query: Query, row: LiveRow): boolean {
  const { from, to, count = 0 } = boundsOf(query);
  const id = idOf(row);
  return id >= from && id < to && row.count >= count;
}

// ---- Checks -------------------------------------------------------------------------------------

// A digest of rows that does not depend on their order, nor on further properties.
export function digestOf(rows: Iterable<LiveRow>): { count: number; sum: number } {
  const digest = { count: 0, sum: 0 };
  for (const row of rows) {
    digest.count += 1;
    digest.sum += hash(JSON.stringify(pick(row)));
  }
  return digest;
}

const pick = (row: LiveRow) => [
  ...[row.partitionKey, row.rowKey, row.name, row.city, row.note],
  ...[row.count, row.rank, row.ratio, row.active],
];

function hash(value: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < value.length; ++i) h = Math.imul(h ^ value.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

export const randomBelow = (i: number, salt: number, below: number) => random(i, salt) % below;
