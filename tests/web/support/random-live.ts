// Random live queries and random writes, and a check of the former. Runs in Node and in pages.

import type { Durability, LiveQuery, Reader, Store, Table } from "../../../web/src/types.ts";
import { equal, show } from "./equal.ts";
import type { Random } from "./random.ts";

export interface Item {
  partitionKey: string;
  rowKey: string;
  value: number;
  note: string;
}
type Stored = Item & { etag: string; timestamp: string };

const partitions = ["a", "b", "c"];
const rowKeyCount = 30;
const valueCount = 6;
const noteLengthMax = 40;

interface Condition {
  readonly filter: string | undefined;
  accepts(item: Item): boolean;
}

function randomCondition(random: Random): Condition {
  const n = random.below(valueCount);
  const partition = partitions[random.below(partitions.length)] as string;
  const row = randomRowKey(random);
  const conditions: Condition[] = [
    { filter: undefined, accepts: () => true },
    { filter: `value eq ${n}`, accepts: ({ value }) => value === n },
    { filter: `value ge ${n}`, accepts: ({ value }) => value >= n },
    {
      filter: `PartitionKey eq '${partition}'`,
      accepts: ({ partitionKey }) => partitionKey === partition,
    },
    {
      filter: `PartitionKey eq '${partition}' and RowKey ge '${row}' and value le ${n}`,
      accepts: ({ partitionKey, rowKey, value }) =>
        partitionKey === partition && rowKey >= row && value <= n,
    },
    {
      filter: `PartitionKey eq '${partition}' and RowKey eq '${row}'`,
      accepts: ({ partitionKey, rowKey }) => partitionKey === partition && rowKey === row,
    },
    {
      filter: `value eq ${n} or RowKey lt '${row}'`,
      accepts: ({ rowKey, value }) => value === n || rowKey < row,
    },
  ];
  return conditions[random.below(conditions.length)] as Condition;
}

function randomRowKey(random: Random): string {
  return String(random.below(rowKeyCount)).padStart(2, "0");
}

/** A live query, and how to compute its result from all items. */
export interface CheckedQuery {
  readonly name: string;
  readonly live: LiveQuery<unknown>;
  /** Whether it shows a commit in a later task than other queries. */
  readonly isLate?: boolean;
  expected(all: readonly Stored[]): unknown;
}

/** The items of a store, with random writes and queries. */
export class RandomItems {
  readonly table: Table<Item>;
  readonly #store: Store;
  readonly #random: Random;

  constructor(store: Store, random: Random) {
    this.#store = store;
    this.#random = random;
    this.table = store.table<Item>("items");
  }

  openWhole(): CheckedQuery & { readonly live: LiveQuery<readonly Item[]> } {
    return { name: "whole", live: this.table.live(), expected: (all) => all };
  }

  openQuery(): CheckedQuery {
    return this.#random.below(4) === 0
      ? openObservedQuery(this.#store, this.table, this.#random)
      : openRandomQuery(this.table, this.#random);
  }

  write(durabilities?: readonly Durability[]): Promise<void> {
    return randomWrite(this.table, this.#random, durabilities);
  }

  async list(): Promise<Stored[]> {
    const all: Stored[] = [];
    for await (const item of this.table.listEntities()) all.push(item as Stored);
    return all;
  }
}

// Reads entities, a count of the same, and an entity whose key depends on the first of them. Other
// tasks run between some of these reads.
function openObservedQuery(store: Store, table: Table<Item>, random: Random): CheckedQuery {
  const { filter, accepts } = randomCondition(random);
  const hasPauses = random.below(2) === 0;
  const pause = () => hasPauses && new Promise<void>((resolve) => setTimeout(resolve));
  const other = ({ partitionKey, value }: Item) => ({ partitionKey, rowKey: `0${value}` });
  let torn: string | undefined; // what a run has read of two versions
  const query = async (read: Reader) => {
    const list = await read.entities(table, { queryOptions: { filter } });
    await pause();
    const [first] = list;
    const key = first === undefined ? undefined : other(first);
    const entity = key && (await read.entity(table, key.partitionKey, key.rowKey));
    await pause();
    const count = await read.count(table, { queryOptions: { filter } });
    if (count !== list.length) torn = `${count} of ${list.length}`;
    return { list, entity, count, torn };
  };
  const expected = (all: readonly Stored[]) => {
    const list = all.filter(accepts);
    const key = list[0] && other(list[0]);
    const isIt = (item: Item) =>
      item.partitionKey === key?.partitionKey && item.rowKey === key.rowKey;
    return { list, entity: all.find(isIt), count: list.length };
  };
  return { name: `observed ${filter}`, live: store.observe(query), isLate: true, expected };
}

function openRandomQuery(table: Table<Item>, random: Random): CheckedQuery {
  const { filter, accepts } = randomCondition(random);
  const from = {
    partitionKey: partitions[random.below(3)] as string,
    rowKey: randomRowKey(random),
  };
  const limit = 1 + random.below(12);
  const name = `${filter} ${JSON.stringify({ from, limit })}`;
  switch (random.below(6)) {
    case 0: {
      const { partitionKey, rowKey } = from;
      const live = table.liveEntity(partitionKey, rowKey);
      const isIt = (item: Item) => item.partitionKey === partitionKey && item.rowKey === rowKey;
      return { name: `entity ${name}`, live, expected: (all) => all.find(isIt) };
    }
    case 1: {
      const live = table.liveCount({ queryOptions: { filter } });
      return { name: `count ${name}`, live, expected: (all) => all.filter(accepts).length };
    }
    case 2: {
      const live = table.live({ queryOptions: { filter, select: ["value"] }, limit });
      const expected = (all: readonly Stored[]) =>
        all
          .filter(accepts)
          .slice(0, limit)
          .map(({ etag, value }) => ({ etag, value }));
      return { name: `select ${name}`, live, expected };
    }
    case 3: {
      const live = table.live({ queryOptions: { filter }, limit, from });
      const isBehind = ({ partitionKey, rowKey }: Item) =>
        partitionKey > from.partitionKey ||
        (partitionKey === from.partitionKey && rowKey >= from.rowKey);
      const expected = (all: readonly Stored[]) =>
        all.filter((item) => accepts(item) && isBehind(item)).slice(0, limit);
      return { name: `window ${name}`, live, expected };
    }
    default: {
      const live = table.live({ queryOptions: { filter } });
      return { name: `list ${name}`, live, expected: (all) => all.filter(accepts) };
    }
  }
}

// Rejects if the store does, except for the service's errors.
async function randomWrite(
  table: Table<Item>,
  random: Random,
  durabilities: readonly Durability[] = ["deferred", "relaxed", "strict"],
): Promise<void> {
  const partitionKey = partitions[random.below(partitions.length)] as string;
  const durability = durabilities[random.below(durabilities.length)] as Durability;
  const item = (): Item => ({
    partitionKey,
    rowKey: randomRowKey(random),
    value: random.below(valueCount),
    note: "n".repeat(random.below(noteLengthMax)),
  });
  try {
    const kind = random.below(10);
    if (kind < 4) await table.upsertEntity(item(), "Replace", { durability });
    else if (kind < 7) await table.deleteEntity(partitionKey, randomRowKey(random), { durability });
    else {
      const items = new Map(
        Array.from({ length: 1 + random.below(8) }, item).map((i) => [i.rowKey, i]),
      );
      const actions = [...items.values()].map((one) =>
        random.below(3) === 0
          ? (["upsert", one, "Merge"] as const)
          : (["upsert", one, "Replace"] as const),
      );
      await table.submitTransaction(actions, { durability });
    }
  } catch (error) {
    if ((error as Error).name !== "RestError") throw error;
  }
}

/** What the message of checkQuery() and Observations.check() is if a query shows a wrong result. */
export const wrongResult =
  /(\b(entity|count|select|window|list|observed|whole)\b.*|sequences with two tables):\n {2}actual/;

/** Throws if the query does not show what `all` says. */
export function checkQuery({ name, live, expected }: CheckedQuery, all: readonly Stored[]): void {
  const { data, status, error } = live.getSnapshot();
  equal(status, "ready", `${name}: ${String(error)}`);
  equal(data, expected(all), name);
}

/** What live queries showed: at each sequence, the whole table and the results of queries. */
export class Observations {
  readonly #tables = new Map<bigint, readonly Stored[]>();
  readonly #conflicts: bigint[] = []; // sequences at which two tabs showed different tables
  readonly #results: { query: CheckedQuery; sequence: bigint; data: unknown }[] = [];

  /** `whole`: a live query of the whole table. */
  observe(whole: LiveQuery<readonly object[]>, queries: readonly CheckedQuery[]): void {
    for (const query of queries) {
      query.live.subscribe(() => {
        const { status, data, sequence } = query.live.getSnapshot();
        if (status === "ready") this.#results.push({ query, sequence, data });
      });
    }
    whole.subscribe(() => {
      const { status, data, sequence } = whole.getSnapshot();
      if (status !== "ready") return;
      const known = this.#tables.get(sequence);
      if (known === undefined) this.#tables.set(sequence, data as readonly Stored[]);
      else if (show(known) !== show(data)) this.#conflicts.push(sequence);
    });
  }

  /**
   * Checks each result against the whole table at the same sequence, if a query has shown it.
   * Returns how many were checked.
   */
  check(): number {
    equal(this.#conflicts, [], "sequences with two tables");
    let checked = 0;
    for (const { query, sequence, data } of this.#results) {
      const all = this.#tables.get(sequence);
      if (all === undefined) continue;
      equal(data, query.expected(all), `${query.name} at ${sequence}`);
      checked += 1;
    }
    return checked;
  }
}
