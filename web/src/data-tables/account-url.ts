// Reads the account from a client's URL.

export interface AccountUrl {
  // undefined: the URL names no account.
  account: string | undefined;
  // Whether the URL is that of the account's secondary, a read-only replica.
  secondary: boolean;
  // Whether the URL addresses this machine.
  local: boolean;
}

const secondarySuffix = "-secondary";

// Reads the account's name from a URL: the first label of a host like name.table.core.windows.net,
// or the first path segment if the host is localhost or an IP address.
export function parseAccountUrl(url: string): AccountUrl {
  const { hostname, pathname } = new URL(url);
  const [first = "", second] = hostname.split(".");
  const isIp = /^(\d+\.){3}\d+$|^\[/.test(hostname);
  const isLocalhost = /(^|\.)localhost$/.test(hostname);
  const local = isLocalhost || /^127\.|^\[::1\]$/.test(hostname);
  let account = "";
  if (second === "table") account = first;
  else if (isIp || isLocalhost) account = decodeURIComponent(pathname.split("/")[1] ?? "");
  const secondary = account.endsWith(secondarySuffix);
  if (secondary) account = account.slice(0, -secondarySuffix.length);
  return { account: account || undefined, secondary, local };
}
