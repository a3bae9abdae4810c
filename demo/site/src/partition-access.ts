// Which partitions a run touched, and how much: from the requests that it made, and from where the rows of its tables are.
import type { Explain, Store } from "entitable";
import type { PlaygroundRun } from "entitable/explorer";

type Request = PlaygroundRun["requests"][number];

export interface Access {
  readonly table: string;
  readonly partition: string;
  /** Rows looked at, by all requests. */
  reads: number;
  /** Entities inserted, changed, deleted. */
  writes: number;
}

const writers = ["insert", "update", "merge", "upsert", "delete"];

/** Every partition of the tables that were asked, touched or not, in the order of their keys. */
export async function accessesOf(store: Store, requests: readonly Request[]): Promise<Access[]> {
  const asked = requests.filter(({ table, code }) => table !== undefined && code === undefined);
  const tables = new Map<string, Partitions>();
  for (const { table = "" } of asked) {
    const name = table.toLowerCase();
    if (!tables.has(name)) tables.set(name, await Partitions.of(store, table));
  }
  const queries = new Map<string, { request: Request; rows: number }>();
  for (const request of asked) {
    const { table = "", operation, partitionKey = "", operations, filter, rowsRead = 0 } = request;
    const partitions = tables.get(table.toLowerCase()) as Partitions;
    if (operation === "get") partitions.at(partitionKey).reads += 1;
    if (writers.includes(operation)) partitions.at(partitionKey).writes += 1;
    if (operation === "batch") partitions.at(partitionKey).writes += operations?.length ?? 0;
    const deleted = (operations ?? [request]).filter((one) => one.operation === "delete");
    partitions.had(partitionKey, deleted.length);
    if (operation !== "query") continue;
    const query = queries.get(`${table}\n${filter}`) ?? { request, rows: 0 };
    query.rows += rowsRead; // its pages together
    queries.set(`${table}\n${filter}`, query);
  }
  for (const { request, rows } of queries.values()) {
    const partitions = tables.get((request.table ?? "").toLowerCase()) as Partitions;
    const plan = await explained(store, request);
    if (plan !== undefined) partitions.spread(plan, rows);
  }
  return [...tables.values()].flatMap((partitions) => partitions.all());
}

// Undefined if the table is gone.
async function explained(store: Store, request: Request): Promise<Explain | undefined> {
  const { table = "", filter } = request;
  const queryOptions = filter === undefined ? {} : { filter };
  return await store
    .table(table)
    .explain({ queryOptions })
    .catch(() => undefined);
}

class Partitions {
  readonly #table: string;
  readonly #accesses = new Map<string, Access>();
  readonly #rows = new Map<string, number>();

  private constructor(table: string) {
    this.#table = table;
  }

  // As they are after the run. A table that is gone has none.
  static async of(store: Store, table: string): Promise<Partitions> {
    const partitions = new Partitions(table);
    try {
      const queryOptions = { select: ["partitionKey"] };
      for await (const { partitionKey = "" } of store.table(table).listEntities({ queryOptions })) {
        partitions.at(partitionKey);
        partitions.#rows.set(partitionKey, (partitions.#rows.get(partitionKey) ?? 0) + 1);
      }
    } catch (error) {
      if ((error as { statusCode?: number }).statusCode !== 404) throw error;
    }
    return partitions;
  }

  at(partition: string): Access {
    let access = this.#accesses.get(partition);
    if (access === undefined) {
      access = { table: this.#table, partition, reads: 0, writes: 0 };
      this.#accesses.set(partition, access);
    }
    return access;
  }

  /** Rows that are gone by now, and could be read before. */
  had(partition: string, rows: number): void {
    this.#rows.set(partition, (this.#rows.get(partition) ?? 0) + rows);
  }

  /** Rows that a query read, over the partitions in its ranges: it walks them in the order of keys until it has read that many. */
  spread({ ranges, kind }: Explain, rows: number): void {
    let left = rows;
    for (const { from, to } of ranges) {
      if (kind === "point" || from.partitionKey === to?.partitionKey) {
        const share = Math.min(left, this.#rows.get(from.partitionKey) ?? 0);
        this.at(from.partitionKey).reads += share;
        left -= share;
        continue;
      }
      for (const access of this.all()) {
        const { partition } = access;
        if (partition < from.partitionKey || (to && partition > to.partitionKey)) continue;
        const share = Math.min(left, this.#rows.get(partition) ?? 0);
        access.reads += share;
        left -= share;
      }
    }
  }

  all(): Access[] {
    return [...this.#accesses.values()].sort((a, b) => (a.partition < b.partition ? -1 : 1));
  }
}
