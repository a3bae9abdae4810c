// The filter of a synced table, which only applications that use one load.

import type { Key } from "../sync/keys.ts";
import type { RowFilter } from "../sync/partition-log.ts";
import type { SyncStore } from "../sync/store.ts";
import { rowFilter } from "../sync-store/row-filter.ts";
import type { Engine } from "../wasm/engine.ts";
import { invalid } from "./options.ts";
import { codeOf } from "./owned-table.ts";

const filterHint =
  "Write it as in listEntities(), without the Timestamp, and only with what the service supports.";

/** Throws StoreError ValidationFailed, which names the option. */
export function openFilter(
  engine: Pick<Engine, "matchesFilter">,
  table: string,
  filter: string,
): RowFilter {
  try {
    return rowFilter(engine, table, filter);
  } catch (error) {
    if (codeOf(error) !== "ValidationFailed") throw error;
    throw invalid(`tables.${table}.filter: ${(error as Error).message}`, filterHint);
  }
}

/**
 * Removes the entities that do not match the table's new filter, without asking the remote. If
 * there was another filter before, the remote has entities that match only the new one, and may not
 * have changed for long: everything is read again then. `matches` undefined: the table has no
 * filter any more. Meanwhile, the stored filter equals no other: a process that ends is followed by
 * one that continues with the same filter, or reads everything with another one.
 */
export async function changeFilter(
  store: SyncStore,
  filter: string,
  matches: RowFilter | undefined,
): Promise<void> {
  const unfinished = `\0${filter}`; // equals no filter
  await store.transact((draft) => {
    const before = draft.get("client", "filter") ?? "";
    if (before === unfinished) return;
    draft.put("client", "filter", unfinished);
    if (before === "") return;
    // The remote evaluates the new filter. What has left it unseen is found by the census, which is
    // due, because no range is compared.
    const nextWatermark = draft.get("server", "time");
    const delta = { since: undefined, nextWatermark, after: undefined };
    for (const [from, { to }] of [...draft.entries("scans", "")])
      draft.put("scans", from, { to, delta });
    if (draft.get("feed", "state")) draft.delete("feed", "state");
  });
  if (matches) await removeOthers(store, matches);
  await store.transact((draft) => {
    if (filter === "") draft.delete("client", "filter");
    else draft.put("client", "filter", filter);
  });
}

const rowsPerStep = 1000; // bounds the time of one turn of the event loop

async function removeOthers(store: SyncStore, matches: RowFilter): Promise<void> {
  for (let from: Key | undefined = ""; from !== undefined; )
    from = await removeStep(store, from, matches);
}

/** Returns where to continue. What is written here stays until the remote has it. */
function removeStep(store: SyncStore, from: Key, matches: RowFilter): Promise<Key | undefined> {
  return store.transact((draft) => {
    const others: Key[] = [];
    let next: Key | undefined;
    let rows = 0;
    for (const [key, { properties, version }] of draft.entries("rows", from)) {
      if (rows === rowsPerStep) {
        next = key;
        break;
      }
      rows += 1;
      const isClean = version !== undefined && draft.get("bases", key) === undefined;
      if (isClean && !matches(key, properties)) others.push(key);
    }
    for (const key of others) draft.delete("rows", key);
    return next;
  });
}
