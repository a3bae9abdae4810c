// Creates the objects of rows from texts, as a database does that decodes responses.

import type { LiveRow } from "./workload.ts";

// The rows of a transaction. As in a response, all of their strings are parts of one text, and rows
// in turn with the same partition key share that string.
export interface RowGroup {
  text: string;
  rows: readonly LiveRow[];
}

export function groupsOf(rows: readonly LiveRow[], size: number): RowGroup[] {
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, i) => {
    const group = rows.slice(i * size, (i + 1) * size);
    return { text: textOf(group), rows: group };
  });
}

// Appends a new object for each row to `created`.
export function createRows({ text, rows }: RowGroup, created: object[]): void {
  let at = 0;
  let partitionKey = ""; // of the row before
  const next = (length: number) => {
    at += length;
    return text.slice(at - length, at);
  };
  for (const row of rows) {
    const etag = next(etagUnits);
    if (row.partitionKey !== partitionKey) partitionKey = next(row.partitionKey.length);
    created.push({
      etag,
      partitionKey,
      rowKey: next(row.rowKey.length),
      timestamp: next(timestampUnits),
      name: next(row.name.length),
      city: next(row.city.length),
      note: next(row.note.length),
      count: row.count,
      rank: row.rank,
      ratio: row.ratio,
      active: row.active,
    });
  }
}

const etagUnits = 46; // at most
const timestampUnits = 28;

// Returns the strings of rows in the order in which createRows() reads them.
function textOf(rows: readonly LiveRow[]): string {
  const texts = rows.flatMap(({ partitionKey, rowKey, name, city, note }, i) => [
    "e".repeat(etagUnits),
    rows[i - 1]?.partitionKey === partitionKey ? "" : partitionKey,
    ...[rowKey, "t".repeat(timestampUnits), name, city, note],
  ]);
  const bytes = new TextEncoder().encode(texts.join(""));
  return new TextDecoder().decode(bytes); // flat, as from a response
}
