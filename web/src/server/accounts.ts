// Which store answers a request: that of the account which the address names.

import type { RestDoor } from "../rest/door.ts";

export type Doors = ReadonlyMap<string, RestDoor>;

// By the first of the host's labels (https://<account>.table.core.windows.net), else by the first segment of the path
// (http://127.0.0.1:10002/<account>); "-secondary" is not part of a name. A host of one label is a machine, whatever its name. An
// account that nobody has is refused by whichever store comes first.
export function doorFor(doors: Doors, url: string): RestDoor {
  const [, host = "", segment = ""] = /^[^:]+:\/\/([^/?#]*)\/*([^/?#]*)/.exec(url) ?? [];
  const [label = "", domain] = host.split(".", 2);
  const byHost = domain === undefined ? undefined : doors.get(account(label));
  return byHost ?? doors.get(account(segment)) ?? (doors.values().next().value as RestDoor);
}

function account(part: string): string {
  return part.toLowerCase().replace(/-secondary$/, "");
}
