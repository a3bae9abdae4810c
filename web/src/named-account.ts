// Reads which account the URL of a request names.

export interface NamedAccount {
  name: string; // in lower case
  isServed: boolean;
}

// Returns the account that the URL names: by the first path segment
// (http://127.0.0.1:10002/<account>, or any other host), or by the first label of the host
// (https://<account>.table.core.windows.net). The suffix "-secondary" is not part of the name. A
// host of a single label is a machine's name, not an account. At http://<account>.table.…/<name>,
// the name is a table's, even if there is an account of that name. `isServed` gets names in lower
// case.
export function namedAccount(url: string, isServed: (name: string) => boolean): NamedAccount {
  const [, host = "", segment = "", more = ""] =
    /^[^:]+:\/\/([^/?#]*)\/*([^/?#]*)\/*([^?#]*)/.exec(url) ?? [];
  const [label = "", domain] = host.split(".", 2);
  const [byHost, byPath] = [accountNameFrom(label), accountNameFrom(segment)];
  const isByHost = domain !== undefined && isServed(byHost);
  const isTable = isByHost && domain === "table" && more === "";
  if (!isTable && isServed(byPath)) return { name: byPath, isServed: true };
  return { name: isByHost || domain === "table" ? byHost : byPath, isServed: isByHost };
}

function accountNameFrom(part: string): string {
  return part.toLowerCase().replace(/-secondary$/, "");
}
