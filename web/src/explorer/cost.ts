// What a run asked of its store, summed up.

import type { LoggedRequest, MockStore } from "../testing/types.ts";
import type { PlanKind } from "../types.ts";

export interface Cost {
  /** Round trips, if the store were the real service. */
  requests: number;
  rowsRead: number;
  rowsReturned: number;
  /** Entities that were inserted, changed or deleted. */
  rowsWritten: number;
  /** Requests that were refused, or that the network lost. */
  failed: number;
  /** How the service would find what was asked for; the kinds that occurred, dearest first. */
  plans: PlanKind[];
}

const dearestFirst: readonly PlanKind[] = ["table", "partition", "range", "point", "empty"];

/** Asks `store`, the one that `requests` are of, how queries run. */
export async function costOf(store: MockStore, requests: readonly LoggedRequest[]): Promise<Cost> {
  const asked = requests.filter(({ operation }) => operation !== "explain");
  const kinds = await kindsOf(store, asked);
  return {
    requests: asked.length,
    rowsRead: sum(asked, ({ rowsRead }) => rowsRead),
    rowsReturned: sum(asked, ({ rowsReturned }) => rowsReturned),
    rowsWritten: sum(asked, rowsWritten),
    failed: sum(asked, ({ code }) => (code === undefined ? 0 : 1)),
    plans: dearestFirst.filter((kind) => kinds.has(kind)),
  };
}

const writers: readonly string[] = ["insert", "update", "merge", "upsert", "delete"];

/** Entities that a request changed: of one that failed, none. */
export function rowsWritten({ operation, operations, code }: LoggedRequest): number {
  if (code !== undefined) return 0;
  if (operation === "batch") return operations?.length ?? 0;
  return writers.includes(operation) ? 1 : 0;
}

async function kindsOf(store: MockStore, requests: readonly LoggedRequest[]) {
  const kinds = new Set<PlanKind>();
  const known = new Set<string>();
  for (const { operation, table, filter, code } of requests) {
    if (code !== undefined) continue;
    if (operation === "get") kinds.add("point");
    if (operation !== "query" || table === undefined) continue;
    const query = `${table}\n${filter}`;
    if (known.has(query)) continue;
    known.add(query);
    const kind = await kindOf(store, table, filter);
    if (kind !== undefined) kinds.add(kind);
  }
  return kinds;
}

// Undefined if the table has been deleted since.
async function kindOf(store: MockStore, table: string, filter: string | undefined) {
  const queryOptions = filter === undefined ? {} : { filter };
  try {
    return (await store.table(table).explain({ queryOptions })).serviceKind;
  } catch {
    return undefined;
  }
}

function sum(requests: readonly LoggedRequest[], of: (r: LoggedRequest) => number | undefined) {
  return requests.reduce((total, request) => total + (of(request) ?? 0), 0);
}
