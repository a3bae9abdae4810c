// entitable from its npm package: bundled as a site would, or imported by Node.

import type {
  OpenOptions,
  Store,
  StoreLocation,
  Table,
  TableEntityResult,
} from "../../../../web/src/index.ts";
import type { Database, DatabaseAdapter } from "../database-adapter.ts";
import type { InNode } from "../session.ts";
import type { Entity, Filter, Key } from "../workload.ts";

type Package = typeof import("../../../../web/src/index.ts");
type Row = TableEntityResult<Entity>;

const durable = ["deferred", "relaxed", "strict"] as const;

export function inPage(thread: NonNullable<OpenOptions["thread"]>): DatabaseAdapter {
  return adapter(durable, "/library/entitable.js", { thread }, {});
}

export function inNode(node: InNode | undefined, persistence: "file" | "memory"): DatabaseAdapter {
  if (node === undefined) throw new Error("this is no Node");
  if (persistence === "memory") return adapter(["memory"], node.package, {}, { persistence });
  return adapter(durable, node.package, {}, { persistence, path: node.folder });
}

function adapter(
  levels: DatabaseAdapter["levels"],
  entry: string,
  options: OpenOptions,
  location: StoreLocation,
): DatabaseAdapter {
  let entitable: Package;
  return {
    levels,
    async prepare() {
      entitable = (await import(entry)) as Package;
    },
    async open(name, level, fresh) {
      const durability = level === "memory" ? "deferred" : level;
      const all = { ...options, ...location, name, durability, onWarning } as const;
      const store = await entitable.openStore(all);
      const table = store.table<Entity>("rows");
      if (fresh) await table.createTable();
      return database(store, table, options.thread === "worker") as Database;
    },
    remove: (name) => entitable.deleteStore(name, location),
  };
}

function onWarning({ code }: { code: string }): void {
  if (code !== "StorageNotPersisted") console.error(`entitable warns: ${code}`);
}

function database(store: Store, table: Table<Entity>, remote: boolean): Database<Row> {
  const get = (p: string, r: string) => table.getEntity(p, r);
  const getEach = (keys: readonly Key[]) =>
    Promise.all(keys.map((k) => get(k.partitionKey, k.rowKey)));
  const query = (filter: string) => list(table, filter);
  return {
    insertGroup: (entities) => table.submitTransaction(entities.map((e) => ["create", e])),
    insert: (entity) => table.createEntity(entity),
    insertInFlight: (entities) => Promise.all(entities.map((e) => table.createEntity(e))),
    get,
    getMany: remote ? (keys) => query(anyOf(keys)) : getEach, // whichever is faster
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
    flush: () => store.flush(),
    close: () => store.close(),
  };
}

// Returns one filter for many keys. For a store in a worker, a filter is faster than one message
// per key, although it must be parsed.
function anyOf(keys: readonly Key[]): string {
  const partitions = new Map<string, string[]>();
  for (const { partitionKey, rowKey } of keys) {
    const rows = partitions.get(partitionKey);
    if (rows === undefined) partitions.set(partitionKey, [`RowKey eq '${rowKey}'`]);
    else rows.push(`RowKey eq '${rowKey}'`);
  }
  return [...partitions]
    .map(([key, rows]) => `PartitionKey eq '${key}' and (${rows.join(" or ")})`)
    .join(" or ");
}

const text = ({ city, count }: Filter) => `count ge ${count} and city eq '${city}'`;

// Returns all pages as one list. Most lists have a single page, which is returned unchanged.
async function list(table: Table<Entity>, filter: string): Promise<readonly Row[]> {
  let found: Row[] | undefined;
  const pages = table.listEntities({ queryOptions: { filter } }).byPage({ maxPageSize: 1000 });
  for await (const page of pages) found = found === undefined ? page : found.concat(page);
  return found ?? [];
}
