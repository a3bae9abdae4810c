// Keys of several parts: "Sales!empid!000123". The order of such keys is that of their parts, one after the other, since the ! between
// them sorts before all that a part is made of; a key sorts before those that go on after its last part.

import { invalidKeyError, requireKeyLength } from "./check.ts";
import { escapeText, unescapeKey } from "./escape.ts";

const separator = "!";

/** One key of these parts, of any text each. Throws RangeError beyond 512 characters. */
export function compositeKey(...parts: string[]): string {
  if (parts.length === 0) throw new RangeError("A composite key has at least one part.");
  return requireKeyLength(parts.map((part) => escapeSeparator(escapeText(part))).join(separator));
}

/** What the keys begin with that have these parts, and others after them: for prefixRange. */
export function compositePrefix(...parts: string[]): string {
  return parts.length === 0 ? "" : compositeKey(...parts) + separator;
}

/** The parts that compositeKey made the key of. Throws RangeError for any other key. */
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
    throw invalidKeyError("compositeKey", key);
  return parts;
}

// What sorts up to the separator makes way: a " before it, and so before itself.
function escapeSeparator(text: string): string {
  return text.replace(/[ !"]/g, '"$&');
}
