// Any text as a key. Keys may not hold # / \ ? nor control characters; ordinary text stays as it is, and the order of texts (by
// UTF-16 unit, as the store has it) is the order of their keys. What keeps it: a forbidden character becomes the allowed
// one before it, with a mark that sorts after all that may follow that one otherwise.
//
//     #  /  ?  \         "~  .~  >~  [~
//     U+007F–U+009F      ~~ and one of 33 digits
//     U+0000–U+001F      two spaces and one of 32 digits: nothing allowed stands before them, so here it is the spaces that make way
//
// and so that none of it is ambiguous
//
//     " . > [ ~          get a } behind them where a character from } on follows
//     space              gets a ! behind it before another space, a control character, a !, or the end

import { invalidKeyError, requireKeyLength, requireText } from "./check.ts";

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVW"; // in ascending order
const escapes: ReadonlyMap<string, string> = new Map([
  ["#", '"~'],
  ["/", ".~"],
  ["?", ">~"],
  ["\\", "[~"],
]);

/**
 * Encodes text as a key, or part of one. Throws RangeError beyond 512 characters, and for an
 * unpaired surrogate.
 */
export function escapeKey(text: string): string {
  return requireKeyLength(escapeText(text));
}

/** Decodes a key that escapeKey made. Throws RangeError for other keys. */
export function unescapeKey(key: string): string {
  requireText(key, "A key");
  const text = key.replace(
    /"~|\.~|>~|\[~|~~([0-9A-W])| {2}([0-9A-V])|([".>[~])\}| !/g,
    unescapeSequence,
  );
  if (escapeText(text) !== key) throw invalidKeyError("escapeKey", key);
  return text;
}

export function escapeText(text: string): string {
  requireText(text, "The text of a key");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are escaped
  const escaped = /[#/?\\\x00-\x1f\x7f-\x9f]|[".>[~](?=[}-\uffff])| (?=[\x00-!]|$)/g;
  return text.replace(escaped, escapeCharacter);
}

function escapeCharacter(character: string): string {
  const unit = character.charCodeAt(0);
  if (unit < 0x20) return `  ${digits[unit]}`;
  if (unit >= 0x7f) return `~~${digits[unit - 0x7f]}`;
  return escapes.get(character) ?? character + (character === " " ? "!" : "}");
}

function unescapeSequence(code: string, high?: string, low?: string, plain?: string): string {
  if (high !== undefined) return String.fromCharCode(0x7f + digits.indexOf(high));
  if (low !== undefined) return String.fromCharCode(digits.indexOf(low));
  if (plain !== undefined) return plain;
  return code === " !" ? " " : String.fromCharCode(code.charCodeAt(0) + 1);
}
