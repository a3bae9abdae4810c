// Which store answers a request: that of the account which the address names.

import type { RestEntryPoint } from "../rest/entry-point.ts";

export type EntryPoints = ReadonlyMap<string, RestEntryPoint>;

// By the first of the host's labels (https://<account>.table.core.windows.net), else by the first segment of the path
// (http://127.0.0.1:10002/<account>); "-secondary" is not part of a name. A host of one label is a machine, whatever its name. An
// account that nobody has is refused by whichever store comes first.
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
