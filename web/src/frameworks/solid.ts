// Live queries and stores in Solid components.

import {
  type Accessor,
  createComponent,
  createContext,
  createEffect,
  createSignal,
  type JSX,
  onCleanup,
  type ParentProps,
  untrack,
  useContext,
} from "solid-js";
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

export type { EntityTable, LiveInput, OpenLive } from "./live-source.ts";
export type { StoreInput, StoreOptions, StoreSnapshot } from "./store-source.ts";

/** A value, or a function that returns it and may read signals. */
export type MaybeAccessor<T> = T | Accessor<T>;

const StoreContext = /* @__PURE__ */ createContext<Accessor<StoreSnapshot>>();

// The first render shows what the server has rendered. `create` is called again when the signals
// that it reads, also while it opens, have changed.
function useSource<S>(create: () => Source<S>): Accessor<S> {
  const [shown, setShown] = createSignal(untrack(create).initial);
  createEffect(() => {
    const source = create();
    const show = () => void setShown(() => source.getSnapshot());
    onCleanup(source.subscribe(show));
    show();
  });
  return shown;
}

/**
 * Returns the result of a live query. If `query` is a function, it is called when the component is
 * mounted, and again when a signal that it reads has changed.
 */
export function useLive<R>(query: LiveInput<R>): Accessor<LiveSnapshot<R>> {
  return useSource(() => liveSource(query));
}

/** Returns an entity. */
export function useEntity<R>(
  table: MaybeAccessor<EntityTable<R>>,
  partitionKey: MaybeAccessor<string>,
  rowKey: MaybeAccessor<string>,
): Accessor<LiveSnapshot<R>> {
  return useLive(() => toValue(table)?.liveEntity(toValue(partitionKey), toValue(rowKey)));
}

/**
 * Opens a store when the component is mounted, and closes it after the last component that names it
 * was unmounted. Without a name: returns the store of the nearest StoreProvider.
 */
export function useStore(
  name?: MaybeAccessor<string>,
  options?: StoreOptions,
): Accessor<StoreSnapshot> {
  return name === undefined
    ? requireProvider(useContext(StoreContext))
    : useSource(() => storeSource({ name: toValue(name), options }));
}

/** Gives the components in it a store, which useStore() returns. */
export function StoreProvider(props: ParentProps<StoreInput>): JSX.Element {
  const value = useSource(() => storeSource(props));
  return createComponent(StoreContext.Provider, {
    value,
    get children() {
      return props.children;
    },
  });
}

function toValue<T>(value: MaybeAccessor<T>): T {
  return typeof value === "function" ? (value as Accessor<T>)() : value;
}
