// Encrypts and decrypts properties of entities. Each entity has its own key. That key is wrapped
// (encrypted) by the caller's key and stored in the entity:
//
//     <property>     Binary: a nonce of 12 random bytes, then the text, encrypted by AES-256-GCM.
//     _Encryption    String: { "v": 2, "key": <id of the caller's key>,
//                    "wrapped": <the entity's key wrapped by AES-KW, base64>, "names": […] }
//
// The text is encoded in UTF-8. The additional authenticated data are the JSON of [table in lower
// case, partitionKey, rowKey, property name]. A value that was moved to another property, entity or
// table is therefore detected.
//
// Two changes are not detected: restoring an older value of the same property, and moving an entity
// to a table of the same name in another account. Version 1 did not authenticate the table and was
// never released; reading rejects it.

import { base64, fromBase64 } from "../edm/edm.ts";
import { StoreError } from "../errors.ts";
import type { TableEntity } from "../types.ts";
import { isBytes, isError } from "../util/platform-objects.ts";

export interface EntityCipherOptions {
  /**
   * The key that wraps the entities' keys: AES-KW, 256 bits, with the usages wrapKey and unwrapKey.
   */
  key: CryptoKey;
  /**
   * The name of `key`. It is stored in each entity, so that the right key is found when reading.
   */
  keyId: string;
  /** Returns keys by name, for entities that were written under other keys. */
  keyResolver?: (keyId: string) => CryptoKey | undefined | Promise<CryptoKey | undefined>;
  /**
   * Which properties are encrypted: a list of names, or a function that decides for each property.
   * Only strings can be encrypted, and never keys.
   */
  properties: readonly string[] | ((partitionKey: string, rowKey: string, name: string) => boolean);
  /**
   * What happens when a property that should be encrypted was read unencrypted. "reject" (default):
   * StoreError DecryptionFailed, because anyone who may write to the table could have put the value
   * there. "allow": the value is returned unchanged, for tables that have entities from before
   * encryption.
   */
  clearText?: "reject" | "allow";
}

type Entity = Record<string, unknown> & { partitionKey?: string; rowKey?: string };

interface EncryptionInfo {
  v: 2;
  key: string;
  wrapped: string;
  names: string[];
}

export const infoProperty = "_Encryption";
const system: ReadonlySet<string> = new Set(["partitionKey", "rowKey", "timestamp", "etag"]);
const nonceBytes = 12;
const tagBytes = 16;
const binaryBytesMax = 65_536;

export class EntityCipher {
  readonly #table: string;
  readonly #options: EntityCipherOptions;

  /** Creates a cipher for the entities of one table. */
  constructor(table: string, options: EntityCipherOptions) {
    this.#table = table.toLowerCase();
    this.#options = options;
  }

  /** Returns whether a property is encrypted. */
  isEncrypted(partitionKey: string, rowKey: string, name: string): boolean {
    if (system.has(name) || name === infoProperty) return false;
    const { properties } = this.#options;
    return typeof properties === "function"
      ? properties(partitionKey, rowKey, name)
      : properties.includes(name);
  }

  /**
   * Returns the entity with its chosen properties encrypted, for an insert or a replace. It must
   * not be merged: properties of the stored entity that the merge keeps were encrypted under
   * another key. Throws TypeError if a chosen property is not a string. Throws RangeError if it is
   * too long or has an unpaired surrogate.
   */
  async encrypt<T extends object>(entity: TableEntity<T>): Promise<TableEntity> {
    const { [infoProperty]: _, ...stored } = entity as TableEntity;
    const names = Object.keys(stored).filter((name) => this.#shouldBeEncrypted(stored, name));
    if (names.length === 0) return stored as TableEntity;
    const algorithm = { name: "AES-GCM", length: 256 };
    const key = await crypto.subtle.generateKey(algorithm, true, ["encrypt"]);
    for (const name of names) {
      stored[name] = await seal(
        key,
        this.#authenticatedContext(stored, name),
        plaintextBytes(name, stored[name]),
      );
    }
    const { keyId } = this.#options;
    const wrapped = await crypto.subtle.wrapKey("raw", key, this.#options.key, "AES-KW");
    const info: EncryptionInfo = {
      v: 2,
      key: keyId,
      wrapped: base64(new Uint8Array(wrapped)),
      names,
    };
    return { ...stored, [infoProperty]: JSON.stringify(info) } as TableEntity;
  }

  /**
   * Returns the entity with its properties decrypted. Values are { type, value } pairs if those of
   * the input are. Throws StoreError DecryptionFailed if the key is unknown, if a ciphertext was
   * changed, or if a value is unencrypted (see `clearText`). If the query selects properties, it
   * must include the keys and `_Encryption`.
   */
  async decrypt<T extends object>(entity: T): Promise<T> {
    const { [infoProperty]: stored, ...read } = entity as Entity;
    try {
      const info = parseEncryptionInfo(stored);
      const decryptedNames = info === undefined ? [] : await this.#decryptProperties(read, info);
      if (this.#options.clearText !== "allow") this.#rejectPlaintext(read, decryptedNames);
      return info === undefined ? entity : (read as T);
    } catch (error) {
      throw decryptionError(read, error);
    }
  }

  // Decrypts the properties of `read` in place. Returns their names.
  async #decryptProperties(
    read: Entity,
    { key: keyId, wrapped, names }: EncryptionInfo,
  ): Promise<string[]> {
    const key = await this.#unwrap(keyId, wrapped);
    const decryptedNames: string[] = [];
    for (const name of names) {
      const value = read[name];
      const sealed = bytesOf(value);
      if (sealed === undefined) continue;
      const text = await unseal(key, this.#authenticatedContext(read, name), sealed);
      read[name] = isTyped(value) ? { type: "String", value: text } : text;
      decryptedNames.push(name);
    }
    return decryptedNames;
  }

  #rejectPlaintext(read: Entity, decryptedNames: readonly string[]): void {
    const name = Object.keys(read).find(
      (one) => this.#shouldBeEncrypted(read, one) && !decryptedNames.includes(one),
    );
    if (name === undefined) return;
    throw new Error(`${name} is not encrypted, and should be.`);
  }

  #shouldBeEncrypted(entity: Entity, name: string): boolean {
    if (entity[name] === null || entity[name] === undefined) return false;
    return this.isEncrypted(String(entity.partitionKey), String(entity.rowKey), name);
  }

  // Returns the additional authenticated data of a property.
  #authenticatedContext({ partitionKey, rowKey }: Entity, name: string): string {
    return JSON.stringify([this.#table, partitionKey, rowKey, name]);
  }

  async #unwrap(keyId: string, wrapped: string): Promise<CryptoKey> {
    const { key, keyId: own, keyResolver } = this.#options;
    const wrapping = keyId === own ? key : await keyResolver?.(keyId);
    if (wrapping === undefined) throw new Error(`There is no key "${keyId}".`);
    const bytes = fromBase64(wrapped);
    return await crypto.subtle.unwrapKey("raw", bytes, wrapping, "AES-KW", "AES-GCM", false, [
      "decrypt",
    ]);
  }
}

// ---- Values ----------------------------------------------------------------------------------

function plaintextBytes(name: string, value: unknown): Uint8Array<ArrayBuffer> {
  const text = isTyped(value) && value.type === "String" ? value.value : value;
  if (typeof text !== "string") {
    const what = isTyped(value) ? `of type ${value.type}` : `a ${typeof value}`;
    throw new TypeError(`Only strings are encrypted; ${name} is ${what}.`);
  }
  const lone = text.search(/\p{Surrogate}/u);
  if (lone >= 0) {
    throw new RangeError(`${name} is not well-formed text: half a surrogate pair at ${lone}.`);
  }
  const plain = new TextEncoder().encode(text);
  const most = binaryBytesMax - nonceBytes - tagBytes;
  if (plain.length <= most) return plain;
  throw new RangeError(`${name} has ${plain.length} bytes; at most ${most} can be encrypted.`);
}

async function seal(key: CryptoKey, context: string, plain: Uint8Array<ArrayBuffer>) {
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const sealed = await crypto.subtle.encrypt(aesGcmParameters(nonce, context), key, plain);
  const bytes = new Uint8Array(nonceBytes + sealed.byteLength);
  bytes.set(nonce);
  bytes.set(new Uint8Array(sealed), nonceBytes);
  return bytes;
}

async function unseal(key: CryptoKey, context: string, bytes: Uint8Array<ArrayBuffer>) {
  const nonce = bytes.subarray(0, nonceBytes);
  const sealed = bytes.subarray(nonceBytes);
  const plain = await crypto.subtle.decrypt(aesGcmParameters(nonce, context), key, sealed);
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(plain);
}

function aesGcmParameters(iv: Uint8Array<ArrayBuffer>, context: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(context) };
}

// ---- What was read ---------------------------------------------------------------------------

// The form of values that were read with disableTypeConversion.
interface Typed {
  type: string;
  value: unknown;
}

function isTyped(value: unknown): value is Typed {
  return typeof value === "object" && value !== null && "type" in value && "value" in value;
}

function parseEncryptionInfo(stored: unknown): EncryptionInfo | undefined {
  const text = isTyped(stored) ? stored.value : stored;
  if (text === undefined || text === null) return undefined;
  const info = JSON.parse(String(text)) as EncryptionInfo;
  if (info.v === 2) return info;
  throw new Error(`Its version is ${String(info.v)}, and 2 is the only one known.`);
}

function bytesOf(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (isBytes(value)) return new Uint8Array(value); // a copy, because it may be a view
  return isTyped(value) && value.type === "Binary" ? fromBase64(String(value.value)) : undefined;
}

function decryptionError({ partitionKey, rowKey }: Entity, cause: unknown): StoreError {
  const keys = `partitionKey ${JSON.stringify(partitionKey)} and rowKey ${JSON.stringify(rowKey)}`;
  const why =
    isError(cause) && cause.name === "Error"
      ? cause.message
      : "Its key is another one, or it was changed.";
  return new StoreError("DecryptionFailed", `The entity with ${keys} can't be decrypted. ${why}`, {
    cause,
  });
}
