// The store of a component: components that name the same store share it.

import { openStore } from "../open-store.ts";
import type { OpenOptions, Store } from "../types.ts";
import { createSource, type Source } from "./source.ts";

/** A store that is being opened, is open, or could not be opened. */
export interface StoreSnapshot {
  readonly store: Store | undefined;
  readonly status: "loading" | "ready" | "error";
  readonly error?: Error;
}

export type StoreOptions = Omit<OpenOptions, "name">;

/** Either an open store, or the name of one to open. Without both, the status is "loading". */
export interface StoreInput {
  store?: Store | undefined;
  name?: string | undefined;
  options?: StoreOptions | undefined;
}

const loading: StoreSnapshot = { store: undefined, status: "loading" };
const noStore = createSource(loading, () => () => {});
const given = new WeakMap<Store, Source<StoreSnapshot>>();
const named = new Map<string, Source<StoreSnapshot>>();

/** Returns the same source for the same store, or the same name while that store is open. */
export function storeSource({ store, name, options }: StoreInput): Source<StoreSnapshot> {
  if (store) {
    return known(given, store, () => createSource({ store, status: "ready" }, () => () => {}));
  }
  return name === undefined ? noStore : known(named, name, () => namedSource(name, options));
}

export function requireProvider<T>(provided: T | undefined): T {
  if (provided === undefined)
    throw new Error("useStore() needs the name of a store, or a store that is provided around it.");
  return provided;
}

// If the store cannot be opened, the first component that is mounted after those that show the
// error tries again. An error of closing is an unhandled rejection.
function namedSource(name: string, options: StoreOptions | undefined): Source<StoreSnapshot> {
  return createSource(loading, (show) => {
    const opening = openStore({ ...options, name });
    let isNeeded = true;
    const showIfNeeded = (snapshot: StoreSnapshot) => isNeeded && show(snapshot);
    opening.then(
      (store) => showIfNeeded({ store, status: "ready" }),
      (error: Error) => showIfNeeded({ store: undefined, status: "error", error }),
    );
    return () => {
      isNeeded = false;
      named.delete(name);
      show(loading);
      opening.then(
        (store) => store.close(),
        () => {},
      );
    };
  });
}

function known<K, V>(
  values: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  create: () => V,
): V {
  const value = values.get(key) ?? create();
  values.set(key, value);
  return value;
}
