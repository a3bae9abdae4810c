// TanStack DB: a local-only collection with automatic indexes, and live query collections. Tabs
// share a collection in IndexedDB.

import type { LiveAdapter } from "../live-adapter.ts";
import { boundsOf, idOf, type LiveRow, type Query, type RowWithId, withId } from "../workload.ts";

// The part of the package that is used.
interface Library {
  BTreeIndex: unknown;
  createCollection(options: object): Collection;
  createLiveQueryCollection(options: { query: (q: From) => unknown; gcTime: number }): Collection;
  createIndexedDB(options: object): Promise<object>;
  indexedDBCollectionOptions(options: object): object;
  localOnlyCollectionOptions(options: object): object;
  and(...conditions: unknown[]): unknown;
  eq(a: unknown, b: unknown): unknown;
  gte(a: unknown, b: unknown): unknown;
  lt(a: unknown, b: unknown): unknown;
}
interface From {
  from(source: { row: Collection }): {
    where(condition: (rows: { row: Record<string, unknown> }) => unknown): unknown;
  };
}
interface Collection {
  preload(): Promise<void>;
  insert(rows: RowWithId | readonly RowWithId[]): Transaction;
  update(id: string, change: (draft: LiveRow) => void): Transaction;
  toArray: LiveRow[];
  subscribeChanges(listener: (changes: unknown[]) => void): { unsubscribe(): void };
  cleanup(): Promise<void>;
}
interface Transaction {
  isPersisted: { promise: Promise<unknown> };
}

let library: Library;

export const tanstack: LiveAdapter = {
  async prepare() {
    library = (await import("/library/tanstack.js" as string)) as Library;
  },
  async open(name, shared) {
    const rows = await collection(name, shared);
    const open = async (query: Query) => {
      const live = library.createLiveQueryCollection({ query: select(rows, query), gcTime: 0 });
      await live.preload();
      return live;
    };
    return {
      insertGroup: (group) => rows.insert(group.map(withId)).isPersisted.promise,
      insert: (row) => rows.insert(withId(row)).isPersisted.promise,
      update: (key, count) =>
        rows.update(idOf(key), (draft) => {
          draft.count = count;
        }).isPersisted.promise,
      async list(query) {
        const live = await open(query);
        const found = live.toArray;
        await live.cleanup();
        return found;
      },
      async live(query, onChange) {
        const live = await open(query);
        const subscription = live.subscribeChanges(onChange);
        return {
          read: () => live.toArray,
          close() {
            subscription.unsubscribe();
            return live.cleanup();
          },
        };
      },
      feed(onChanges) {
        const subscription = rows.subscribeChanges((changes) => onChanges(changes.length));
        return { close: () => subscription.unsubscribe() };
      },
    };
  },
};

async function collection(name: string, shared: boolean): Promise<Collection> {
  const options = {
    getKey: ({ id }: RowWithId) => id,
    autoIndex: "eager",
    defaultIndexType: library.BTreeIndex,
  };
  if (!shared)
    return library.createCollection(library.localOnlyCollectionOptions({ id: name, ...options }));
  const db = await library.createIndexedDB({ name, version: 1, stores: ["rows"] });
  const rows = library.createCollection(
    library.indexedDBCollectionOptions({ db, name: "rows", ...options }),
  );
  await rows.preload();
  return rows;
}

function select(rows: Collection, query: Query): (q: From) => unknown {
  const { and, eq, gte, lt } = library;
  const { from, to, count } = boundsOf(query);
  return (q) =>
    q.from({ row: rows }).where(({ row }) => {
      if (query.kind === "entity") return eq(row["id"], from);
      const range = and(gte(row["id"], from), lt(row["id"], to));
      return count === undefined ? range : and(range, gte(row["count"], count));
    });
}
