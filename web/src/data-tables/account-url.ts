// Whose account a client's URL means.

export interface AccountUrl {
  // undefined: the URL names no account.
  account: string | undefined;
  // The address of the account's copy, which is read only.
  secondary: boolean;
  // Nobody but this machine is asked.
  local: boolean;
}

const secondarySuffix = "-secondary";

// The first label of a host like *.table.*; of an IP address or localhost the first segment of the path.
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
