// The properties of an entity as sync compares them: by name, Edm type and value.

import { isSameValue, type Value } from "./value.ts";

/** Without PartitionKey, RowKey and Timestamp. */
export type Properties = ReadonlyMap<string, Value>;

/** Undefined stands for an absent entity. */
export function areSameProperties(a: Properties | undefined, b: Properties | undefined): boolean {
  if (a === undefined || b === undefined || a === b) return a === b;
  if (a.size !== b.size) return false;
  for (const [name, value] of a) if (!isSameValue(value, b.get(name))) return false;
  return true;
}

// The names of the properties that hold the wrapped key of client-side encryption.
const encryptionMetadata = ["_ClientEncryptionMetadata1", "_ClientEncryptionMetadata2"];

/**
 * Returns whether the entity has client-side-encrypted properties. Its properties are one unit:
 * ciphertext of one version cannot be decrypted with the metadata of another.
 */
export function isEncrypted(properties: Properties | undefined): boolean {
  return encryptionMetadata.some((name) => properties?.has(name));
}
