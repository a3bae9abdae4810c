// SQLite's official wasm build: in memory in the page, or on OPFS in a worker. On OPFS it uses its
// pool of access handles, which is its fastest method, with a write-ahead log, which requires
// exclusive access. Statements are prepared once.

import type { Database, DatabaseAdapter, Level } from "../database-adapter.ts";
import type { Entity, Filter } from "../workload.ts";

// The part of the package that is used.
interface Library {
  default(): Promise<Sqlite>;
}
interface Sqlite {
  oo1: { DB: new (name: string) => Db };
  installOpfsSAHPoolVfs(options: object): Promise<Pool>;
}
interface Pool {
  OpfsSAHPoolDb: new (name: string) => Db;
  unlink(name: string): boolean;
}
interface Db {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  changes(): number;
  close(): void;
}
type Value = string | number | bigint | Uint8Array;
interface Statement {
  bind(values: readonly Value[]): Statement;
  step(): boolean;
  get(values: Value[]): Value[];
  stepReset(): Statement;
  reset(): Statement;
  finalize(): void;
}

let sqlite: Sqlite;
let pool: Pool;

async function prepare(): Promise<void> {
  // Of SQLite's methods for OPFS, only the pool is used. The others would start another worker.
  const disable = { vfs: { opfs: true, "opfs-vfs": true, "opfs-wl": true, kvvfs: true } };
  Object.assign(globalThis, { sqlite3ApiConfig: { disable } });
  sqlite = await ((await import("/library/sqlite.js" as string)) as Library).default();
}

export function sqliteInMemory(): DatabaseAdapter {
  return {
    levels: ["memory"],
    prepare,
    open: async () => database(new sqlite.oo1.DB(":memory:"), true) as Database,
    remove: async () => {},
  };
}

// SQLite on OPFS. REQUIRES: runs in a worker.
export function sqliteOnOpfs(): DatabaseAdapter {
  return {
    levels: ["relaxed", "strict"],
    async prepare() {
      await prepare();
      pool = await sqlite.installOpfsSAHPoolVfs({ initialCapacity: 12 });
    },
    async open(name, level, fresh) {
      const db = new pool.OpfsSAHPoolDb(`/${name}`);
      db.exec(
        `pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = ${synchronous(level)}`,
      );
      return database(db, fresh) as Database;
    },
    remove: async (name) => {
      for (const end of ["", "-wal", "-journal"]) pool.unlink(`/${name}${end}`);
    },
  };
}

const synchronous = (level: Level) => (level === "strict" ? "full" : "normal");

const columns =
  "partitionKey, rowKey, name, city, note, count, rank, ratio, active, moment, big, bytes, version";
const schema = `create table rows(partitionKey text not null, rowKey text not null, name text, city text, note text, count integer,
  rank integer, ratio real, active integer, moment integer, big integer, bytes blob, version integer,
  primary key (partitionKey, rowKey)) without rowid`;

const bound = (e: Entity): Value[] => [
  e.partitionKey,
  e.rowKey,
  e.name,
  e.city,
  e.note,
  e.count,
  e.rank,
  e.ratio,
  e.active ? 1 : 0,
  e.when.getTime(),
  e.big,
  e.bytes,
  e.version,
];

function entityOf(values: readonly Value[]): Entity {
  return {
    partitionKey: values[0] as string,
    rowKey: values[1] as string,
    name: values[2] as string,
    city: values[3] as string,
    note: values[4] as string,
    count: values[5] as number,
    rank: values[6] as number,
    ratio: values[7] as number,
    active: values[8] === 1,
    when: new Date(Number(values[9])),
    big: BigInt(values[10] as bigint), // SQLite returns a number if it is small enough
    bytes: values[11] as Uint8Array,
    version: values[12] as number,
  };
}

// The prepared statements, one for each operation, which stay valid while the database is open.
function statements(db: Db) {
  const select = `select ${columns} from rows`;
  const one = "partitionKey = ? and rowKey = ?";
  return {
    insert: db.prepare(`insert into rows values (${"?, ".repeat(12)}?)`),
    get: db.prepare(`${select} where ${one}`),
    range: db.prepare(`${select} where partitionKey = ? and rowKey >= ? and rowKey < ?`),
    partition: db.prepare(`${select} where partitionKey = ? and count >= ? and city = ?`),
    scan: db.prepare(`${select} where count >= ? and city = ?`),
    all: db.prepare(select),
    merge: db.prepare(`update rows set count = ? where ${one}`),
    mergeIf: db.prepare(
      `update rows set count = ?, version = version + 1 where ${one} and version = ?`,
    ),
    begin: db.prepare("begin"),
    commit: db.prepare("commit"),
    rollback: db.prepare("rollback"),
  };
}

function database(db: Db, fresh: boolean): Database<Entity> {
  if (fresh) db.exec(schema);
  const s = statements(db);
  const insert = (entity: Entity) => s.insert.bind(bound(entity)).stepReset();
  const get = (p: string, r: string) => one(s.get.bind([p, r]));
  const insertGroup = (entities: readonly Entity[]) => {
    s.begin.stepReset();
    try {
      entities.forEach(insert);
    } catch (error) {
      s.rollback.stepReset();
      throw error;
    }
    s.commit.stepReset();
  };
  return {
    insertGroup,
    insert,
    // An application that queues writes for its worker can store the whole queue in one
    // transaction.
    insertInFlight: insertGroup,
    get,
    getMany: (keys) => keys.map(({ partitionKey, rowKey }) => get(partitionKey, rowKey)),
    range: ({ partitionKey, from, to }) => rows(s.range.bind([partitionKey, from, to])),
    partition: (key, filter: Filter) => rows(s.partition.bind([key, filter.count, filter.city])),
    scan: (filter: Filter) => rows(s.scan.bind([filter.count, filter.city])),
    all: (visit) => eachBatch(s.all, visit),
    merge: (p, r, count) => s.merge.bind([count, p, r]).stepReset(),
    mergeIf(p, r, count, token) {
      s.mergeIf.bind([count, p, r, token as number]).stepReset();
      return db.changes() === 1;
    },
    token: ({ version }) => version,
    entity: (row) => row,
    flush: () => {},
    close() {
      for (const statement of Object.values(s)) statement.finalize();
      db.close();
    },
  };
}

function one(statement: Statement): Entity {
  if (!statement.step()) throw new Error("there is no such row");
  const entity = entityOf(statement.get([]));
  statement.reset();
  return entity;
}

function rows(statement: Statement): Entity[] {
  const found: Entity[] = [];
  while (statement.step()) found.push(entityOf(statement.get([])));
  statement.reset();
  return found;
}

function eachBatch(statement: Statement, visit: (rows: readonly Entity[]) => void): void {
  let batch: Entity[] = [];
  while (statement.step()) {
    if (batch.push(entityOf(statement.get([]))) < 1000) continue;
    visit(batch);
    batch = [];
  }
  statement.reset();
  visit(batch);
}
