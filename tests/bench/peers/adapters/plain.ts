// Plain JavaScript objects in maps: the limit for databases that return stored objects. Nothing is
// copied, checked or saved.

import type { Database, DatabaseAdapter } from "../database-adapter.ts";
import { type Entity, matches } from "../workload.ts";

interface Partition {
  byRow: Map<string, Entity>;
  sorted: Entity[];
}

export function plain(): DatabaseAdapter {
  return {
    levels: ["memory"],
    prepare: async () => {},
    open: async () => database(),
    remove: async () => {},
  };
}

function database(): Database<Entity> {
  const partitions = new Map<string, Partition>();
  const partition = (key: string) => partitions.get(key) as Partition;
  const get = (p: string, r: string) => partition(p).byRow.get(r) as Entity;
  const merge = (p: string, r: string, count: number) => Object.assign(get(p, r), { count });
  const insert = (entity: Entity) => add(partitions, entity);
  const insertGroup = (entities: readonly Entity[]) => entities.forEach(insert);
  return {
    insertGroup,
    insert,
    insertInFlight: insertGroup,
    get,
    getMany: (keys) => keys.map(({ partitionKey, rowKey }) => get(partitionKey, rowKey)),
    range({ partitionKey, from, to }) {
      const { sorted } = partition(partitionKey);
      return sorted.slice(position(sorted, from), position(sorted, to));
    },
    partition: (key, filter) => partition(key).sorted.filter(matches(filter)),
    scan(filter) {
      const fits = matches(filter);
      const found: Entity[] = [];
      for (const { sorted } of partitions.values()) {
        for (const entity of sorted) if (fits(entity)) found.push(entity);
      }
      return found;
    },
    all(visit) {
      for (const { sorted } of partitions.values()) visit(sorted.slice());
    },
    merge,
    mergeIf(p, r, count, version) {
      const entity = get(p, r);
      if (entity.version !== version) return false;
      Object.assign(entity, { count, version: version + 1 });
      return true;
    },
    token: ({ version }) => version,
    entity: (row) => row,
    flush: () => {},
    close: () => partitions.clear(),
  };
}

function add(partitions: Map<string, Partition>, entity: Entity): void {
  const { partitionKey, rowKey } = entity;
  let partition = partitions.get(partitionKey);
  if (partition === undefined) {
    partition = { byRow: new Map(), sorted: [] };
    partitions.set(partitionKey, partition);
  }
  if (partition.byRow.has(rowKey)) throw new Error("it is there already");
  partition.byRow.set(rowKey, entity);
  const { sorted } = partition;
  const last = sorted.at(-1);
  if (last === undefined || last.rowKey < rowKey) sorted.push(entity);
  else sorted.splice(position(sorted, rowKey), 0, entity);
}

// Returns the index of the first entity whose row key is not below `rowKey`.
function position(sorted: readonly Entity[], rowKey: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as Entity).rowKey < rowKey) low = middle + 1;
    else high = middle;
  }
  return low;
}
