// entitable as it is packed, bundled as a site would.

import type { OpenOptions, Store, Table, TableEntityResult } from "../../../../web/src/index.ts";
import type { Contestant, Database, Level } from "../contestant.ts";
import type { Entity, Filter } from "../workload.ts";

type Package = typeof import("../../../../web/src/index.ts");
type Row = TableEntityResult<Entity>;

let entitable: Package;

export function entitableIn(thread: NonNullable<OpenOptions["thread"]>): Contestant {
  return {
    levels: ["deferred", "relaxed", "strict"],
    async prepare() {
      entitable = (await import("/library/entitable.js" as string)) as Package;
    },
    open: (name, level, fresh) => open(name, level, fresh, thread),
    remove: (name) => entitable.deleteStore(name),
  };
}

async function open(
  name: string,
  level: Level,
  fresh: boolean,
  thread: NonNullable<OpenOptions["thread"]>,
): Promise<Database> {
  if (level === "memory") throw new Error("not asked for");
  const onWarning = ({ code }: { code: string }) => {
    if (code !== "StorageNotPersisted") console.error(`entitable warns: ${code}`);
  };
  const store = await entitable.openStore({ name, durability: level, thread, onWarning });
  const table = store.table<Entity>("rows");
  if (fresh) await table.createTable();
  return database(store, table) as Database;
}

function database(store: Store, table: Table<Entity>): Database<Row> {
  const get = (p: string, r: string) => table.getEntity(p, r);
  const query = (filter: string) => list(table, filter);
  return {
    insertGroup: (entities) => table.submitTransaction(entities.map((e) => ["create", e])),
    insert: (entity) => table.createEntity(entity),
    insertInFlight: (entities) => Promise.all(entities.map((e) => table.createEntity(e))),
    get,
    getMany: (keys) =>
      Promise.all(keys.map(({ partitionKey, rowKey }) => get(partitionKey, rowKey))),
    range: ({ partitionKey, from, to }) =>
      query(`PartitionKey eq '${partitionKey}' and RowKey ge '${from}' and RowKey lt '${to}'`),
    partition: (key, filter) => query(`PartitionKey eq '${key}' and ${text(filter)}`),
    scan: (filter) => query(text(filter)),
    async all(visit) {
      for await (const page of table.listEntities().byPage({ maxPageSize: 1000 })) visit(page);
    },
    merge: (partitionKey, rowKey, count) =>
      table.updateEntity({ partitionKey, rowKey, count }, "Merge"),
    async mergeIf(partitionKey, rowKey, count, token) {
      try {
        const etag = token as string;
        await table.updateEntity({ partitionKey, rowKey, count }, "Merge", { etag });
        return true;
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode === 412) return false;
        throw error;
      }
    },
    token: ({ etag }) => etag,
    entity: (row) => row,
    settle: () => store.flush(),
    close: () => store.close(),
  };
}

const text = ({ city, count }: Filter) => `count ge ${count} and city eq '${city}'`;

// One page, nearly always: then it is handed on as it came.
async function list(table: Table<Entity>, filter: string): Promise<readonly Row[]> {
  let found: Row[] | undefined;
  const pages = table.listEntities({ queryOptions: { filter } }).byPage({ maxPageSize: 1000 });
  for await (const page of pages) found = found === undefined ? page : found.concat(page);
  return found ?? [];
}
