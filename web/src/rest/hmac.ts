// HMAC-SHA256, synchronous, which WebCrypto's is not. The package carries the library's code (web/build.mjs).

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  return hmac(sha256, key, message);
}
