// The account that the REST entry point serves, from the options of openStore.

import { StoreError } from "../errors.ts";
import type { AccountOptions } from "../types.ts";

export interface Account {
  name: string;
  keys: Uint8Array[];
  authorize: boolean;
  bearerTokens: boolean;
  strictVersions: boolean;
  strictDates: boolean;
  limitComparisons: boolean;
  permissiveCors: boolean;
}

export type Hmac = (key: Uint8Array, message: Uint8Array) => Uint8Array;

export function accountFromOptions(options: AccountOptions, storeName: string): Account {
  const { name = storeName, keys = [], authorize = false } = options;
  if (typeof name !== "string" || !/^[A-Za-z0-9._-]{1,63}$/.test(name)) {
    throw invalid(
      `An account's name is 1 to 63 of A-Z a-z 0-9 . _ -, not ${JSON.stringify(name)}.`,
    );
  }
  if (authorize && keys.length === 0) throw invalid("account.authorize needs account.keys.");
  return {
    name,
    keys: keys.map(decodeKey),
    authorize,
    bearerTokens: options.bearerTokens ?? false,
    strictVersions: options.strictVersions ?? false,
    strictDates: options.strictDates ?? false,
    limitComparisons: options.limitComparisons ?? false,
    permissiveCors: options.permissiveCors ?? false,
  };
}

// Loads the signature function on demand, because most stores verify no signatures.
export async function loadHmac(): Promise<Hmac> {
  const { hmacSha256 } = await import("./hmac.ts");
  return hmacSha256;
}

function decodeKey(key: string): Uint8Array {
  try {
    return Uint8Array.from(atob(key), (character) => character.charCodeAt(0));
  } catch {
    // the message must not contain the key, which is a secret
    throw invalid("A key of account.keys is not base64.");
  }
}

function invalid(message: string): StoreError {
  return new StoreError("ValidationFailed", message);
}
