// SignalDB: a collection in memory. A cursor that observes changes is its live query.

import type { LiveAdapter } from "../live-adapter.ts";
import { boundsOf, idOf, type LiveRow, type Query, type RowWithId, withId } from "../workload.ts";

// The part of the package that is used.
interface Library {
  Collection: new (options: object) => Collection;
  createIndex(field: string): object;
}
interface Collection {
  batch(work: () => void): void;
  insert(row: RowWithId): void;
  insertMany(rows: readonly RowWithId[]): void;
  updateOne(selector: { id: string }, change: { $set: { count: number } }): void;
  find(selector: object): Cursor;
  setMaxListeners(count: number): void; // only limits when it warns
  on(event: "added" | "changed" | "removed", listener: () => void): void;
  off(event: "added" | "changed" | "removed", listener: () => void): void;
}
interface Cursor {
  fetch(): LiveRow[];
  observeChanges(callbacks: Record<string, () => void>, skipInitial: boolean): () => void;
}

let library: Library;

export const signaldb: LiveAdapter = {
  async prepare() {
    library = (await import("/library/signaldb.js" as string)) as Library;
  },
  async open(name) {
    const rows = new library.Collection({ name, indices: [library.createIndex("partitionKey")] });
    rows.setMaxListeners(Number.POSITIVE_INFINITY);
    return {
      insertGroup: (group) => rows.insertMany(group.map(withId)),
      insert: (row) => rows.insert(withId(row)),
      update: (key, count) => rows.updateOne({ id: idOf(key) }, { $set: { count } }),
      list: (query) => rows.find(selector(query)).fetch(),
      live(query, onChange) {
        const cursor = rows.find(selector(query));
        const callbacks = { added: onChange, changed: onChange, removed: onChange };
        const close = cursor.observeChanges(callbacks, true);
        return { read: () => cursor.fetch(), close };
      },
      feed(onChanges) {
        const listener = () => onChanges(1);
        const events = ["added", "changed", "removed"] as const;
        for (const event of events) rows.on(event, listener);
        return {
          close() {
            for (const event of events) rows.off(event, listener);
          },
        };
      },
    };
  },
};

function selector(query: Query): object {
  const { from, to, count } = boundsOf(query);
  switch (query.kind) {
    case "entity":
      return { id: from };
    case "partitions":
      return { id: { $gte: from, $lt: to } };
    case "range":
      return { partitionKey: query.partitionKey, id: { $gte: from, $lt: to } };
    case "filter":
      return { partitionKey: query.partitionKey, count: { $gte: count } };
  }
}
