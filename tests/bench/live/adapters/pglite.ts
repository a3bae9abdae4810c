// PGlite in IndexedDB with relaxed durability, and its extension for live queries. Queries whose
// result may be large are incremental. Tabs share it through its worker.

import type { LiveAdapter } from "../live-adapter.ts";
import { boundsOf, idOf, type LiveRow, type Query, withId } from "../workload.ts";

// The part of the package that is used.
interface Library {
  PGlite: { create(path: string, options: object): Promise<Postgres> };
  PGliteWorker: { create(worker: Worker, options: object): Promise<Postgres> };
  live: unknown;
}
interface Postgres {
  exec(sql: string): Promise<unknown>;
  query(sql: string, parameters?: unknown[]): Promise<{ rows: LiveRow[] }>;
  live: {
    query(options: LiveOptions<Results>): Promise<LiveHandle & { initialResults: Results }>;
    incrementalQuery(
      options: LiveOptions<Results> & { key: string },
    ): Promise<LiveHandle & { initialResults: Results }>;
    changes(options: LiveOptions<unknown[]> & { key: string }): Promise<LiveHandle>;
  };
}
interface LiveOptions<T> {
  query: string;
  params?: unknown[];
  callback: (value: T) => void;
}
interface Results {
  rows: LiveRow[];
}
interface LiveHandle {
  unsubscribe(): Promise<void>;
}

let library: Library;
const columns = [
  ...["id", '"partitionKey"', '"rowKey"', "name", "city", "note"],
  ...["count", "rank", "ratio", "active"],
].join(", ");
const table = `create table if not exists rows (id text collate "C" primary key,
  "partitionKey" text, "rowKey" text, name text, city text, note text,
  count int, rank int, ratio float8, active boolean)`;
const incrementalFrom = "partitions"; // queries of this kind may have large results

export const pglite: LiveAdapter = {
  async prepare() {
    library = (await import("/library/pglite.js" as string)) as Library;
  },
  async open(name, shared) {
    const db = await opened(name, shared);
    await db.exec(table);
    const insertGroup = (group: readonly LiveRow[]) => db.query(...insertion(group));
    return {
      insertGroup,
      insert: (row) => insertGroup([row]),
      update: (key, count) =>
        db.query("update rows set count = $2 where id = $1", [idOf(key), count]),
      list: async (query) => (await db.query(...selection(query))).rows,
      async live(query, onChange) {
        const [sql, params] = selection(query);
        let result: readonly LiveRow[] | undefined;
        const callback = ({ rows }: Results) => {
          const isFirst = result === undefined;
          result = rows;
          if (!isFirst) onChange();
        };
        const options = { query: sql, params, callback };
        const live =
          query.kind === incrementalFrom
            ? await db.live.incrementalQuery({ ...options, key: "id" })
            : await db.live.query(options);
        return { read: () => result ?? [], close: () => live.unsubscribe() };
      },
      async feed(onChanges) {
        const query = `select ${columns} from rows`;
        let isFirst = true;
        const callback = (changes: unknown[]) => {
          if (!isFirst) onChanges(changes.length);
          isFirst = false;
        };
        const live = await db.live.changes({ query, key: "id", callback });
        return { close: () => live.unsubscribe() };
      },
    };
  },
};

async function opened(name: string, shared: boolean): Promise<Postgres> {
  const extensions = { live: library.live };
  const path = `idb://${name}`;
  if (!shared) return await library.PGlite.create(path, { relaxedDurability: true, extensions });
  const worker = new Worker("/library/pglite-worker.js", { type: "module" });
  return await library.PGliteWorker.create(worker, { dataDir: path, extensions });
}

// One statement for all rows, as its documentation recommends for bulk inserts.
function insertion(group: readonly LiveRow[]): [string, unknown[]] {
  const values: unknown[] = [];
  const lines = group.map((row) => {
    const { id, partitionKey, rowKey, name, city, note, count, rank, ratio, active } = withId(row);
    const cells = [id, partitionKey, rowKey, name, city, note, count, rank, ratio, active];
    return `(${cells.map((cell) => `$${values.push(cell)}`).join()})`;
  });
  return [`insert into rows (${columns}) values ${lines.join()}`, values];
}

function selection(query: Query): [string, unknown[]] {
  const { from, to, count } = boundsOf(query);
  const rows = `select ${columns} from rows where`;
  if (query.kind === "entity") return [`${rows} id = $1`, [from]];
  const range = `${rows} id >= $1 and id < $2`;
  if (count === undefined) return [`${range} order by id`, [from, to]];
  return [`${range} and count >= $3 order by id`, [from, to, count]];
}
