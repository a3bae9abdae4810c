// Which partitions a run touched, and how much: from the requests that it makes, and from the partitions that there were before.
import type { Store } from "entitable";
import type { PlaygroundStart } from "entitable/explorer";
import type { Work } from "./partition-servers.ts";

type Request = PlaygroundStart["requests"][number];

export interface Access {
  readonly table: string;
  readonly partition: string;
  /** Rows looked at, by all requests. */
  reads: number;
  /** Entities inserted or changed. */
  writes: number;
  deletes: number;
  /** Requests that were refused, each one, however many entities it was about. */
  refused: number;
  /** The entities of those: they came to the partition's server all the same. */
  refusedReads: number;
  refusedWrites: number;
}

const untouched = {
  reads: 0,
  writes: 0,
  deletes: 0,
  refused: 0,
  refusedReads: 0,
  refusedWrites: 0,
};

const readers = ["get", "query"];
const writers = ["insert", "update", "merge", "upsert", "delete", "batch"];

/** What servers are asked for by the requests that are of a partition, in their order. */
export function workOf(requests: readonly Request[]): Work[] {
  return requests.flatMap(({ operation, partitionKey, partitionRead, operations, rowsRead }) => {
    const partition = partitionRead ?? partitionKey;
    if (partition === undefined || ![...readers, ...writers].includes(operation)) return [];
    const entities = operation === "query" ? (rowsRead ?? 0) : (operations?.length ?? 1);
    return [{ partition, entities }];
  });
}

/** The partitions of a run, while it goes on. */
export class Accesses {
  readonly #before: Store | undefined;
  readonly #tables = new Map<string, Map<string, Access>>(); // by its name in lower case
  readonly #listings: Promise<void>[] = [];
  #counted = 0;
  #version = 0;

  /** Partitions that `before` has are shown, touched or not. */
  constructor(before: Store | undefined) {
    this.#before = before;
  }

  /** Rises with each change. */
  get version(): number {
    return this.#version;
  }

  /** Counts those of a run's requests that were not counted yet. */
  count(requests: readonly Request[]): void {
    for (; this.#counted < requests.length; this.#counted += 1) {
      this.#add(requests[this.#counted] as Request);
    }
  }

  /** All partitions that there were are known. */
  async settled(): Promise<void> {
    await Promise.all(this.#listings);
  }

  /** Of every table that was asked; partitions in the order of their keys. */
  all(): Access[] {
    return [...this.#tables.values()].flatMap((partitions) =>
      [...partitions.values()].sort((a, b) => (a.partition < b.partition ? -1 : 1)),
    );
  }

  #add(request: Request): void {
    const { table, operation, partitionKey, partitionRead = partitionKey, rowsRead = 0 } = request;
    const { operations, status, code } = request;
    const isRead = readers.includes(operation);
    if (table === undefined || status === undefined) return; // it never arrived
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
    this.#version += 1;
  }

  #at(table: string, partition: string): Access {
    const partitions = this.#partitionsOf(table);
    let access = partitions.get(partition);
    if (access === undefined) {
      access = { table, partition, ...untouched };
      partitions.set(partition, access);
      this.#version += 1;
    }
    return access;
  }

  #partitionsOf(table: string): Map<string, Access> {
    const known = this.#tables.get(table.toLowerCase());
    if (known !== undefined) return known;
    const partitions = new Map<string, Access>();
    this.#tables.set(table.toLowerCase(), partitions);
    this.#listings.push(this.#list(table));
    return partitions;
  }

  // A table that was not there had none. And once the next run has begun, the store is closed, and nobody asks for these any more.
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
