// Selects the store for a request, by the account in the request's URL.

import type { RestEntryPoint } from "../rest/entry-point.ts";

export type EntryPointsByAccount = ReadonlyMap<string, RestEntryPoint>;

// Returns the entry point of the account that the URL names: by the first path segment
// (http://127.0.0.1:10002/<account>, or any other host), or by the first label of the host
// (https://<account>.table.core.windows.net). The suffix "-secondary" is not part of the name. A
// host of a single label is a machine's name, not an account. At http://<account>.table.…/<name>,
// the name is a table's, even if there is an account of that name. For an unknown account, returns
// the first store's entry point, which rejects the request.
export function entryPointFor(entryPoints: EntryPointsByAccount, url: string): RestEntryPoint {
  const [, host = "", segment = "", more = ""] =
    /^[^:]+:\/\/([^/?#]*)\/*([^/?#]*)\/*([^?#]*)/.exec(url) ?? [];
  const [label = "", domain] = host.split(".", 2);
  const byHost = domain === undefined ? undefined : entryPoints.get(accountNameFrom(label));
  const byPath = entryPoints.get(accountNameFrom(segment));
  const isTable = byHost !== undefined && domain === "table" && more === "";
  return (
    (isTable ? byHost : (byPath ?? byHost)) ?? (entryPoints.values().next().value as RestEntryPoint)
  );
}

function accountNameFrom(part: string): string {
  return part.toLowerCase().replace(/-secondary$/, "");
}
