// TinyBase: rows of cells in memory. Its queries are live. A listener of a row or of a table is its
// simplest live query. Tabs share a MergeableStore through a BroadcastChannel.

import type { LiveAdapter, OpenLive } from "../live-adapter.ts";
import { boundsOf, idOf, type LiveRow, type Query, withId } from "../workload.ts";

// The part of the package that is used.
interface Library {
  createStore(): TinyStore;
  createMergeableStore(): TinyStore;
  createQueries(store: TinyStore): Queries;
  createBroadcastChannelSynchronizer(store: TinyStore, channel: string): Synchronizer;
}
interface Synchronizer {
  startSync(): Promise<unknown>;
}
interface TinyStore {
  transaction(actions: () => void): void;
  getRow(table: string, id: string): Partial<LiveRow>;
  getTable(table: string): Record<string, LiveRow>;
  setRow(table: string, id: string, row: object): void;
  setCell(table: string, id: string, cell: string, value: number): void;
  addRowListener(table: string, id: string | null, listener: () => void): string;
  addTableListener(table: string, listener: () => void): string;
  delListener(id: string): void;
}
interface Select {
  select(cell: string): void;
  where(condition: (getCell: (cell: string) => unknown) => boolean): void;
}
interface Queries {
  setQueryDefinition(id: string, table: string, define: (parts: Select) => void): void;
  delQueryDefinition(id: string): void;
  getResultTable(id: string): Record<string, LiveRow>;
  addResultTableListener(id: string, listener: () => void): string;
  delListener(id: string): void;
}

let library: Library;
const cells = [
  "partitionKey",
  "rowKey",
  "name",
  "city",
  "note",
  "count",
  "rank",
  "ratio",
  "active",
];

export const tinybase: LiveAdapter = {
  async prepare() {
    library = (await import("/library/tinybase.js" as string)) as Library;
  },
  async open(name, shared) {
    const store = shared ? library.createMergeableStore() : library.createStore();
    if (shared) await library.createBroadcastChannelSynchronizer(store, name).startSync();
    const queries = library.createQueries(store);
    const insert = (row: LiveRow) => {
      const { id, ...rest } = withId(row);
      store.setRow("rows", id, rest);
    };
    return {
      insertGroup: (group) => store.transaction(() => group.forEach(insert)),
      insert,
      update: (key, count) => store.setCell("rows", idOf(key), "count", count),
      list: (query) => listIn(store, query),
      live: (query, onChange) =>
        query.kind === "entity"
          ? entity(store, idOf(query.key), onChange)
          : defined(queries, query, onChange),
      feed(onChanges) {
        const id = store.addRowListener("rows", null, () => onChanges(1));
        return { close: () => store.delListener(id) };
      },
    };
  },
};

function rowIn(store: TinyStore, id: string): LiveRow[] {
  const row = store.getRow("rows", id);
  return row.partitionKey === undefined ? [] : [row as LiveRow];
}

function listIn(store: TinyStore, query: Query): readonly LiveRow[] {
  const { from, to, count = 0 } = boundsOf(query);
  if (query.kind === "entity") return rowIn(store, from);
  const found: LiveRow[] = [];
  for (const [id, row] of Object.entries(store.getTable("rows")))
    if (id >= from && id < to && row.count >= count) found.push(row);
  return found;
}

function entity(store: TinyStore, id: string, onChange: () => void): OpenLive {
  const listener = store.addRowListener("rows", id, onChange);
  return { read: () => rowIn(store, id), close: () => store.delListener(listener) };
}

let definitions = 0;

function defined(queries: Queries, query: Query, onChange: () => void): OpenLive {
  const id = `query ${++definitions}`;
  const { from, to, count = 0 } = boundsOf(query);
  queries.setQueryDefinition(id, "rows", ({ select, where }) => {
    for (const cell of cells) select(cell);
    where((getCell) => {
      const key = `${getCell("partitionKey")}|${getCell("rowKey")}`;
      return key >= from && key < to && (getCell("count") as number) >= count;
    });
  });
  const listener = queries.addResultTableListener(id, onChange);
  return {
    read: () => Object.values(queries.getResultTable(id)),
    close() {
      queries.delListener(listener);
      queries.delQueryDefinition(id);
    },
  };
}
