// Live queries and stores in Preact components.

import { type ComponentChildren, createContext, h, type JSX } from "preact";
import {
  type Inputs,
  useContext,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
} from "preact/hooks";
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

export interface StoreProviderProps extends StoreInput {
  children?: ComponentChildren;
}

const StoreContext = /* @__PURE__ */ createContext<StoreSnapshot | undefined>(undefined);

// The first render shows what the server has rendered. The effect runs before the browser paints.
function useSource<S>(source: Source<S>): S {
  const subscribed = useRef<Source<S> | undefined>(undefined);
  const shown = useRef(source.initial);
  const [, render] = useReducer<number, void>((count) => count + 1, 0);
  shown.current = subscribed.current === source ? source.getSnapshot() : source.initial;
  useLayoutEffect(() => {
    const onChange = () => {
      if (source.getSnapshot() !== shown.current) render();
    };
    subscribed.current = source;
    const unsubscribe = source.subscribe(onChange);
    onChange();
    return unsubscribe;
  }, [source]);
  return shown.current;
}

/**
 * Returns the result of a live query, and renders the component again when it changes. If `query`
 * is a function, it is called when the component is mounted and when `deps` change.
 */
export function useLive<R>(query: LiveInput<R>, deps: Inputs = []): LiveSnapshot<R> {
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
export function StoreProvider({ children, ...input }: StoreProviderProps): JSX.Element {
  return h(StoreContext.Provider, { value: useStoreInput(input), children });
}
