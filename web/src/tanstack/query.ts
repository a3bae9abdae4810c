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
  readonly state: { readonly fetchStatus: string };
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

// A query that is followed.
interface Feed {
  readonly store: Store;
  /** Reads the query again if it may be older than the store, and is not being read. */
  refresh(): void;
  end(): void;
}

const sources = new WeakMap<object, Source>(); // by queryFn
const idsInMemory = new WeakMap<Store, number>();
let idLast = 0;

// Returns what tells the store from others in a key. Stores in memory may have the same name.
function identityOf(store: Store): unknown {
  if (store.status.persistence !== "memory") return store.name;
  const id = idsInMemory.get(store) ?? ++idLast;
  idsInMemory.set(store, id);
  return id;
}

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
  return { queryKey: ["entitable", identityOf(store), table, options], queryFn };
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
  const queryKey = ["entitable", identityOf(store), table, partitionKey, rowKey];
  return { queryKey, queryFn: first };
}

/**
 * From now on, invalidates each of these queries that a component shows when an entity changes that
 * it has, or would have. Returns a function that ends this.
 */
export function invalidateOnChange(client: QueryClientLike): () => void {
  const feeds = new Map<QueryLike, Feed>();
  const cache = client.getQueryCache();
  const update = (query: QueryLike) => {
    const source = sources.get(Object(query.options.queryFn));
    const store = query.getObserversCount() > 0 ? source?.store : undefined;
    const feed = feeds.get(query);
    if (feed?.store === store) return feed?.refresh();
    feed?.end();
    feeds.delete(query);
    if (source && store) feeds.set(query, open(client, query, source));
  };
  const unsubscribe = cache.subscribe(({ query }) => update(query));
  for (const query of cache.getAll()) update(query);
  return () => {
    unsubscribe();
    for (const feed of feeds.values()) feed.end();
  };
}

// While a query is being read, changes wait for its end: the client would not repeat its first
// read, and would cancel any later one.
function open(client: QueryClientLike, query: QueryLike, source: Source): Feed {
  const { queryKey } = query;
  const controller = new AbortController();
  let isOlder = false;
  const refresh = () => {
    if (!isOlder || query.state.fetchStatus !== "idle") return;
    isOlder = false;
    void client.invalidateQueries({ queryKey, exact: true });
  };
  void follow(source, controller.signal, () => {
    isOlder = true;
    refresh();
  });
  return { store: source.store, refresh, end: () => controller.abort() };
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
