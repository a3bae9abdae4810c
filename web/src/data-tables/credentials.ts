// Credentials with the official names and shapes. They are recognized by shape, so objects of the
// official classes work too.

import type { Credential, NamedKeyCredential, SASCredential, TokenCredential } from "./types.ts";

/** The name of an account and one of its keys. */
export class AzureNamedKeyCredential implements NamedKeyCredential {
  #name: string;
  #key: string;

  constructor(name: string, key: string) {
    if (!name || !key) throw new TypeError("name and key must be non-empty strings");
    this.#name = name;
    this.#key = key;
  }

  get name(): string {
    return this.#name;
  }

  get key(): string {
    return this.#key;
  }

  update(newName: string, newKey: string): void {
    if (!newName || !newKey) throw new TypeError("newName and newKey must be non-empty strings");
    this.#name = newName;
    this.#key = newKey;
  }
}

/** A shared access signature, as returned by generateTableSas and generateAccountSas. */
export class AzureSASCredential implements SASCredential {
  #signature: string;

  constructor(signature: string) {
    requireSignature(signature);
    this.#signature = signature;
  }

  get signature(): string {
    return this.#signature;
  }

  update(newSignature: string): void {
    requireSignature(newSignature);
    this.#signature = newSignature;
  }
}

function requireSignature(signature: string): void {
  if (!signature) throw new Error("shared access signature must be a non-empty string");
}

export function isNamedKeyCredential(value: unknown): value is NamedKeyCredential {
  const { name, key } = (value ?? {}) as { name?: unknown; key?: unknown };
  return typeof name === "string" && typeof key === "string";
}

export function isSASCredential(value: unknown): value is SASCredential {
  return typeof (value as { signature?: unknown } | null | undefined)?.signature === "string";
}

// Older key credentials have both `signRequest` and a `getToken` without parameters. They are not
// token credentials.
export function isTokenCredential(value: unknown): value is TokenCredential {
  const { getToken, signRequest } = (value ?? {}) as { getToken?: unknown; signRequest?: unknown };
  return typeof getToken === "function" && (signRequest === undefined || getToken.length > 0);
}

export function isCredential(value: unknown): value is Credential {
  return isNamedKeyCredential(value) || isSASCredential(value) || isTokenCredential(value);
}
