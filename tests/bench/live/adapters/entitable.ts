// entitable from its npm package. Writes are deferred.

import type { LiveQuery, Store, Table } from "../../../../web/src/index.ts";
import type { LiveAdapter, LiveDatabase, OpenLive } from "../live-adapter.ts";
import type { LiveRow, Query } from "../workload.ts";

type Package = typeof import("../../../../web/src/index.ts");

export type LiveTable = Table<LiveRow>;

const history = { bytes: 2 ** 30 }; // kept only for durable readers

let library: Package;

// `table`: for measurements that only entitable has.
export interface EntitableDatabase extends LiveDatabase {
  readonly store: Store;
  readonly table: LiveTable;
}

export const entitable: LiveAdapter = {
  async prepare() {
    library = (await import("/library/entitable.js" as string)) as Package;
  },
  async open(name): Promise<EntitableDatabase> {
    const store = await library.openStore({ name, history, onWarning });
    const table: LiveTable = store.table<LiveRow>("rows", { durability: "deferred" });
    await table.createTable();
    return {
      store,
      table,
      insertGroup: (rows) => table.submitTransaction(rows.map((row) => ["create", row])),
      insert: (row) => table.createEntity(row),
      update: (key, count) => table.updateEntity({ ...key, count }, "Merge"),
      async list(query) {
        const found: LiveRow[] = [];
        const options = { queryOptions: { filter: filterOf(query) } };
        for await (const page of table.listEntities(options).byPage())
          for (const row of page) found.push(row as LiveRow);
        return found;
      },
      async live(query, onChange) {
        if (query.kind !== "entity")
          return await opened(table.live({ queryOptions: { filter: filterOf(query) } }), onChange);
        const { partitionKey, rowKey } = query.key;
        return await opened(table.liveEntity(partitionKey, rowKey), onChange);
      },
      liveCount: (query) => table.liveCount({ queryOptions: { filter: filterOf(query) } }).ready,
      async feed(onChanges) {
        const feed = store.changes();
        await feed.ready;
        void (async () => {
          for await (const { changes } of feed) onChanges(changes.length);
        })();
        return { close: () => feed.return() };
      },
    };
  },
};

function onWarning({ code }: { code: string }): void {
  if (code !== "StorageNotPersisted") console.error(`entitable warns: ${code}`);
}

async function opened<R>(query: LiveQuery<R>, onChange: () => void): Promise<OpenLive> {
  await query.ready;
  query.subscribe(onChange);
  return {
    read() {
      const { data } = query.getSnapshot();
      if (Array.isArray(data)) return data as LiveRow[];
      return data === undefined ? [] : [data as LiveRow];
    },
    close: () => query.close(),
  };
}

export function filterOf(query: Query): string {
  switch (query.kind) {
    case "entity":
      return `PartitionKey eq '${query.key.partitionKey}' and RowKey eq '${query.key.rowKey}'`;
    case "partitions":
      return `PartitionKey ge '${query.from}' and PartitionKey lt '${query.to}'`;
    case "range":
      return `PartitionKey eq '${query.partitionKey}' and RowKey ge '${query.from}' and RowKey lt '${query.to}'`;
    case "filter":
      return `PartitionKey eq '${query.partitionKey}' and count ge ${query.count}`;
  }
}
