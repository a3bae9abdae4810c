// Synchronous HMAC-SHA256; WebCrypto's is asynchronous. web/build.mjs bundles the library's code.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  return hmac(sha256, key, message);
}
