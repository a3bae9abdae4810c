// Selects a client's store. No store is opened before the first call.

import { StoreError } from "../errors.ts";
import { openStore } from "../open-store.ts";
import type { OpenOptions, Store } from "../types.ts";

export type StoreSource = Store | Promise<Store>;

// A store, or the promise of one, or a store that is opened at the first use.
export class LazyStore {
  readonly #open: () => StoreSource;
  #store: StoreSource | undefined;

  constructor(open: () => StoreSource) {
    this.#open = open;
  }

  get(): StoreSource {
    this.#store ??= this.#begin();
    return this.#store;
  }

  // A failure is not cached: the next call tries again.
  #begin(): StoreSource {
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
const opened = new Map<string, LazyStore>(); // by account, opened with default options

/**
 * Sets the store of clients without their own store whose account has no registered store. If
 * options are given, the store is opened at the first call.
 */
export function setDefaultStore(store: StoreSource | OpenOptions): void {
  defaultStore = new LazyStore(() => (isStore(store) ? store : openStore(store)));
}

/** Registers a store for an account's clients. Returns a function that removes the registration. */
export function registerAccount(accountName: string, store: StoreSource): () => void {
  const source = new LazyStore(() => store);
  registered.set(accountName, source);
  return () => {
    if (registered.get(accountName) === source) registered.delete(accountName);
  };
}

// Returns the store of a client that was created without one. Throws NotSupported if no store fits.
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

function isPromise(source: StoreSource): source is Promise<Store> {
  return "then" in source;
}

function isStore(value: StoreSource | OpenOptions): value is StoreSource {
  return "then" in value || "tableClient" in value;
}
