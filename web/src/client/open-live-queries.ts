// What developer tools show of the live queries that are open. Loaded with the first request for
// it.

import type { OpenLiveQuery } from "../types.ts";
import type { LiveConnection } from "./live-connection.ts";
import type { OpenQuery } from "./live-state.ts";
import type { ObservedQuery } from "./observed-query.ts";

const ids = new WeakMap<OpenQuery | ObservedQuery, number>();
let idCount = 0;

const kinds = { list: "live", entity: "liveEntity", count: "liveCount" } as const;

/** Returns the live queries in the order in which they were listed for the first time. */
export function describeLiveQueries(connection: LiveConnection): OpenLiveQuery[] {
  const [queries, observed] = connection.openQueries;
  const reads = new Set([...observed].flatMap((query) => query.reads));
  const single = [...queries].filter((query) => !reads.has(query)).map(describe);
  return [...single, ...[...observed].map(describeObserved)].sort((a, b) => a.id - b.id);
}

function describe(query: OpenQuery): OpenLiveQuery {
  const { table, result, filter, select, limit, from } = query.source;
  const { hits, shown } = query;
  const lastDelta = countLastDelta(query);
  return {
    id: idOf(query),
    kind: kinds[result],
    tables: [table],
    status: shown.status,
    ...query.explain(),
    hits,
    ...(filter !== undefined && { filter }),
    ...(select !== undefined && { select: [...select] }),
    ...(limit !== undefined && { limit }),
    ...(from !== undefined && { from: { ...from } }),
    ...(lastDelta !== undefined && { lastDelta }),
  };
}

// Counts without looking rows up.
function countLastDelta(query: OpenQuery): OpenLiveQuery["lastDelta"] {
  const { lastDelta, sizeBefore, source, shown } = query;
  if (lastDelta === undefined) return undefined;
  const { rows, countChange } = lastDelta;
  const removed = rows.filter(({ row }) => row === undefined).length;
  const isCount = source.result === "count"; // it has no rows
  const added = isCount ? 0 : query.explain().rowsWatched - sizeBefore + removed;
  return {
    sequence: shown.sequence,
    inserted: added + Math.max(0, countChange),
    updated: rows.length - removed - added,
    deleted: removed + Math.max(0, -countChange),
  };
}

function describeObserved(query: ObservedQuery): OpenLiveQuery {
  const tables = [...new Set(query.reads.map(({ source }) => source.table))];
  const status = query.snapshot()?.status ?? "loading";
  const hits = query.runCount;
  return { id: idOf(query), kind: "observe", tables, status, ...query.explain(), hits };
}

function idOf(query: OpenQuery | ObservedQuery): number {
  const id = ids.get(query) ?? ++idCount;
  ids.set(query, id);
  return id;
}
