// Live queries and stores in React components.
"use client";

import {
  createContext,
  createElement,
  type DependencyList,
  type ReactElement,
  type ReactNode,
  useContext,
  useMemo,
  useSyncExternalStore,
} from "react";
import type { LiveSnapshot } from "../types.ts";
import { type EntityTable, type LiveInput, liveSource } from "./live-source.ts";
import type { Source } from "./source.ts";
import {
  requireProvider,
  type StoreInput,
  type StoreOptions,
  type StoreSnapshot,
  storeSource,
} from "./store-source.ts";
import { suspenseSource } from "./suspense-source.ts";

export type { EntityTable, LiveInput, OpenLive } from "./live-source.ts";
export type { StoreInput, StoreOptions, StoreSnapshot } from "./store-source.ts";

export interface StoreProviderProps extends StoreInput {
  children?: ReactNode;
}

const StoreContext = /* @__PURE__ */ createContext<StoreSnapshot | undefined>(undefined);

function useSource<S>({ subscribe, getSnapshot, initial }: Source<S>): S {
  return useSyncExternalStore(subscribe, getSnapshot, () => initial);
}

/**
 * Returns the result of a live query, and renders the component again when it changes. If `query`
 * is a function, it is called when the component is mounted and when `deps` change.
 */
export function useLive<R>(query: LiveInput<R>, deps: DependencyList = []): LiveSnapshot<R> {
  const passed = typeof query === "function" ? undefined : query;
  return useSource(useMemo(() => liveSource(query), [passed, ...deps]));
}

/**
 * Returns an entity, and renders the component again when it changes. `table` must be the same
 * object in each render.
 */
export function useEntity<R>(
  table: EntityTable<R>,
  partitionKey: string,
  rowKey: string,
): LiveSnapshot<R> {
  const open = () => table?.liveEntity(partitionKey, rowKey);
  return useLive(open, [table, partitionKey, rowKey]);
}

/**
 * Returns the result of a live query. Suspends the component until there is one, and throws an
 * error of the query. If `query` is a function, calls with equal keys share what the first one has
 * opened, because React may call the component several times before it is mounted. So the key must
 * identify the query in the whole application.
 */
export function useSuspenseLive<R>(query: LiveInput<R>, key: DependencyList = []): R {
  const passed = typeof query === "function" ? undefined : query;
  const source = useMemo(() => suspenseSource(query, key), [passed, ...key]);
  const { subscribe, getSnapshot, ready } = source;
  const { data, status, error } = useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
  if (status === "loading") throw ready;
  if (status === "error") throw error;
  return data as R;
}

/**
 * Opens a store when the component is mounted, and closes it after the last component that names it
 * was unmounted. Without a name: returns the store of the nearest StoreProvider.
 */
export function useStore(name?: string, options?: StoreOptions): StoreSnapshot {
  const provided = useContext(StoreContext);
  const opened = useStoreInput({ name, options });
  return name === undefined ? requireProvider(provided) : opened;
}

function useStoreInput(input: StoreInput): StoreSnapshot {
  return useSource(useMemo(() => storeSource(input), [input.store, input.name]));
}

/** Gives the components in it a store, which useStore() returns. */
export function StoreProvider({ children, ...input }: StoreProviderProps): ReactElement {
  return createElement(StoreContext.Provider, { value: useStoreInput(input) }, children);
}
