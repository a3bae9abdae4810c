// The list in a store of this browser, which is kept in step with the remote table. So the app also
// works offline. The three statements that do this are numbered.

import { openStore } from "entitable";
import { type Sync, startSync } from "entitable/sync";
import { type Session, ShoppingList } from "./list.ts";

/** Calls the listener after each change of the list. Returns a function that ends this. */
export type Watch = (listener: () => void) => () => void;

export interface OfflineList {
  list: ShoppingList;
  sync: Sync;
  watch: Watch;
}

const account = { name: "devstoreaccount1" }; // the first part of the path of the endpoint

/** `session` may have expired. Sync calls `renew` when its signature is rejected. */
export async function openOfflineList(
  session: Session,
  renew: () => Promise<Session>,
): Promise<OfflineList> {
  const { endpoint: url, table } = session;
  // The first signature is used as long as it is valid, even if the app's server cannot be reached.
  let first: Session | undefined = session;
  const credential = async () => {
    const { sas } = first ?? (await renew());
    first = undefined;
    return { signature: sas };
  };

  // 1. A store in this browser. It answers requests to the account, and checks no signatures. If
  // users share a browser, its name needs the user, too.
  const store = await openStore({ name: nameOf(url, table), account });
  // 2. The remote table stays in step with the store's.
  const sync = await startSync(store, {
    remote: { url, credential },
    tables: { [table]: { conflict: "merge" } },
  });
  // 3. The client sends its requests to the store.
  const list = new ShoppingList(session, renew, { httpClient: store.httpClient });

  const rows = store.table(table).live();
  return { list, sync, watch: (listener) => rows.subscribe(listener) };
}

/** Each remote table has a store of its own, so that no list gets the changes of another one. */
function nameOf(endpoint: string, table: string): string {
  const { host, pathname } = new URL(endpoint);
  const text = `shopping ${host}${pathname} ${table}`;
  const name = text.replace(/[^\w.-]+/g, "-");
  // A name has at most 63 characters. A hash stands for what does not fit.
  return name.length <= 63 ? name : `${name.slice(0, 52)}-${hashOf(text)}`;
}

const hashOf = (text: string): string =>
  Array.from(text)
    .reduce((hash, character) => (hash * 31 + (character.codePointAt(0) ?? 0)) % 2 ** 32, 7)
    .toString(36);
