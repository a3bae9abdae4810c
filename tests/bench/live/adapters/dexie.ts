// Dexie's liveQuery() on IndexedDB with relaxed durability. Tabs need nothing else.

import type { LiveAdapter } from "../live-adapter.ts";
import type { LiveRow, Query } from "../workload.ts";

// The part of the package that is used.
interface Library {
  Dexie: new (name: string, options: { chromeTransactionDurability: "relaxed" }) => DexieDb;
  liveQuery<T>(query: () => Promise<T>): { subscribe(next: (value: T) => void): Subscription };
}
interface Subscription {
  unsubscribe(): void;
}
interface DexieDb {
  version(n: number): { stores(schema: Record<string, string>): void };
  open(): Promise<unknown>;
  table(name: string): Rows;
}
interface Rows {
  get(key: string[]): Promise<LiveRow | undefined>;
  add(row: LiveRow): Promise<unknown>;
  bulkAdd(rows: readonly LiveRow[]): Promise<unknown>;
  update(key: string[], changes: object): Promise<number>;
  where(index: string): {
    between(from: unknown[], to: unknown[], withFrom?: boolean, withTo?: boolean): Rows;
  };
  filter(fits: (row: LiveRow) => boolean): Rows;
  toArray(): Promise<LiveRow[]>;
}

let library: Library;
const primary = "[partitionKey+rowKey]";

export const dexie: LiveAdapter = {
  async prepare() {
    library = (await import("/library/dexie.js" as string)) as Library;
  },
  async open(name) {
    const db = new library.Dexie(name, { chromeTransactionDurability: "relaxed" });
    db.version(1).stores({ rows: primary });
    await db.open();
    const rows = db.table("rows");
    const list = (query: Query) => listIn(rows, query);
    return {
      insertGroup: (group) => rows.bulkAdd(group),
      insert: (row) => rows.add(row),
      update: ({ partitionKey, rowKey }, count) => rows.update([partitionKey, rowKey], { count }),
      list,
      async live(query, onChange) {
        let result: readonly LiveRow[] | undefined;
        const subscription = await new Promise<Subscription>((resolve) => {
          const opened = library
            .liveQuery(() => list(query))
            .subscribe((value) => {
              const isFirst = result === undefined;
              result = value;
              if (isFirst) resolve(opened);
              else onChange();
            });
        });
        return { read: () => result ?? [], close: () => subscription.unsubscribe() };
      },
    };
  },
};

async function listIn(rows: Rows, query: Query): Promise<readonly LiveRow[]> {
  switch (query.kind) {
    case "entity": {
      const row = await rows.get([query.key.partitionKey, query.key.rowKey]);
      return row === undefined ? [] : [row];
    }
    case "partitions":
      return await rows.where(primary).between([query.from], [query.to]).toArray();
    case "range": {
      const { partitionKey, from, to } = query;
      return await rows.where(primary).between([partitionKey, from], [partitionKey, to]).toArray();
    }
    case "filter": {
      const { partitionKey, count } = query;
      const partition = rows.where(primary).between([partitionKey], [partitionKey, []]);
      return await (partition as unknown as Rows).filter((row) => row.count >= count).toArray();
    }
  }
}
