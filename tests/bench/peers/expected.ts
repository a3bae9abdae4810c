// The results that the databases must return, computed from the entities themselves.

import {
  add,
  type Digest,
  entityAt,
  type Filter,
  filterFor,
  filterForNothing,
  matches,
  partitionRows,
  rangeAt,
  rangeRows,
  samples,
} from "./workload.ts";

export function expected(entities: number): Record<string, Digest> {
  const result: Record<string, Digest> = {
    "get-many": digestOf(samples(entities)),
    ...scans(entities, { "scan-some": filterFor(7), "scan-none": filterForNothing }),
  };
  for (const i of samples(entities)) {
    const partition = i - (i % partitionRows);
    result[`get ${i}`] = digestOf([i]);
    result[`range ${i}`] = digestOf(span(Number(rangeAt(i).from), rangeRows));
    result[`partition ${i}`] = digestOf(span(partition, partitionRows), filterFor(i));
  }
  return result;
}

export class WrongResult extends Error {}

// Throws WrongResult if a found result differs from the expected one.
export function compare(who: string, found: Record<string, Digest>, wanted: typeof found): void {
  for (const [name, { count, sum }] of Object.entries(wanted)) {
    const other = found[name];
    if (other?.count === count && other.sum === sum) continue;
    throw new WrongResult(
      `${who}, ${name}: ${other?.count} entities instead of ${count}, or others`,
    );
  }
}

// Returns the digests of all entities and of those that match each filter. Each entity is generated
// only once, because that takes most of the time at a million entities.
function scans(entities: number, filters: Record<string, Filter>): Record<string, Digest> {
  const all = { count: 0, sum: 0 };
  const some = Object.entries(filters).map(([name, filter]) => {
    return { name, fits: matches(filter), found: { count: 0, sum: 0 } };
  });
  for (const i of span(0, entities)) {
    const entity = entityAt(i);
    add(all, entity);
    for (const { fits, found } of some) if (fits(entity)) add(found, entity);
  }
  return { all, ...Object.fromEntries(some.map(({ name, found }) => [name, found])) };
}

function digestOf(indexes: Iterable<number>, filter?: Filter): Digest {
  const result = { count: 0, sum: 0 };
  const fits = filter === undefined ? () => true : matches(filter);
  for (const i of indexes) {
    const entity = entityAt(i);
    if (fits(entity)) add(result, entity);
  }
  return result;
}

function* span(first: number, count: number): Generator<number> {
  for (let i = first; i < first + count; ++i) yield i;
}
