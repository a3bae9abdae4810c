// Writes the mutations of a collection of TanStack DB to the table.
//
// An update is conditional on the version of the row that the user saw: it fails with 412 if other
// code, for example in another tab, has changed the row since.

import type { EntityInput, Table, TableAction, TableEntity } from "../types.ts";
import { isDate } from "../util/platform-objects.ts";
import { entityId } from "./synced-rows.ts";

/** The part of a PendingMutation that a write needs. */
export interface RowMutation {
  readonly type: "insert" | "update" | "delete";
  readonly original: object;
  readonly modified: object;
  readonly metadata: unknown; // of the call; its `etag` is the condition
  readonly syncMetadata: { readonly etag?: unknown }; // of the row that the user saw
}

export interface WriterOptions<T extends object> {
  /** Returns the ETag of a row that was read from the table; undefined: the row is another one. */
  etagOf(row: object): string | undefined;
  openTable(): Table<T> | Promise<Table<T>>;
  entityOf(row: object): TableEntity<EntityInput<T>>;
  /** Resolves when what was written to the table by now was committed to the collection. */
  whenCommitted(table: Table<T>, entity: TableEntity<object>): Promise<void>;
  /**
   * Resolves when the rows of the collection have what was committed to it. TanStack DB defers that
   * while a transaction of the collection is being written.
   */
  whenShown(): Promise<void>;
}

type Entity = TableEntity<Record<string, unknown>>;

interface Write {
  readonly mutation: RowMutation;
  readonly entity: Entity;
}

// What the writes of a row have done to its ETag, as long as the collection may not show it. A
// mutation that is made meanwhile names an ETag that these writes have replaced.
interface OwnWrites {
  last: Promise<void>;
  readonly replaced: Set<unknown>;
  etag: string | undefined;
}

const transactionMax = 100;

export class RowWriter<T extends object> {
  readonly #options: WriterOptions<T>;
  readonly #own = new Map<string, OwnWrites>(); // by the id of the entity

  constructor(options: WriterOptions<T>) {
    this.#options = options;
  }

  /**
   * Writes the mutations: up to 100 of one partition in one transaction. Several transactions
   * follow each other; if one fails, the earlier ones stay. Writes of the same row follow each
   * other, too. Resolves when the written rows were committed to the collection.
   */
  async write(mutations: readonly RowMutation[]): Promise<void> {
    if (mutations.length === 0) return;
    const writes = mutations.map((mutation) => {
      const row = mutation.type === "delete" ? mutation.original : mutation.modified;
      return { mutation, entity: this.#options.entityOf(row) as Entity };
    });
    const ids = writes.map(({ entity }) => entityId(entity));
    const writing = this.#writeAfter(
      ids.map((id) => this.#own.get(id)?.last),
      writes,
    );
    for (const id of ids) {
      const { replaced, etag } = this.#own.get(id) ?? { replaced: new Set(), etag: undefined };
      this.#own.set(id, { last: writing, replaced, etag });
    }
    try {
      await writing;
    } finally {
      void this.#forget(ids, writing);
    }
  }

  // The write must not wait for this, because the collection waits for the write.
  async #forget(ids: readonly string[], writing: Promise<void>): Promise<void> {
    await this.#options.whenShown();
    for (const id of ids) if (this.#own.get(id)?.last === writing) this.#own.delete(id);
  }

  async #writeAfter(
    earlier: readonly (Promise<void> | undefined)[],
    writes: readonly Write[],
  ): Promise<void> {
    await Promise.allSettled(earlier);
    const table = await this.#options.openTable();
    try {
      for (const group of transactionsOf(writes)) await this.#submit(table, group);
    } finally {
      for (const { entity } of writes.slice(-1)) await this.#options.whenCommitted(table, entity);
    }
  }

  async #submit(table: Table<T>, writes: readonly Write[]): Promise<void> {
    const actions = writes.map((write) => this.#actionOf(write));
    const [first] = writes as [Write, ...Write[]];
    const etags = await submit(table as Table, actions, deleteCondition(first));
    for (const [index, { mutation, entity }] of writes.entries()) {
      const own = this.#own.get(entityId(entity)) as OwnWrites;
      own.replaced.add(this.#seenBy(mutation)).add(own.etag);
      own.etag = etags[index];
    }
  }

  #actionOf({ mutation, entity }: Write): TableAction {
    const { partitionKey, rowKey } = entity;
    if (mutation.type === "insert") return ["create", entity as TableEntity];
    const etag = this.#conditionOf(mutation, entityId(entity));
    if (mutation.type === "delete") return ["delete", { partitionKey, rowKey }];
    const before = this.#options.entityOf(mutation.original) as Entity;
    // Only a replaced row loses properties. A merge keeps the types of those that did not change.
    if (Object.keys(before).some((name) => isPresent(before[name]) && !isPresent(entity[name])))
      return ["update", entity as TableEntity, "Replace", { etag }];
    const changes = Object.entries(entity).filter(([name, value]) => !isSame(value, before[name]));
    const merged = { partitionKey, rowKey, ...Object.fromEntries(changes) };
    return ["update", merged, "Merge", { etag }];
  }

  // Returns the ETag of the row that the user saw. Of the mutations that TanStack DB merges in a
  // transaction, `original` is of the first one, but `syncMetadata` of the last one.
  #seenBy({ original, syncMetadata }: RowMutation): unknown {
    return this.#options.etagOf(original) ?? syncMetadata.etag;
  }

  #conditionOf(mutation: RowMutation, id: string): string {
    const given = (mutation.metadata as { etag?: unknown } | undefined)?.etag;
    const own = this.#own.get(id);
    const seen = this.#seenBy(mutation);
    const etag = given ?? (own?.replaced.has(seen) ? own.etag : seen);
    // "*" would change a row that others have inserted.
    if (typeof etag !== "string") throw new Error(`The row ${id} was not stored.`);
    return etag;
  }
}

// Returns the ETag that the call names for a delete. A delete without one is carried out whatever
// version of the row is stored.
function deleteCondition({ mutation: { type, metadata } }: Write): string | undefined {
  const etag = (metadata as { etag?: unknown } | undefined)?.etag;
  return type === "delete" && typeof etag === "string" && etag !== "*" ? etag : undefined;
}

// `etag`: of a delete, which is then the only action. Returns the ETags after the actions;
// undefined: the entity is deleted.
async function submit(
  table: Table,
  actions: readonly TableAction[],
  etag: string | undefined,
): Promise<(string | undefined)[]> {
  const [action, ...others] = actions as [TableAction, ...TableAction[]];
  if (others.length > 0) {
    const { subResponses } = await table.submitTransaction(actions);
    return subResponses.map(({ etag }) => etag);
  }
  const [verb, entity, mode, options] = action;
  if (verb === "create") return [(await table.createEntity(entity)).etag];
  if (verb === "update") return [(await table.updateEntity(entity, mode, options)).etag];
  await table.deleteEntity(entity.partitionKey, entity.rowKey, { etag: etag ?? "*" });
  return [undefined];
}

// A delete in a transaction has no condition, so a delete with an ETag is sent alone.
function transactionsOf(writes: readonly Write[]): Write[][] {
  const partitions = new Map<string, Write[][]>();
  for (const write of writes) {
    const { partitionKey } = write.entity;
    const groups = partitions.get(partitionKey) ?? [];
    partitions.set(partitionKey, groups);
    const last = groups.at(-1);
    const isFull = last === undefined || last.length >= transactionMax;
    const isAlone = [write, ...(last ?? []).slice(0, 1)].some((w) => deleteCondition(w));
    if (!isFull && !isAlone) last.push(write);
    else groups.push([write]);
  }
  return [...partitions.values()].flat();
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

// TanStack DB copies dates. A date that is written again may lose digits.
function isSame(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || (isDate(a) && isDate(b) && Number(a) === Number(b));
}
