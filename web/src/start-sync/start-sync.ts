// Syncs tables of a store with those of a remote account. What syncs is loaded with the first call,
// because a page opens its store first.

import { loadedCode, StoreError } from "../errors.ts";
import type { Store } from "../types.ts";
import { foldedName, settingsOf } from "./options.ts";
import type { Sync, SyncOptions } from "./types.ts";

/** What StoreHandle has for this module. */
interface SyncedStore extends Store {
  startSync?(): Promise<object | undefined>;
}

/** Which tables of a store are synced by this tab. */
const syncedTables = new WeakMap<Store, Set<string>>();

/**
 * Keeps tables of the store and tables of a remote account in step, in both directions, until
 * `stop` is called or the store is closed. Resolves as soon as local writes are recorded, also
 * while the remote cannot be reached; with a seed, as soon as it is restored, or cannot be. The
 * remote is Azure Table storage, Cosmos DB for Table, Azurite or `entitable serve`. If several tabs
 * share the store, the one that owns it syncs; call startSync with the same tables in each of them.
 * In the others, it waits until that tab has begun, for at most 10 s. The phase is then still
 * "connecting": if the tables are written before a tab has begun, they cannot be synced. Rejects
 * with StoreError: ValidationFailed (an option is invalid, or a table has rows that the remote does
 * not know), NotSupported (the store is one of entitable/testing), StoreClosed, WasmLoadFailed.
 */
export async function startSync(store: Store, options: SyncOptions): Promise<Sync> {
  const settings = settingsOf(options);
  const { startSync: hostOf } = store as SyncedStore;
  if (typeof hostOf !== "function") {
    const hint = "Pass what openStore() returns.";
    throw new StoreError("ValidationFailed", "startSync takes a store of this package.", { hint });
  }
  const release = reserve(store, [...settings.tables.keys()]);
  try {
    const { begin } = await loadedCode(import("./begin.ts"));
    return await begin({ store, settings, hostOf: () => hostOf.call(store), release });
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Throws if one of the tables is synced already. Returns a function that releases one of them, or
 * all.
 */
function reserve(store: Store, names: readonly string[]): (table?: string) => void {
  const synced = syncedTables.get(store) ?? new Set<string>();
  const other = names.find((name) => synced.has(foldedName(name)));
  if (other !== undefined) {
    const hint = "Use what the first call has returned, or stop it.";
    const message = `The table ${other} of this store is synced already.`;
    throw new StoreError("ValidationFailed", message, { hint });
  }
  syncedTables.set(store, synced);
  const reserved = new Set(names);
  for (const name of names) synced.add(foldedName(name));
  return (table) => {
    // What was released may be reserved by another call.
    for (const name of table === undefined ? [...reserved] : [table])
      if (reserved.delete(name)) synced.delete(foldedName(name));
  };
}
