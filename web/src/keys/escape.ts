// Encodes any text as a key, and decodes it. A key must not contain # / \ ? or control characters;
// all other text stays unchanged. Keys sort in the order of their texts (by UTF-16 unit, the
// store's order). To achieve this, a forbidden character is encoded as the allowed character that
// sorts just before it, followed by ~. The ~ sorts after everything that may otherwise follow that
// character.
//
//     #  /  ?  \         "~  .~  >~  [~
//     U+007F–U+009F      ~~ and one of 33 digits
//     U+0000–U+001F      two spaces and one of 32 digits: no allowed character sorts before these
//
// Two rules make the encoding unambiguous:
//
//     " . > [ ~          if a character from } on follows, } is inserted between them
//     space              if a space, a control character, ! or the end of the text follows, ! is
//                        inserted after the space

import { keyDecodeError, requireKeyLength, requireText } from "./check.ts";

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVW"; // in ascending order
const escapes: ReadonlyMap<string, string> = new Map([
  ["#", '"~'],
  ["/", ".~"],
  ["?", ">~"],
  ["\\", "[~"],
]);

/**
 * Encodes text as a key or as part of one. Throws RangeError if the result has more than 512
 * characters, or if the text has an unpaired surrogate.
 */
export function escapeKey(text: string): string {
  return requireKeyLength(escapeKeyCharacters(text));
}

/** Decodes a key from escapeKey(). Throws RangeError for other keys. */
export function unescapeKey(key: string): string {
  requireText(key, "A key");
  const text = key.replace(
    /"~|\.~|>~|\[~|~~([0-9A-W])| {2}([0-9A-V])|([".>[~])\}| !/g,
    unescapeSequence,
  );
  if (escapeKeyCharacters(text) !== key) throw keyDecodeError("escapeKey", key);
  return text;
}

export function escapeKeyCharacters(text: string): string {
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
