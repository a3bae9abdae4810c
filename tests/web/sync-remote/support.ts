// A table in a store in this process, which answers like the service, and ways to answer otherwise.

import type { Key, KeyRange } from "../../../web/src/sync/keys.ts";
import type { Properties } from "../../../web/src/sync/properties.ts";
import type { ScannedRow, ScanRequest } from "../../../web/src/sync/remote.ts";
import { batchRequest } from "../../../web/src/sync-remote/batch-request.ts";
import { Http, type HttpOptions } from "../../../web/src/sync-remote/http.ts";
import { HttpRemote } from "../../../web/src/sync-remote/http-remote.ts";
import { profileOf, type RemoteProfile } from "../../../web/src/sync-remote/profile.ts";
import { openStore } from "../support/package.ts";
import { emulatorKey } from "../support/server-process.ts";

export const account = "devstoreaccount1";
export const credential = { name: account, key: emulatorKey };
export const url = `http://127.0.0.1:10002/${account}`;
export const guid = "8a28b620-b4bb-458c-a177-0959fb14c977";
export const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });

export type Fetch = typeof fetch;

/** Returns a fetch to a new store with the table "people". */
export async function openPeople(rows: ReadonlyMap<Key, Properties> = new Map()): Promise<Fetch> {
  const accounts = { name: account, keys: [emulatorKey], authorize: true };
  const store = await openStore({ persistence: "memory", account: accounts, onWarning: () => {} });
  await store.table("people").createTable();
  const http = new Http({ url, credential, now, fetch: store.fetch });
  for (const [key, properties] of rows) {
    const insert = { kind: "insert", key, properties } as const;
    const request = batchRequest([insert], guid, `${url}/people`, false);
    await http.send({ ...request, method: "POST", path: "$batch" });
  }
  return store.fetch as Fetch;
}

export interface RemoteSettings extends Partial<HttpOptions> {
  readonly profile?: RemoteProfile;
  readonly filter?: string;
}

export function openRemote(settings: RemoteSettings): HttpRemote {
  const { filter, profile = profileOf("unknown"), ...options } = settings;
  const http = new Http({ url, credential, now, ...options });
  return new HttpRemote(http, { table: "people", client: "me", profile, filter });
}

/** Reads all pages. Throws if a page cannot be read. */
export async function scanAll(
  remote: HttpRemote,
  range: KeyRange,
  options: Partial<ScanRequest> = {},
): Promise<{ rows: ScannedRow[]; pages: number }> {
  const rows: ScannedRow[] = [];
  const request = { range, keysOnly: true, isFiltered: false, ...options };
  for (let pages = 1, token: string | undefined; ; ++pages) {
    const answer = await remote.scan({ ...request, token });
    if (answer.kind !== "page") throw new Error(answer.kind);
    rows.push(...answer.rows);
    ({ token } = answer);
    if (token === undefined) return { rows, pages };
  }
}

/** Adds a parameter to all queries. */
export const withQuery =
  (send: Fetch, query: string): Fetch =>
  (input, init) => {
    const to = new URL(String(input));
    if (to.pathname.endsWith("()")) to.search += `&${query}`;
    return send(to, init);
  };

/** Hides all headers but those that every page can read, as a browser does without CORS rules. */
export const withHiddenHeaders =
  (send: Fetch): Fetch =>
  async (input, init) => {
    const { status, headers, body } = await send(input, init);
    const readable = new Headers({ "Content-Type": headers.get("Content-Type") ?? "" });
    const response = new Response(body, { status, headers: readable });
    return Object.defineProperty(response, "type", { value: "cors" });
  };
