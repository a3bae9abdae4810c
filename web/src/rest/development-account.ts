// The account of the emulator, which `UseDevelopmentStorage=true` in a connection string stands
// for. Mock stores and the server serve it by default.

import type { AccountOptions } from "../types.ts";

export const developmentName = "devstoreaccount1";

// The emulator's key is public.
export const developmentKey =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

// Returns a connection string for the account at `endpoint`.
export function connectionStringOf(name: string, key: string, endpoint: string): string {
  const scheme = endpoint.slice(0, endpoint.indexOf(":"));
  return `DefaultEndpointsProtocol=${scheme};AccountName=${name};AccountKey=${key};TableEndpoint=${endpoint};`;
}

// Returns the account of a mock store with this name. `account` takes precedence.
export function mockAccount(storeName: string, account: AccountOptions = {}): AccountOptions {
  const { name = storeName } = account;
  if (name !== developmentName) return { ...account, name };
  return { keys: [developmentKey], permissiveCors: true, ...account, name };
}
