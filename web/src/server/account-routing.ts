// Selects the store for a request, by the account that the request's URL names.

import { namedAccount } from "../named-account.ts";
import type { RestEntryPoint } from "../rest/entry-point.ts";

export type EntryPointsByAccount = ReadonlyMap<string, RestEntryPoint>;

// Returns the entry point of the account that the URL names. For an unknown account, returns the
// first store's entry point, which rejects the request.
export function entryPointFor(entryPoints: EntryPointsByAccount, url: string): RestEntryPoint {
  const { name } = namedAccount(url, (account) => entryPoints.has(account));
  return entryPoints.get(name) ?? (entryPoints.values().next().value as RestEntryPoint);
}
