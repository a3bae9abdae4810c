// RxDB on its Dexie storage, which is the one that it recommends for browsers without a licence,
// with relaxed durability. Its event-reduce is on by default.

import type { LiveAdapter } from "../live-adapter.ts";
import { boundsOf, idOf, type LiveRow, type Query, type RowWithId, withId } from "../workload.ts";

// The part of the packages that is used.
interface Library {
  createRxDatabase(options: object): Promise<{
    addCollections(schemas: object): Promise<{ rows: Collection }>;
  }>;
  getRxStorageDexie(options: { chromeTransactionDurability: "relaxed" }): object;
}
interface Observable<T> {
  subscribe(next: (value: T) => void): { unsubscribe(): void };
}
interface Collection {
  $: Observable<unknown>;
  bulkInsert(rows: readonly RowWithId[]): Promise<{ error: unknown[] }>;
  insert(row: RowWithId): Promise<unknown>;
  find(query: object): RxQuery<Document[]>;
  findOne(id: string): RxQuery<Document | null>;
}
interface RxQuery<T> {
  $: Observable<T>;
  exec(): Promise<T>;
}
type Document = LiveRow & { incrementalPatch(changes: object): Promise<unknown> };

let library: Library;

const text = { type: "string" };
const number = { type: "number" };
const schema = {
  version: 0,
  primaryKey: "id",
  type: "object",
  properties: {
    id: { type: "string", maxLength: 40 },
    ...{ partitionKey: text, rowKey: text, name: text, city: text, note: text },
    ...{ count: number, rank: number, ratio: number, active: { type: "boolean" } },
  },
  required: ["id", "partitionKey", "rowKey"],
};

export const rxdb: LiveAdapter = {
  async prepare() {
    library = (await import("/library/rxdb.js" as string)) as Library;
  },
  async open(name, shared) {
    const storage = library.getRxStorageDexie({ chromeTransactionDurability: "relaxed" });
    const db = await library.createRxDatabase({ name, storage, multiInstance: shared });
    const { rows } = await db.addCollections({ rows: { schema } });
    return {
      async insertGroup(group) {
        const { error } = await rows.bulkInsert(group.map(withId));
        if (error.length > 0) throw new Error("RxDB did not insert all rows");
      },
      insert: (row) => rows.insert(withId(row)),
      update: async (key, count) =>
        await (await rows.findOne(idOf(key)).exec())?.incrementalPatch({ count }),
      list: async (query) => asRows(await find(rows, query).exec()),
      async live(query, onChange) {
        let result: readonly LiveRow[] | undefined;
        const subscription = await new Promise<{ unsubscribe(): void }>((resolve) => {
          const opened = find(rows, query).$.subscribe((found) => {
            const isFirst = result === undefined;
            result = asRows(found);
            if (!isFirst) onChange();
            else queueMicrotask(() => resolve(opened));
          });
        });
        return { read: () => result ?? [], close: () => subscription.unsubscribe() };
      },
      feed(onChanges) {
        const subscription = rows.$.subscribe(() => onChanges(1));
        return { close: () => subscription.unsubscribe() };
      },
    };
  },
};

const asRows = (found: Document[] | Document | null): readonly LiveRow[] =>
  Array.isArray(found) ? found : found === null ? [] : [found];

function find(rows: Collection, query: Query): RxQuery<Document[] | Document | null> {
  if (query.kind === "entity") return rows.findOne(idOf(query.key));
  const { from, to, count } = boundsOf(query);
  const id = { id: { $gte: from, $lt: to } };
  const selector = count === undefined ? id : { ...id, count: { $gte: count } };
  return rows.find({ selector, sort: [{ id: "asc" }] });
}
