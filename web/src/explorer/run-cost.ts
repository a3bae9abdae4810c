// Computes what the requests of a playground's run cost.

import type { LoggedRequest, MockStore } from "../testing/types.ts";
import type { PlanKind } from "../types.ts";

export interface Cost {
  /**
   * Round trips, including those to forks. In a store with `scans: "azure"`, a query takes as many
   * as it could take in the service at most.
   */
  requests: number;
  /** Rows read, including those in forks. */
  rowsRead: number;
  rowsReturned: number;
  /** Entities that were inserted or changed. */
  rowsWritten: number;
  rowsDeleted: number;
  /** Requests that were rejected or lost by a simulated fault. */
  failed: number;
  /** The kinds of the queries' plans, most expensive first. */
  plans: PlanKind[];
}

const dearestFirst: readonly PlanKind[] = ["table", "partition", "range", "point", "empty"];

/**
 * Returns the cost of requests. `before` is a fork of the store from before the run; the queries
 * are planned on it.
 */
export async function costOf(before: MockStore, requests: readonly LoggedRequest[]): Promise<Cost> {
  const counted = requests.filter(({ operation }) => operation !== "explain");
  const kinds = await kindsOf(before, counted);
  return {
    requests: counted.length,
    rowsRead: sum(counted, ({ rowsRead }) => rowsRead),
    rowsReturned: sum(counted, ({ rowsReturned }) => rowsReturned),
    rowsWritten: sum(counted, (request) => rowsChanged(request, writers)),
    rowsDeleted: sum(counted, (request) => rowsChanged(request, deleters)),
    failed: sum(counted, ({ code }) => (code === undefined ? 0 : 1)),
    plans: dearestFirst.filter((kind) => kinds.has(kind)),
  };
}

const writers: readonly string[] = ["insert", "update", "merge", "upsert"];
const deleters: readonly string[] = ["delete"];

// Returns how many rows a request changed by the operations in `by`. A failed request changed none.
function rowsChanged(request: LoggedRequest, by: readonly string[]): number {
  if (request.code !== undefined) return 0;
  const all = request.operation === "batch" ? (request.operations ?? []) : [request];
  return all.filter(({ operation }) => by.includes(operation)).length;
}

async function kindsOf(before: MockStore, requests: readonly LoggedRequest[]) {
  const succeeded = requests.filter(({ code }) => code === undefined);
  const queries = succeeded.filter(({ operation }) => operation === "query");
  const filters = new Set(queries.map(({ filter }) => filter));
  const kinds = new Set<PlanKind>();
  if (succeeded.some(({ operation }) => operation === "get")) kinds.add("point");
  if (filters.size === 0) return kinds;
  // Only the filter decides the plan's kind. The queried tables may be deleted, or may exist only
  // in a fork. The queries are therefore planned on a table that is created for this purpose.
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
