// The rows of a collection of TanStack DB: those that its live queries of the table have.
//
// A row is in the collection as long as one of these live queries has it. What changes in one turn
// of the event loop becomes one transaction of the collection.

import type { SyncConfig } from "@tanstack/db";
import type { EntityResult, LiveDelta, LiveQuery, Table } from "../types.ts";
import { inMicrotask } from "../util/event-loop.ts";

export type SyncContext<R extends object> = Parameters<SyncConfig<R, string>["sync"]>[0];

/** The options of a live query of the table. */
export interface SubsetOptions {
  readonly filter: string | undefined;
  readonly limit: number | undefined;
}

type SubsetQuery<T extends object> = LiveQuery<readonly EntityResult<T>[], EntityResult<T>>;

interface Subset<T extends object> {
  readonly entities: Set<string>; // the ids of its entities
  users: number; // 0: it was closed
  live: SubsetQuery<T> | undefined; // undefined: the table is not open yet
}

interface Entry<R extends object> {
  readonly id: string; // of the entity
  readonly key: string; // of the row
  row: R;
  etag: string;
  subsets: number; // how many have the row
  written: string | undefined; // the ETag of what the collection has; undefined: nothing
}

export interface RowSource<T extends object, R extends object> {
  openTable(): Table<T> | Promise<Table<T>>;
  rowOf(entity: EntityResult<T>): R;
  keyOf(row: R): string;
}

export class SyncedRows<T extends object, R extends object> {
  readonly #source: RowSource<T, R>;
  readonly #context: SyncContext<R>;
  readonly #subsets = new Map<string, Subset<T>>();
  readonly #entries = new Map<string, Entry<R>>(); // by id
  readonly #changed = new Set<Entry<R>>();
  #isFlushDue = false;
  #applied: unknown; // resolves when what was written last is visible

  constructor(source: RowSource<T, R>, context: SyncContext<R>) {
    this.#source = source;
    this.#context = context;
  }

  /**
   * Adds the rows of a live query, until unload() was called as often as this with equal options.
   * Rejects like listEntities. If the table does not exist, the rows follow when it is created.
   * `onReady`: called whenever the query has rows again.
   */
  async load(options: SubsetOptions, onReady?: () => void): Promise<void> {
    const id = idOf(options);
    const known = this.#subsets.get(id);
    const subset = known ?? { entities: new Set(), users: 0, live: undefined };
    this.#subsets.set(id, subset);
    subset.users += 1;
    const table = await this.#source.openTable();
    if (subset.users === 0) return;
    if (subset.live?.getSnapshot().status === "error") {
      subset.live.close();
      subset.live = undefined; // whether that is still so, a new one says
    }
    subset.live ??= this.#open(subset, table, options, onReady);
    if (subset.live.getSnapshot().status !== "ready") await subset.live.ready;
    this.flush();
    await this.#applied;
  }

  unload(options: SubsetOptions): void {
    const id = idOf(options);
    const subset = this.#subsets.get(id);
    if (subset === undefined || --subset.users > 0) return;
    this.#subsets.delete(id);
    subset.live?.close();
    for (const entity of [...subset.entities]) this.#remove(subset, entity);
  }

  close(): void {
    for (const subset of this.#subsets.values()) {
      subset.users = 0;
      subset.live?.close();
    }
    this.#subsets.clear();
    this.#changed.clear();
  }

  /** Resolves when the collection shows what was written to it, or is cleaned up. */
  async whenShown(): Promise<void> {
    try {
      await this.#applied;
    } catch {
      // The collection was cleaned up.
    }
  }

  /** Writes to the collection what has changed. */
  flush(): void {
    const { begin, write, commit } = this.#context;
    let hasBegun = false;
    for (const entry of this.#changed) {
      const { id, key, row: value, subsets, written } = entry;
      const etag = subsets > 0 ? entry.etag : undefined;
      if (etag === undefined) this.#entries.delete(id);
      if (etag === written) continue;
      if (!hasBegun) begin();
      hasBegun = true;
      if (etag === undefined) write({ type: "delete", key });
      else write({ type: written === undefined ? "insert" : "update", value, metadata: { etag } });
      entry.written = etag;
    }
    this.#changed.clear();
    if (hasBegun) this.#applied = commit();
  }

  #open(
    subset: Subset<T>,
    table: Table<T>,
    { filter, limit }: SubsetOptions,
    onReady: (() => void) | undefined,
  ): SubsetQuery<T> {
    const live = table.live({ queryOptions: { filter }, limit });
    live.onDelta((delta) => this.#apply(subset, delta));
    live.subscribe(() => {
      if (live.getSnapshot().status !== "ready" || onReady === undefined) return;
      this.flush();
      onReady();
    });
    return live;
  }

  #apply(subset: Subset<T>, { inserted, updated, deleted }: LiveDelta<EntityResult<T>>): void {
    for (const { entity } of deleted) this.#remove(subset, entityId(entity));
    for (const { entity } of updated) this.#put(subset, entity);
    for (const { entity } of inserted) this.#put(subset, entity);
  }

  // An entity that cannot be converted has no row.
  #put(subset: Subset<T>, entity: EntityResult<T>): void {
    const id = entityId(entity);
    try {
      const entry = this.#entryOf(id, entity);
      if (!subset.entities.has(id)) entry.subsets += 1;
      subset.entities.add(id);
      this.#note(entry);
    } catch (error) {
      this.#remove(subset, id);
      void Promise.reject(error); // an unhandled rejection
    }
  }

  #entryOf(id: string, entity: EntityResult<T>): Entry<R> {
    const { etag } = entity;
    let entry = this.#entries.get(id);
    if (entry === undefined) {
      const row = this.#source.rowOf(entity);
      entry = { id, key: this.#source.keyOf(row), row, etag, subsets: 0, written: undefined };
      this.#entries.set(id, entry);
    } else if (entry.etag !== etag) {
      entry.row = this.#source.rowOf(entity);
      entry.etag = etag;
    }
    return entry;
  }

  #remove(subset: Subset<T>, id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || !subset.entities.delete(id)) return;
    entry.subsets -= 1;
    this.#note(entry);
  }

  // Not at once: other live queries have yet to report what the same commits changed.
  #note(entry: Entry<R>): void {
    this.#changed.add(entry);
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    inMicrotask(() => {
      this.#isFlushDue = false;
      this.flush();
    });
  }
}

function idOf({ filter, limit }: SubsetOptions): string {
  return JSON.stringify([filter, limit]);
}

// A slash cannot be in a key.
export function entityId({
  partitionKey,
  rowKey,
}: {
  partitionKey: string;
  rowKey: string;
}): string {
  return `${partitionKey}/${rowKey}`;
}
