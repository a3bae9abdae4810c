// A table of a store that this thread owns, as a session uses it.

import { StoreError } from "../errors.ts";
import type { SyncHost } from "../host/sync-host.ts";
import type { SyncStore } from "../sync/store.ts";
import type { Service } from "../sync-remote/profile.ts";
import { OwnerStore } from "../sync-store/owner-store.ts";
import type { StoreStats } from "../types.ts";
import { foldedName } from "./options.ts";

export interface OwnedTable {
  readonly store: SyncStore;
  readonly watchCommits: SyncHost["watchCommits"];
  readonly rowCount: () => Promise<number>;
}

/** What opening a table uses of a store, in addition to its host. */
export interface StoreAccess {
  /** Creates the table if it does not exist. */
  createTable(table: string): Promise<void>;
  stats(): Promise<StoreStats>;
}

/** Begins to record local writes of the table, which is created if it does not exist. */
export async function openTable(
  store: StoreAccess,
  host: SyncHost,
  table: string,
): Promise<OwnedTable> {
  await store.createTable(table);
  try {
    await host.setSynced(table, "begin");
  } catch (error) {
    if (codeOf(error) !== "TableAlreadyExists") throw reasonFor(table, error);
  }
  return {
    store: new OwnerStore(host, table),
    watchCommits: (listener) => host.watchCommits(listener),
    rowCount: async () => (await rowCounts(store)).get(foldedName(table)) ?? 0,
  };
}

/**
 * Ends to record local writes. The rows stay. Rejects with TableHasPendingOperations if the remote
 * does not have all of them, unless `discards`.
 */
export async function endSync(host: SyncHost, table: string, discards: boolean): Promise<void> {
  try {
    await host.setSynced(table, discards ? "discard" : "end");
  } catch (error) {
    // The table was deleted, which has ended its sync.
    if (codeOf(error) !== "TableNotFound") throw error;
  }
}

/** By the folded names of the tables. */
export async function rowCounts(store: Pick<StoreAccess, "stats">): Promise<Map<string, number>> {
  const { tables } = await store.stats();
  return new Map(tables.map(({ name, rows }) => [foldedName(name), rows]));
}

/**
 * Returns the client's name in its receipts, which is chosen once. A copy of the store has the same
 * one (sync/PROTOCOL.md, Receipts). `service`: that of the remote. Local writes are checked against
 * its limits from now on (core/store/remote_limits.h).
 */
export function clientName(
  store: SyncStore,
  random: () => string,
  service: Service,
): Promise<string> {
  return store.transact((draft) => {
    if (draft.get("client", "remote") !== service) draft.put("client", "remote", service);
    const known = draft.get("client", "name");
    const name = known ?? random().replaceAll("-", "");
    if (known === undefined) draft.put("client", "name", name);
    return name;
  });
}

/** A table cannot be opened because it has rows that the remote does not know. */
export class OtherRowsError extends StoreError {}

function reasonFor(table: string, error: unknown): unknown {
  if (codeOf(error) !== "ValidationFailed") return error;
  const message = `The table ${table} has rows that the remote does not know.`;
  const hint =
    "Sync begins with an empty table. Export the rows, delete and create the table, start to sync " +
    "it, and import them.";
  return new OtherRowsError("ValidationFailed", message, { hint, cause: error });
}

export const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code;
