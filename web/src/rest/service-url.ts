// Recognizes URLs of the Table service, for interceptors between clients and the network (Service
// Worker, MSW, Playwright).

import { StoreError } from "../errors.ts";

// Matches every account of the service, and port 10002 (the emulator's) of any host.
const anyAccountUrl =
  /^https?:\/\/(?:[^/?#]+\.table\.core\.windows\.net(?::\d+)?|[^/?#]+:10002)(?:[/?#]|$)/i;

// Returns a pattern for URLs that begin with `baseUrl` or match it. Default: all accounts of the
// service and the emulator.
export function serviceUrlPattern(baseUrl?: string | RegExp): RegExp {
  if (baseUrl === undefined) return anyAccountUrl;
  if (typeof baseUrl !== "string") return baseUrl;
  if (!/^https?:\/\/./i.test(baseUrl)) {
    const given = JSON.stringify(baseUrl);
    throw new StoreError("ValidationFailed", `baseUrl is an absolute http(s) URL, not ${given}.`);
  }
  const { href } = new URL(baseUrl);
  const text = href.replace(/\/$/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${text}(?:[/?#]|$)`, "i");
}

// Returns whether a URL addresses this account. The account's name is in the host
// (<account>.table.<anything>). At the emulator's port and at `origin`, it may instead be the first
// segment of the path. At other origins, that path belongs to another application.
export function isAccountUrl(url: URL, account: string, origin: string): boolean {
  const names = [account.toLowerCase(), `${account.toLowerCase()}-secondary`];
  const [label = "", service] = url.hostname.split(".");
  if (service === "table") return names.includes(label);
  const inPath = url.port === "10002" || url.origin === origin;
  return inPath && names.includes(url.pathname.split("/")[1]?.toLowerCase() ?? "");
}
