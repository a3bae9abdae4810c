// Live queries and stores in Vue components.

import {
  defineComponent,
  getCurrentInstance,
  type InjectionKey,
  inject,
  type MaybeRefOrGetter,
  onMounted,
  provide,
  type ShallowRef,
  shallowRef,
  toValue,
  type VNode,
  watchEffect,
} from "vue";
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

/** A ref of a value that is replaced when it changes. */
export type Shown<S> = Readonly<ShallowRef<S>>;

/** The type of a component, as Vue declares those that it has itself. */
export interface StoreProviderType {
  new (): { $props: StoreInput; $slots: { default?(): VNode[] } };
}

const providedStore: InjectionKey<Shown<StoreSnapshot>> = /* @__PURE__ */ Symbol("entitable store");

// The first render shows what the server has rendered. `create` is called again when the refs that
// it reads, also while it opens, have changed.
function useSource<S>(create: () => Source<S>): Shown<S> {
  const shown = shallowRef(create().initial);
  const start = () =>
    watchEffect((onCleanup) => {
      const source = create();
      const show = () => {
        shown.value = source.getSnapshot();
      };
      onCleanup(source.subscribe(show));
      show();
    });
  if (getCurrentInstance()) onMounted(start);
  else start();
  return shown;
}

/**
 * Returns the result of a live query as a ref. If `query` is a function, it is called when the
 * component is mounted, and again when a ref that it reads has changed.
 */
export function useLive<R>(query: LiveInput<R>): Shown<LiveSnapshot<R>> {
  return useSource(() => liveSource(query));
}

/** Returns an entity as a ref. */
export function useEntity<R>(
  table: MaybeRefOrGetter<EntityTable<R>>,
  partitionKey: MaybeRefOrGetter<string>,
  rowKey: MaybeRefOrGetter<string>,
): Shown<LiveSnapshot<R>> {
  return useLive(() => toValue(table)?.liveEntity(toValue(partitionKey), toValue(rowKey)));
}

/**
 * Opens a store when the component is mounted, and closes it after the last component that names it
 * was unmounted. Without a name: returns the store of the nearest StoreProvider.
 */
export function useStore(
  name?: MaybeRefOrGetter<string>,
  options?: StoreOptions,
): Shown<StoreSnapshot> {
  return name === undefined
    ? requireProvider(inject(providedStore, undefined))
    : useSource(() => storeSource({ name: toValue(name), options }));
}

/** Gives the components in its slot a store, which useStore() returns. */
export const StoreProvider = /* @__PURE__ */ defineComponent(
  (props: StoreInput, { slots }) => {
    provide(
      providedStore,
      useSource(() => storeSource(props)),
    );
    return () => slots["default"]?.();
  },
  { props: ["store", "name", "options"], name: "StoreProvider" },
) as unknown as StoreProviderType;
