// Keys that consist of several parts: "Sales!empid!000123". They sort by their first part, then by
// the second, and so on. This works because the separator ! sorts before every character of an
// encoded part. A key sorts before longer keys that begin with it.

import { keyDecodeError, requireKeyLength } from "./check.ts";
import { escapeKeyCharacters, unescapeKey } from "./escape.ts";

const separator = "!";

/**
 * Returns one key for these parts, each of which may be any text. Throws RangeError if the key has
 * more than 512 characters.
 */
export function compositeKey(...parts: string[]): string {
  if (parts.length === 0) throw new RangeError("A composite key has at least one part.");
  return requireKeyLength(
    parts.map((part) => escapeSeparator(escapeKeyCharacters(part))).join(separator),
  );
}

/** Returns the prefix of all keys that begin with these parts, for prefixRange. */
export function compositePrefix(...parts: string[]): string {
  return parts.length === 0 ? "" : compositeKey(...parts) + separator;
}

/** Returns the parts of a key from compositeKey(). Throws RangeError for other keys. */
export function parseCompositeKey(key: string): string[] {
  const parts: string[] = [];
  let part = "";
  for (const [, quoted, other] of `${key}!`.matchAll(/"(.)|(.)/gs)) {
    if (other === separator) {
      parts.push(unescapeKey(part));
      part = "";
    } else {
      part += quoted ?? other;
    }
  }
  if (parts.length === 0 || compositeKey(...parts) !== key)
    throw keyDecodeError("compositeKey", key);
  return parts;
}

// Puts the escape character (") before every character that sorts before or equal to the separator,
// and before every escape character.
function escapeSeparator(text: string): string {
  return text.replace(/[ !"]/g, '"$&');
}
