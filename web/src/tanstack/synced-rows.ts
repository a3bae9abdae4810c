// The rows of a collection of TanStack DB: those that its live queries of the table have.
//
// A row is in the collection as long as one of these live queries has it. What changes in one turn
// of the event loop becomes one transaction of the collection.

import type { SyncConfig } from "@tanstack/db";
import type { EntityResult, LiveDelta, LiveQuery, Table } from "../types.ts";
import { inMicrotask } from "../util/event-loop.ts";
import type { TableOpening } from "./table-opening.ts";

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
  key: string; // of the row
  row: R;
  etag: string;
  subsets: number; // how many have the row
  written: { readonly key: string; readonly etag: string } | undefined; // what the collection has
  isReported: boolean; // that its key belongs to the row of another entity
}

type RowMessage<R extends object> = Parameters<SyncContext<R>["write"]>[0];

export interface RowSource<T extends object, R extends object> {
  readonly opening: TableOpening<T>;
  rowOf(entity: EntityResult<T>): R;
  keyOf(row: R): string;
}

export class SyncedRows<T extends object, R extends object> {
  readonly #source: RowSource<T, R>;
  readonly #context: SyncContext<R>;
  readonly #etags = new WeakMap<object, string>(); // of the rows
  readonly #subsets = new Map<string, Subset<T>>();
  readonly #entries = new Map<string, Entry<R>>(); // by id
  readonly #owners = new Map<string, Entry<R>>(); // by the keys of the collection's rows
  // The entries to write, among them those whose keys belong to other entries.
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
    // A live query that failed is replaced: its table or its store may have been opened again.
    if (subset.live?.getSnapshot().status === "error") {
      subset.live.close();
      subset.live = undefined;
      this.#source.opening.forget();
      for (const entity of [...subset.entities]) this.#remove(subset, entity);
    }
    const table = await this.#source.opening.table();
    if (subset.users === 0) return;
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
    for (const rows of [this.#subsets, this.#entries, this.#owners, this.#changed]) rows.clear();
  }

  /** Returns the ETag that the entity of a row had; undefined: the row is of no live query. */
  etagOf(row: object): string | undefined {
    return this.#etags.get(row);
  }

  /** Resolves when the collection shows what was written to it, or is cleaned up. */
  async whenShown(): Promise<void> {
    try {
      await this.#applied;
    } catch {
      // The collection was cleaned up.
    }
  }

  /** Writes to the collection what has changed. Never throws. */
  flush(): void {
    const free = this.#releaseKeys();
    const messages: RowMessage<R>[] = [];
    for (const entry of this.#changed) {
      if (entry.subsets > 0 && !this.#ownsKey(entry)) continue;
      this.#changed.delete(entry);
      if (entry.subsets === 0 || entry.etag === entry.written?.etag) continue;
      const { key, row: value, etag, written } = entry;
      const isUpdate = free.delete(key) || written !== undefined;
      messages.push({ type: isUpdate ? "update" : "insert", value, metadata: { etag } });
      entry.written = { key, etag };
    }
    this.#commit([...[...free].map((key) => ({ type: "delete", key }) as const), ...messages]);
  }

  // Returns the keys of rows that the collection has of entities that have them no more.
  #releaseKeys(): Set<string> {
    const free = new Set<string>();
    for (const entry of this.#changed) {
      const { id, key, subsets, written } = entry;
      if (subsets === 0) this.#entries.delete(id);
      if (written === undefined || (subsets > 0 && key === written.key)) continue;
      this.#owners.delete(written.key);
      free.add(written.key);
      entry.written = undefined;
    }
    return free;
  }

  // Returns whether the key of the row belongs to its entity. If it belongs to no other one, the
  // entity gets it.
  #ownsKey(entry: Entry<R>): boolean {
    const { id, key } = entry;
    const owner = this.#owners.get(key) ?? entry;
    if (owner !== entry) {
      if (!entry.isReported) report(new Error(`${owner.id} and ${id} have the same key: ${key}`));
      entry.isReported = true;
      return false;
    }
    entry.isReported = false;
    this.#owners.set(key, entry);
    return true;
  }

  #commit(messages: readonly RowMessage<R>[]): void {
    if (messages.length === 0) return;
    const { begin, write, commit } = this.#context;
    begin();
    for (const message of messages) {
      try {
        write(message);
      } catch (error) {
        report(error);
      }
    }
    try {
      this.#applied = commit();
    } catch (error) {
      report(error);
    }
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
      this.#writeLater(entry);
    } catch (error) {
      this.#remove(subset, id);
      report(error);
    }
  }

  #entryOf(id: string, entity: EntityResult<T>): Entry<R> {
    const { etag } = entity;
    const known = this.#entries.get(id);
    if (known?.etag === etag) return known;
    const row = this.#source.rowOf(entity);
    const key = this.#source.keyOf(row);
    this.#etags.set(row, etag);
    if (known !== undefined) return Object.assign(known, { key, row, etag });
    const entry = { id, key, row, etag, subsets: 0, written: undefined, isReported: false };
    this.#entries.set(id, entry);
    return entry;
  }

  #remove(subset: Subset<T>, id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || !subset.entities.delete(id)) return;
    entry.subsets -= 1;
    this.#writeLater(entry);
  }

  // Not at once: other live queries have yet to report what the same commits changed.
  #writeLater(entry: Entry<R>): void {
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

// Reports the error as one that no code catches.
function report(error: unknown): void {
  const { reportError } = globalThis as { reportError?: (error: unknown) => void };
  if (reportError !== undefined) reportError(error);
  else void Promise.reject(error);
}
