// Queries of TanStack Query that read a store, and are read again when what they have read changes.
// The types that they need are declared here, because each framework has a package of its own.

import { where } from "../filter/where.ts";
import type {
  ChangesOptions,
  EntityResult,
  Filter,
  ListEntitiesOptions,
  Store,
  Table,
} from "../types.ts";

/** The part of a QueryClient that invalidateOnChange() uses. */
export interface QueryClientLike {
  getQueryCache(): {
    getAll(): readonly QueryLike[];
    subscribe(listener: (event: { readonly query: QueryLike }) => void): () => void;
  };
  invalidateQueries(filters: { queryKey: readonly unknown[]; exact: true }): Promise<void>;
}

export interface QueryLike {
  readonly queryKey: readonly unknown[];
  readonly options: { readonly queryFn?: unknown };
  getObserversCount(): number;
}

/** Options of useQuery() and of the other functions that take queryOptions(). */
export interface StoreQueryOptions<R> {
  queryKey: readonly unknown[];
  queryFn(context: { readonly signal: AbortSignal }): Promise<R>;
}

export interface ListQueryInput<T extends object>
  extends Pick<ListEntitiesOptions<T>, "top" | "order"> {
  queryOptions?: { filter?: string | Filter<T> | undefined } | undefined;
}

interface Source {
  readonly store: Store;
  readonly changes: ChangesOptions;
}

const sources = new WeakMap<object, Source>(); // by queryFn

/** Returns the options of a query of what listEntities returns. */
export function listQueryOptions<T extends object = Record<string, unknown>>(
  store: Store,
  table: string,
  options: ListQueryInput<T> = {},
): StoreQueryOptions<EntityResult<T>[]> {
  const queryFn = async ({ signal }: { readonly signal: AbortSignal }) => {
    const entities: EntityResult<T>[] = [];
    const entitiesOf = store.table(table) as unknown as Table<T>;
    const list = entitiesOf.listEntities({ ...options, abortSignal: signal });
    for await (const entity of list) entities.push(entity);
    return entities;
  };
  sources.set(queryFn, {
    store,
    changes: { tables: [table], filter: options.queryOptions?.filter },
  });
  return { queryKey: ["entitable", store.name, table, options], queryFn };
}

/** Returns the options of a query of one entity. The result is null while it does not exist. */
export function entityQueryOptions<T extends object = Record<string, unknown>>(
  store: Store,
  table: string,
  partitionKey: string,
  rowKey: string,
): StoreQueryOptions<EntityResult<T> | null> {
  const filter = where<T>((f) =>
    f.and(f.eq("partitionKey", partitionKey as never), f.eq("rowKey", rowKey as never)),
  );
  const { queryFn } = listQueryOptions<T>(store, table, { queryOptions: { filter } });
  const first = async (context: { readonly signal: AbortSignal }) =>
    (await queryFn(context))[0] ?? null;
  sources.set(first, sources.get(queryFn) as Source);
  return { queryKey: ["entitable", store.name, table, partitionKey, rowKey], queryFn: first };
}

/**
 * From now on, invalidates each of these queries that a component shows when an entity changes that
 * it has, or would have. Returns a function that ends this.
 */
export function invalidateOnChange(client: QueryClientLike): () => void {
  const feeds = new Map<QueryLike, AbortController>();
  const cache = client.getQueryCache();
  const update = (query: QueryLike) => {
    const source = sources.get(Object(query.options.queryFn));
    const feed = feeds.get(query);
    if (source === undefined || query.getObserversCount() === 0) {
      feeds.delete(query);
      feed?.abort();
    } else if (feed === undefined) {
      const controller = new AbortController();
      feeds.set(query, controller);
      const { queryKey } = query;
      void follow(source, controller.signal, () => {
        void client.invalidateQueries({ queryKey, exact: true });
      });
    }
  };
  const unsubscribe = cache.subscribe(({ query }) => update(query));
  for (const query of cache.getAll()) update(query);
  return () => {
    unsubscribe();
    for (const feed of feeds.values()) feed.abort();
  };
}

// Calls the function after each change. Also once the feed is open, and after it had a gap: what
// the query has read may be older. An error ends this: the query reports the same one.
async function follow({ store, changes }: Source, signal: AbortSignal, onChange: () => void) {
  for (let hasGap = true; hasGap; ) {
    try {
      const feed = store.changes({ ...changes, signal });
      await feed.ready;
      onChange();
      for await (const _ of feed) onChange();
      hasGap = false;
    } catch (error) {
      hasGap = (error as { code?: unknown }).code === "FeedTruncated";
    }
  }
}
