// Finds the store that a client uses: its own, a registered one, the default, or one that is opened
// under the account's name. No store is opened before the first call.

import { StoreError } from "../errors.ts";
import { openStore } from "../open-store.ts";
import type { OpenOptions, Store } from "../types.ts";

export type StoreOrPromise = Store | Promise<Store>;

// A store that `open` supplies at the first use. `open` may return a store or a promise of one.
export class LazyStore {
  readonly #open: () => StoreOrPromise;
  #store: StoreOrPromise | undefined;

  constructor(open: () => StoreOrPromise) {
    this.#open = open;
  }

  get(): StoreOrPromise {
    this.#store ??= this.#begin();
    return this.#store;
  }

  // Calls `open`. If it fails, the next call tries again.
  #begin(): StoreOrPromise {
    const opening = this.#open();
    if (!isPromise(opening)) return opening;
    opening.then(
      (store) => {
        this.#store = store;
      },
      () => {
        this.#store = undefined;
      },
    );
    return opening;
  }
}

let defaultStore: LazyStore | undefined;
const registered = new Map<string, LazyStore>();
const opened = new Map<string, LazyStore>(); // by account; opened because nothing was registered

/**
 * Sets the default store. Clients use it if they have no store of their own and no store is
 * registered for their account. If options are given, the store is opened at the first call.
 */
export function setDefaultStore(store: StoreOrPromise | OpenOptions): void {
  defaultStore = new LazyStore(() => (isStore(store) ? store : openStore(store)));
}

/**
 * Registers a store for the clients of an account. Returns a function that removes the
 * registration.
 */
export function registerAccount(accountName: string, store: StoreOrPromise): () => void {
  const source = new LazyStore(() => store);
  registered.set(accountName, source);
  return () => {
    if (registered.get(accountName) === source) registered.delete(accountName);
  };
}

// Returns the store of a client that has none of its own. Throws NotSupported if the URL names no
// account, or if the client has a token credential and no store is registered.
export function findLazyStore(
  account: string | undefined,
  url: string,
  hasToken: boolean,
): LazyStore {
  const known = (account === undefined ? undefined : registered.get(account)) ?? defaultStore;
  if (known !== undefined) return known;
  if (account === undefined) throw noStoreError(`The URL ${url} does not contain an account name.`);
  if (hasToken)
    throw noStoreError(
      "A token credential needs the service itself, and no store is registered in its place.",
    );
  let source = opened.get(account);
  if (source === undefined) {
    source = new LazyStore(() => openStore({ name: account }));
    opened.set(account, source);
  }
  return source;
}

function noStoreError(message: string): StoreError {
  return new StoreError("NotSupported", message, {
    hint:
      "Specify a store with options.store, registerAccount or setDefaultStore. To call the " +
      "service itself, use @azure/data-tables; with its option httpClient: store.httpClient, " +
      "that client also runs over a store.",
  });
}

function isPromise(source: StoreOrPromise): source is Promise<Store> {
  return "then" in source;
}

function isStore(value: StoreOrPromise | OpenOptions): value is StoreOrPromise {
  return "then" in value || "tableClient" in value;
}
