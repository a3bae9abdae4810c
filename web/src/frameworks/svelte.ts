// Live queries and stores in Svelte components.

import { getContext, setContext, untrack } from "svelte";
import { createSubscriber } from "svelte/reactivity";
import { fromStore, type Readable, readable, toStore } from "svelte/store";
import type { LiveSnapshot } from "../types.ts";
import { inMicrotask } from "../util/event-loop.ts";
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

/** `current` is reactive, like a rune. As a Svelte store, `$` before the name does the same. */
export interface Shown<S> extends Readable<S> {
  readonly current: S;
}

/** A value, or a function that returns it and may read state. */
export type MaybeGetter<T> = T | (() => T);

const contextKey = Symbol("entitable store");

// The first render shows what the server has rendered. `create` is called again when the state that
// it reads, also while it opens, has changed.
function useSource<S>(create: () => Source<S>): Shown<S> {
  const { initial } = untrack(create);
  const { subscribe } = readable(initial, (set) => {
    if (typeof window === "undefined") return undefined; // on a server
    set(initial);
    return untrack(() => follow(initial, create, set));
  });
  const shown = fromStore({ subscribe });
  return {
    subscribe,
    get current() {
      return shown.current;
    },
  };
}

// Calls `set` with the snapshots of the source that `create` returns. Returns a function that ends
// this.
function follow<S>(initial: S, create: () => Source<S>, set: (snapshot: S) => void): () => void {
  let shown = initial;
  let source: Source<S> | undefined;
  let unsubscribe = () => {};
  // toStore() calls its function also outside of an effect, where what it reads is not tracked.
  let isTracked = false;
  const detect = createSubscriber(() => {
    isTracked = true;
  });
  const show = (snapshot: S) => {
    if (snapshot !== shown) untrack(() => set(snapshot));
    shown = snapshot;
  };
  const restarts = toStore(() => {
    if (!isTracked) detect();
    if (!isTracked) return;
    const isFirst = source === undefined;
    const opened = create();
    source = opened;
    const onChange = () => {
      if (source === opened) show(opened.getSnapshot());
    };
    unsubscribe();
    unsubscribe = opened.subscribe(onChange);
    if (isFirst) inMicrotask(onChange);
    else onChange();
  });
  const end = restarts.subscribe(() => {});
  return () => {
    end();
    unsubscribe();
    source = undefined;
  };
}

/**
 * Returns the result of a live query. If `query` is a function, it is called when the result is
 * first shown, and again when state that it reads has changed.
 */
export function useLive<R>(query: LiveInput<R>): Shown<LiveSnapshot<R>> {
  return useSource(() => liveSource(query));
}

/** Returns an entity. */
export function useEntity<R>(
  table: MaybeGetter<EntityTable<R>>,
  partitionKey: MaybeGetter<string>,
  rowKey: MaybeGetter<string>,
): Shown<LiveSnapshot<R>> {
  return useLive(() => toValue(table)?.liveEntity(toValue(partitionKey), toValue(rowKey)));
}

/**
 * Opens a store when it is first shown, and closes it after the last component that names it was
 * unmounted. Without a name: returns the store that provideStore() gave to a component around this
 * one.
 */
export function useStore(name?: MaybeGetter<string>, options?: StoreOptions): Shown<StoreSnapshot> {
  return name === undefined
    ? requireProvider(getContext<Shown<StoreSnapshot> | undefined>(contextKey))
    : useSource(() => storeSource({ name: toValue(name), options }));
}

/** Gives the components in this one a store, which useStore() returns. Returns it, too. */
export function provideStore(input: MaybeGetter<StoreInput>): Shown<StoreSnapshot> {
  return setContext(
    contextKey,
    useSource(() => storeSource(toValue(input))),
  );
}

function toValue<T>(value: MaybeGetter<T>): T {
  return typeof value === "function" ? (value as () => T)() : value;
}
