// Selects the store for a request by the account in its address.

import type { RestEntryPoint } from "../rest/entry-point.ts";

export type EntryPoints = ReadonlyMap<string, RestEntryPoint>;

// Reads the account from the first label of the host (https://<account>.table.core.windows.net),
// otherwise from the first path segment (http://127.0.0.1:10002/<account>). The suffix "-secondary"
// is not part of the name. A host of one label is a machine name. Unknown accounts are rejected by
// the first store.
export function entryPointFor(entryPoints: EntryPoints, url: string): RestEntryPoint {
  const [, host = "", segment = ""] = /^[^:]+:\/\/([^/?#]*)\/*([^/?#]*)/.exec(url) ?? [];
  const [label = "", domain] = host.split(".", 2);
  const byHost = domain === undefined ? undefined : entryPoints.get(accountNameFrom(label));
  return (
    byHost ??
    entryPoints.get(accountNameFrom(segment)) ??
    (entryPoints.values().next().value as RestEntryPoint)
  );
}

function accountNameFrom(part: string): string {
  return part.toLowerCase().replace(/-secondary$/, "");
}
