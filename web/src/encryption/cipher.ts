// Properties to ciphertext and back. Each entity has a key of its own, which is stored with it, wrapped by the caller's:
//
//     <property>     Binary: 12 random bytes, then AES-256-GCM of the text in UTF-8, with [partitionKey, rowKey, name] as JSON authenticated
//                    beside it: a value can't be moved to another property or entity of a table
//                    unnoticed. An older one, or clear text, can take its place
//     _Encryption    String: { "v": 1, "key": <id of the caller's key>, "wrapped": <the entity's key by AES-KW, base64>, "names": […] }

import { base64, fromBase64 } from "../edm.ts";
import { StoreError } from "../errors.ts";
import type { TableEntity } from "../types.ts";

export interface EntityCipherOptions {
  /** Wraps the keys of entities: AES-KW, 256 bits, for wrapKey and unwrapKey. */
  key: CryptoKey;
  /** What the key is called; stored with what it wraps, so it can be found again. */
  keyId: string;
  /** The keys by other names, for entities that were written under them. */
  keyOf?: (keyId: string) => CryptoKey | undefined | Promise<CryptoKey | undefined>;
  /** What is encrypted: names, or a choice for each property. Strings only, and never keys. */
  properties: readonly string[] | ((partitionKey: string, rowKey: string, name: string) => boolean);
}

type Entity = Record<string, unknown> & { partitionKey?: string; rowKey?: string };

interface Info {
  v: 1;
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
  readonly #options: EntityCipherOptions;

  constructor(options: EntityCipherOptions) {
    this.#options = options;
  }

  /** The properties that are never in the clear, if they are named; undefined if they are chosen by a function. */
  get names(): readonly string[] | undefined {
    const { properties } = this.#options;
    return typeof properties === "function" ? undefined : properties;
  }

  /**
   * The entity as it is to be stored: by an insert or a replace, as a merge would leave values that were encrypted under another key. Throws TypeError for a
   * chosen property that is no string, RangeError for one that is too long or has half a surrogate pair.
   */
  async encrypt<T extends object>(entity: TableEntity<T>): Promise<TableEntity> {
    const { [infoProperty]: _, ...stored } = entity as TableEntity;
    const names = Object.keys(stored).filter((name) => this.#isChosen(stored, name));
    if (names.length === 0) return stored as TableEntity;
    const algorithm = { name: "AES-GCM", length: 256 };
    const key = await crypto.subtle.generateKey(algorithm, true, ["encrypt"]);
    for (const name of names) stored[name] = await encryptValue(key, stored, name);
    const { keyId } = this.#options;
    const wrapped = await crypto.subtle.wrapKey("raw", key, this.#options.key, "AES-KW");
    const info: Info = { v: 1, key: keyId, wrapped: base64(new Uint8Array(wrapped)), names };
    return { ...stored, [infoProperty]: JSON.stringify(info) } as TableEntity;
  }

  /**
   * The entity as it was before; one that was not encrypted as it is, and what is no Binary as it is. Throws StoreError DecryptionFailed if its key
   * is not known, or a ciphertext was changed. Needs keys and `_Encryption` if properties are selected.
   */
  async decrypt<T extends object>(entity: T): Promise<T> {
    const { [infoProperty]: text, ...clear } = entity as Entity;
    if (text === undefined || text === null) return entity;
    try {
      const { v, key: keyId, wrapped, names } = JSON.parse(String(text)) as Info;
      if (v !== 1) throw new Error(`Its version is ${String(v)}, and 1 is the only one known.`);
      const key = await this.#unwrap(keyId, wrapped);
      for (const name of names) {
        if (clear[name] instanceof Uint8Array) clear[name] = await decryptValue(key, clear, name);
      }
    } catch (error) {
      throw failed(clear, error);
    }
    return clear as T;
  }

  #isChosen(entity: Entity, name: string): boolean {
    if (system.has(name) || entity[name] === null || entity[name] === undefined) return false;
    const { properties } = this.#options;
    return typeof properties === "function"
      ? properties(String(entity.partitionKey), String(entity.rowKey), name)
      : properties.includes(name);
  }

  async #unwrap(keyId: string, wrapped: string): Promise<CryptoKey> {
    const { key, keyId: own, keyOf } = this.#options;
    const wrapping = keyId === own ? key : await keyOf?.(keyId);
    if (wrapping === undefined) throw new Error(`There is no key "${keyId}".`);
    const bytes = fromBase64(wrapped);
    return await crypto.subtle.unwrapKey("raw", bytes, wrapping, "AES-KW", "AES-GCM", false, [
      "decrypt",
    ]);
  }
}

async function encryptValue(key: CryptoKey, entity: Entity, name: string): Promise<Uint8Array> {
  const text = entity[name];
  if (typeof text !== "string") {
    throw new TypeError(`Only strings are encrypted; ${name} is a ${typeof text}.`);
  }
  const lone = text.search(/\p{Surrogate}/u);
  if (lone >= 0) {
    throw new RangeError(`${name} is not well-formed text: half a surrogate pair at ${lone}.`);
  }
  const plain = new TextEncoder().encode(text);
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const bytes = new Uint8Array(nonceBytes + plain.length + tagBytes);
  if (bytes.length > binaryBytesMax) {
    const most = binaryBytesMax - nonceBytes - tagBytes;
    throw new RangeError(`${name} has ${plain.length} bytes; at most ${most} can be encrypted.`);
  }
  const sealed = await crypto.subtle.encrypt(parameters(nonce, entity, name), key, plain);
  bytes.set(nonce);
  bytes.set(new Uint8Array(sealed), nonceBytes);
  return bytes;
}

async function decryptValue(key: CryptoKey, entity: Entity, name: string): Promise<string> {
  const bytes = new Uint8Array(entity[name] as Uint8Array); // a copy: it may be a view
  const nonce = bytes.subarray(0, nonceBytes);
  const sealed = bytes.subarray(nonceBytes);
  const plain = await crypto.subtle.decrypt(parameters(nonce, entity, name), key, sealed);
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(plain);
}

function parameters(iv: Uint8Array<ArrayBuffer>, entity: Entity, name: string): AesGcmParams {
  const place = JSON.stringify([entity.partitionKey, entity.rowKey, name]);
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(place) };
}

function failed({ partitionKey, rowKey }: Entity, cause: unknown): StoreError {
  const keys = `partitionKey ${JSON.stringify(partitionKey)} and rowKey ${JSON.stringify(rowKey)}`;
  const why =
    cause instanceof Error && cause.name === "Error"
      ? cause.message
      : "Its key is another one, or it was changed.";
  return new StoreError("DecryptionFailed", `The entity with ${keys} can't be decrypted. ${why}`, {
    cause,
  });
}
