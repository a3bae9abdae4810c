// Tables as collections of TanStack DB.

import type {
  BaseCollectionConfig,
  CollectionConfig,
  LoadSubsetOptions,
  SyncConfigRes,
} from "@tanstack/db";
import type { EntityInput, EntityResult, Filter, Table, TableEntity } from "../types.ts";
import { type RowMutation, RowWriter } from "./row-writer.ts";
import { isOnePartition, nameIn, type PropertyNames, subsetFilter } from "./subset-filter.ts";
import { entityId, type SubsetOptions, type SyncContext, SyncedRows } from "./synced-rows.ts";
import { TableOpening } from "./table-opening.ts";

/** A row of a collection: an entity. Rows that are inserted have no ETag and no timestamp. */
export type CollectionRow<T extends object> = T & {
  partitionKey: string;
  rowKey: string;
  etag?: string;
  timestamp?: string;
};

/** How rows of another form correspond to entities. */
export interface RowConversion<T extends object, R extends object> {
  toRow(entity: EntityResult<T>): R;
  toEntity(row: R): TableEntity<EntityInput<T>>;
  /**
   * The properties of a row that are properties of its entity, with equal values: their names in
   * both. With `syncMode: "on-demand"`, only conditions on them limit what is read.
   */
  sameProperties?: Partial<
    Record<keyof R & string, (keyof T & string) | "partitionKey" | "rowKey">
  >;
}

export interface CollectionUtils {
  /**
   * Writes the mutations of a transaction that belong to this collection. For the `mutationFn` of
   * createTransaction().
   */
  acceptMutations(transaction: {
    readonly mutations: readonly (RowMutation & { readonly collection: object })[];
  }): Promise<void>;
}

type Handlers = "onInsert" | "onUpdate" | "onDelete";

export interface EntitableCollectionConfig<T extends object, R extends object>
  extends Omit<BaseCollectionConfig<R, string>, Handlers | "getKey" | "schema" | "utils"> {
  /**
   * The table, or a function that returns it. It is called when the collection is first used, when
   * the collection starts again after cleanup(), and after a call or a live query that failed.
   */
  table: Table<T> | (() => Table<T> | Promise<Table<T>>);
  /** The collection has only the entities that match. */
  filter?: string | Filter<T> | undefined;
  /** Default: the partition key, a slash and the row key. */
  getKey?: ((row: R) => string) | undefined;
}

export type EntitableCollectionOptions<R extends object> = CollectionConfig<
  R,
  string,
  never,
  CollectionUtils
> & { utils: CollectionUtils };

/**
 * Returns the options of createCollection() for a table, or for its entities that match a filter.
 * The collection follows the changes of the store, whichever tab makes them.
 */
export function entitableCollectionOptions<T extends object, R extends object>(
  config: EntitableCollectionConfig<T, R> & RowConversion<T, R>,
): EntitableCollectionOptions<R>;
export function entitableCollectionOptions<T extends object>(
  config: EntitableCollectionConfig<T, CollectionRow<T>>,
): EntitableCollectionOptions<CollectionRow<T>>;
export function entitableCollectionOptions<T extends object, R extends object>(
  config: EntitableCollectionConfig<T, R> & Partial<RowConversion<T, R>>,
): EntitableCollectionOptions<R> {
  const { table, filter, toRow, toEntity, sameProperties, ...options } = config;
  const opening = new TableOpening(table);
  const openTable = () => opening.table();
  const entityOf = (row: object) =>
    (toEntity?.(row as R) ?? withoutAddedNames(row)) as TableEntity<EntityInput<T>>;
  const getKey = config.getKey ?? ((row: R) => entityId(entityOf(row)));
  let rows: SyncedRows<T, R> | undefined;

  const writer = new RowWriter<T>({
    openTable,
    entityOf,
    async whenCommitted(table, { partitionKey, rowKey }) {
      // By the time that a new live query has its result, the others show the same commits.
      const live = table.liveEntity(partitionKey, rowKey);
      await live.ready.catch(() => {}); // the write has succeeded, even if this fails
      live.close();
      rows?.flush();
    },
    etagOf: (row) => rows?.etagOf(row),
    whenShown: async () => await rows?.whenShown(),
  });
  const write = async ({ transaction }: { transaction: { mutations: readonly unknown[] } }) =>
    await writer.write(transaction.mutations as readonly RowMutation[]);

  const utils: CollectionUtils = {
    acceptMutations: async ({ mutations }) =>
      await writer.write(
        mutations.filter(({ collection }) => (collection as { utils?: unknown }).utils === utils),
      ),
  };

  return {
    // Rows are ordered as keys are in the store.
    defaultStringCollation: { stringSort: "lexical" },
    ...options,
    getKey,
    utils,
    onInsert: write,
    onUpdate: write,
    onDelete: write,
    sync: {
      rowUpdateMode: "full",
      sync: (context) => {
        opening.forget();
        const rowOf = (entity: EntityResult<T>) => toRow?.(entity) ?? (entity as unknown as R);
        const synced = new SyncedRows({ opening, rowOf, keyOf: getKey }, context);
        rows = synced;
        if (config.syncMode === "on-demand") {
          const names: PropertyNames = (name) =>
            sameProperties === undefined && toRow === undefined
              ? name
              : (sameProperties as Record<string, string> | undefined)?.[name];
          return onDemand(synced, context, (subset) => subsetOptions(filter, subset, names));
        }
        loadAll(synced, context, filter);
        return () => synced.close();
      },
    },
  };
}

function loadAll<T extends object, R extends object>(
  rows: SyncedRows<T, R>,
  { markReady, markError }: SyncContext<R>,
  filter: string | undefined,
): void {
  rows.load({ filter, limit: undefined }, markReady).then(markReady, markError);
}

function onDemand<T extends object, R extends object>(
  rows: SyncedRows<T, R>,
  { markReady }: SyncContext<R>,
  optionsOf: (subset: LoadSubsetOptions) => SubsetOptions,
): SyncConfigRes {
  markReady();
  return {
    loadSubset: (subset) => rows.load(optionsOf(subset)),
    unloadSubset: (subset) => rows.unload(optionsOf(subset)),
    cleanup: () => rows.close(),
  };
}

// Returns the options of a live query that has all rows of the subset. It has a limit only if the
// rows are wanted in the order of their keys.
function subsetOptions(
  filter: string | undefined,
  { where: condition, orderBy = [], limit, offset = 0 }: LoadSubsetOptions,
  names: PropertyNames,
): SubsetOptions {
  const wanted = subsetFilter(condition, names);
  const isByKey =
    orderBy.length === 1 &&
    orderBy.every(
      ({ expression, compareOptions }) =>
        nameIn(expression, names) === "rowKey" &&
        compareOptions.direction === "asc" &&
        compareOptions.stringSort === "lexical",
    );
  const isWindow = isByKey && wanted.isExact && isOnePartition(condition, names);
  return {
    filter: both(filter, wanted.text),
    limit: isWindow && limit !== undefined ? Math.max(1, offset + limit) : undefined,
  };
}

// Rows that are read from a collection have properties of TanStack DB, such as `$synced`, which a
// copy of the row has, too. An ETag and a timestamp are of the row that was copied.
function withoutAddedNames(row: object): object {
  const isOwn = (name: string) => !name.startsWith("$") && name !== "etag" && name !== "timestamp";
  return Object.fromEntries(Object.entries(row).filter(([name]) => isOwn(name)));
}

function both(first: string | undefined, second: string | undefined): string | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return `(${first}) and (${second})`;
}
