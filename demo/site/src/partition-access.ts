// Counts the accesses to each partition during a run, from the requests of the run and the
// partitions that existed before it.
import type { Store } from "entitable";
import type { PlaygroundStart } from "entitable/explorer";
import type { PartitionRequest } from "./server-simulation.ts";

type Request = PlaygroundStart["requests"][number];

export interface PartitionAccessCounts {
  readonly table: string;
  readonly partition: string;
  /** Rows read by all requests. */
  reads: number;
  /** Entities inserted or updated. */
  writes: number;
  deletes: number;
  /** Rejected requests. A transaction counts as one request. */
  refused: number;
  /** The entities in rejected requests, which the partition's server had to handle too. */
  refusedReads: number;
  refusedWrites: number;
}

const emptyAccess = {
  reads: 0,
  writes: 0,
  deletes: 0,
  refused: 0,
  refusedReads: 0,
  refusedWrites: 0,
};

const readers = ["get", "query"];
const writers = ["insert", "update", "merge", "upsert", "delete", "batch"];

/** Returns the load on the servers: the requests that name a partition, in order. */
export function partitionRequestsOf(requests: readonly Request[]): PartitionRequest[] {
  return requests.flatMap(({ operation, partitionKey, partitionRead, operations, rowsRead }) => {
    const partition = partitionRead ?? partitionKey;
    if (partition === undefined || ![...readers, ...writers].includes(operation)) return [];
    const entities = operation === "query" ? (rowsRead ?? 0) : (operations?.length ?? 1);
    return [{ partition, entities }];
  });
}

/** The accesses to each partition, while a run is in progress. */
export class PartitionAccessCounter {
  readonly #before: Store | undefined;
  readonly #tables = new Map<string, Map<string, PartitionAccessCounts>>(); // by lower-case name
  readonly #listings: Promise<void>[] = [];
  #counted = 0;
  #revision = 0;

  /** All partitions of `before` are listed, accessed or not. */
  constructor(before: Store | undefined) {
    this.#before = before;
  }

  /** Increments with each change. */
  get revision(): number {
    return this.#revision;
  }

  /** Counts the requests of the run that are not counted yet. */
  countRequests(requests: readonly Request[]): void {
    for (; this.#counted < requests.length; this.#counted += 1) {
      this.#add(requests[this.#counted] as Request);
    }
  }

  /** Resolves when all partitions of `before` are listed. */
  async whenPartitionsListed(): Promise<void> {
    await Promise.all(this.#listings);
  }

  /** Returns the partitions of every table that was accessed, sorted by key within a table. */
  allPartitions(): PartitionAccessCounts[] {
    return [...this.#tables.values()].flatMap((partitions) =>
      [...partitions.values()].sort((a, b) => (a.partition < b.partition ? -1 : 1)),
    );
  }

  #add(request: Request): void {
    const { table, operation, partitionKey, partitionRead = partitionKey, rowsRead = 0 } = request;
    const { operations, status, code } = request;
    const isRead = readers.includes(operation);
    if (table === undefined || status === undefined) return; // the request never reached the store
    if (!isRead && !writers.includes(operation)) return;
    this.#partitionsOf(table);
    if (partitionRead === undefined) return;
    const access = this.#at(table, partitionRead);
    const changes = operations ?? [request];
    const entities = changes.length;
    if (code === undefined && isRead) access.reads += rowsRead;
    if (code === undefined && !isRead) {
      const deletes = changes.filter((change) => change.operation === "delete").length;
      access.deletes += deletes;
      access.writes += entities - deletes;
    }
    if (code !== undefined) access.refused += 1;
    if (code !== undefined && isRead) access.refusedReads += 1;
    if (code !== undefined && !isRead) access.refusedWrites += entities;
    this.#revision += 1;
  }

  #at(table: string, partition: string): PartitionAccessCounts {
    const partitions = this.#partitionsOf(table);
    let access = partitions.get(partition);
    if (access === undefined) {
      access = { table, partition, ...emptyAccess };
      partitions.set(partition, access);
      this.#revision += 1;
    }
    return access;
  }

  #partitionsOf(table: string): Map<string, PartitionAccessCounts> {
    const known = this.#tables.get(table.toLowerCase());
    if (known !== undefined) return known;
    const partitions = new Map<string, PartitionAccessCounts>();
    this.#tables.set(table.toLowerCase(), partitions);
    this.#listings.push(this.#list(table));
    return partitions;
  }

  // Ignores a table that did not exist before the run, and a store that was closed because the next
  // run has started.
  async #list(table: string): Promise<void> {
    const rows = this.#before
      ?.table(table)
      .listEntities({ queryOptions: { select: ["partitionKey"] } });
    if (rows === undefined) return;
    try {
      for await (const { partitionKey = "" } of rows) this.#at(table, partitionKey);
    } catch (error) {
      const { statusCode, code } = error as { statusCode?: number; code?: string };
      if (statusCode !== 404 && code !== "StoreClosed") throw error;
    }
  }
}
