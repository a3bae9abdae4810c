// AlaSQL: SQL over JavaScript objects in memory. Reads return the stored objects themselves.
// Statements are compiled once. It only has hash indexes, so a range is read by filtering the
// partition. It saves to IndexedDB by copying the table, and does not wait until that is done.

import type { Database, DatabaseAdapter } from "../database-adapter.ts";
import { fromBase64, toBase64 } from "../json-entity.ts";
import type { Entity } from "../workload.ts";

// The part of the package that is used.
interface AlaSql {
  (sql: string): unknown;
  compile(sql: string): (values: readonly unknown[]) => unknown;
  options: { cache: boolean };
  tables: Record<string, { data: Row[] }>;
}
interface Row extends Omit<Entity, "bytes"> {
  id: string;
  bytes: string; // base64, because UPDATE turns a Uint8Array into an empty object
}

let alasql: AlaSql;

export function alasqlAdapter(): DatabaseAdapter {
  return {
    levels: ["memory"],
    async prepare() {
      alasql = ((await import("/library/alasql.js" as string)) as { default: AlaSql }).default;
    },
    open: async () => database() as Database,
    remove: async () => {},
  };
}

const idOf = (partitionKey: string, rowKey: string) => `${partitionKey}|${rowKey}`;
const stored = (entity: Entity): Row => ({
  id: idOf(entity.partitionKey, entity.rowKey),
  ...entity,
  bytes: toBase64(entity.bytes),
});

// Columns without a type keep their values unchanged. A BIGINT column would turn them into numbers.
const columns =
  "id STRING PRIMARY KEY, partitionKey STRING, rowKey STRING, name, city, note, `count`, rank, ratio, active, `when`, big, bytes, version";

function statements() {
  const compile = (sql: string) => alasql.compile(sql) as (values: readonly unknown[]) => Row[];
  return {
    insert: compile("SELECT * INTO entities FROM ?"),
    get: compile("SELECT * FROM entities WHERE id = ?"),
    range: compile("SELECT * FROM entities WHERE partitionKey = ? AND rowKey >= ? AND rowKey < ?"),
    partition: compile(
      "SELECT * FROM entities WHERE partitionKey = ? AND `count` >= ? AND city = ?",
    ),
    scan: compile("SELECT * FROM entities WHERE `count` >= ? AND city = ?"),
    merge: compile("UPDATE entities SET `count` = ? WHERE id = ?"),
    mergeIf: compile("UPDATE entities SET `count` = ?, version = ? WHERE id = ? AND version = ?"),
  };
}

function database(): Database<Row> {
  alasql("DROP TABLE IF EXISTS entities");
  alasql(`CREATE TABLE entities (${columns})`);
  alasql("CREATE INDEX byId ON entities(id)");
  alasql("CREATE INDEX byPartition ON entities(partitionKey)");
  const s = statements();
  const get = (p: string, r: string) => s.get([idOf(p, r)])[0] as Row;
  const insertGroup = (entities: readonly Entity[]) => s.insert([entities.map(stored)]);
  return {
    insertGroup,
    insert: (entity) => insertGroup([entity]),
    insertInFlight: insertGroup,
    get,
    getMany: (keys) => keys.map(({ partitionKey, rowKey }) => get(partitionKey, rowKey)),
    range: ({ partitionKey, from, to }) => s.range([partitionKey, from, to]),
    partition: (key, { city, count }) => s.partition([key, count, city]),
    scan: ({ city, count }) => s.scan([count, city]),
    all: (visit) => visit((alasql.tables["entities"] as { data: Row[] }).data.slice()),
    merge: (p, r, count) => s.merge([count, idOf(p, r)]),
    mergeIf: (p, r, count, token) => {
      const version = token as number;
      return (s.mergeIf([count, version + 1, idOf(p, r), version]) as unknown) === 1;
    },
    token: ({ version }) => version,
    entity: ({ bytes, ...row }) => ({ ...row, bytes: fromBase64(bytes) }),
    flush: () => {},
    close: () => alasql("DROP TABLE entities"),
  };
}
