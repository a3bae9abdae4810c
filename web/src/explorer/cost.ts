// What a run asked of its store, summed up.

import type { LoggedRequest, MockStore } from "../testing/types.ts";
import type { PlanKind } from "../types.ts";

export interface Cost {
  /** Round trips; of forks too. A store that reads as the service does takes as many as the service, at most. */
  requests: number;
  /** Likewise. */
  rowsRead: number;
  rowsReturned: number;
  /** Entities that were inserted or changed. */
  rowsWritten: number;
  rowsDeleted: number;
  /** Requests that were refused, or that the network lost. */
  failed: number;
  /** How the service would find what was asked for; the kinds that occurred, dearest first. */
  plans: PlanKind[];
}

const dearestFirst: readonly PlanKind[] = ["table", "partition", "range", "point", "empty"];

/** `before`: the store as it was before; what is asked of copies of it says how the service would run queries. */
export async function costOf(before: MockStore, requests: readonly LoggedRequest[]): Promise<Cost> {
  const asked = requests.filter(({ operation }) => operation !== "explain");
  const kinds = await kindsOf(before, asked);
  return {
    requests: asked.length,
    rowsRead: sum(asked, ({ rowsRead }) => rowsRead),
    rowsReturned: sum(asked, ({ rowsReturned }) => rowsReturned),
    rowsWritten: sum(asked, (request) => rowsChanged(request, writers)),
    rowsDeleted: sum(asked, (request) => rowsChanged(request, deleters)),
    failed: sum(asked, ({ code }) => (code === undefined ? 0 : 1)),
    plans: dearestFirst.filter((kind) => kinds.has(kind)),
  };
}

const writers: readonly string[] = ["insert", "update", "merge", "upsert"];
const deleters: readonly string[] = ["delete"];

// Of a request that failed, none.
function rowsChanged(request: LoggedRequest, by: readonly string[]): number {
  if (request.code !== undefined) return 0;
  const all = request.operation === "batch" ? (request.operations ?? []) : [request];
  return all.filter(({ operation }) => by.includes(operation)).length;
}

async function kindsOf(before: MockStore, requests: readonly LoggedRequest[]) {
  const answered = requests.filter(({ code }) => code === undefined);
  const queries = answered.filter(({ operation }) => operation === "query");
  const filters = new Set(queries.map(({ filter }) => filter));
  const kinds = new Set<PlanKind>();
  if (answered.some(({ operation }) => operation === "get")) kinds.add("point");
  if (filters.size === 0) return kinds;
  // By a table that is there for certain: the queries' own may be gone, or be a fork's. Nothing but the filter decides.
  const fork = before.fork();
  try {
    const table = fork.table("Plans");
    await table.createTable();
    for (const filter of filters) {
      const queryOptions = filter === undefined ? {} : { filter };
      kinds.add((await table.explain({ queryOptions })).serviceKind);
    }
  } finally {
    await fork.close();
  }
  return kinds;
}

function sum(requests: readonly LoggedRequest[], of: (r: LoggedRequest) => number | undefined) {
  return requests.reduce((total, request) => total + (of(request) ?? 0), 0);
}
