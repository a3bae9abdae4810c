// Parses one JSON object and keeps the text of its numbers. JSON.parse would lose information: 3.0
// is a Double, and an Int64 can have more digits than a JavaScript number.

import { InvalidRowError } from "./row-reader.ts";

export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Json = string | boolean | null | NumberText | JsonObject;
export type JsonObject = Map<string, Json>;

const depthMax = 2; // an entity, and in it a property value with its type

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON requires them escaped, so JSON.parse must see them
const escaped = /[\\\u0000-\u001f]/;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const word = /true|false|null/y;
const words: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

/** Parses an object whose values are scalars or { type, value } pairs. Throws InvalidRowError. */
export function parseObject(text: string): JsonObject {
  const reader = new Reader(text);
  const object = reader.object(1);
  reader.end();
  return object;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  object(depth: number): JsonObject {
    const members: JsonObject = new Map();
    this.#expect("{");
    if (this.#accept("}")) return members;
    do {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') this.#unexpected("a name in quotes");
      const name = this.#string();
      if (members.has(name)) throw new InvalidRowError(`${JSON.stringify(name)} occurs twice.`);
      this.#expect(":");
      members.set(name, this.#value(depth));
    } while (this.#accept(","));
    this.#expect("}");
    return members;
  }

  end(): void {
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#unexpected("the end of the entity");
  }

  #value(depth: number): Json {
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === '"') return this.#string();
    if (first === "{") {
      if (depth === depthMax)
        throw new InvalidRowError("A property cannot contain nested objects.");
      return this.object(depth + 1);
    }
    if (first === "[") throw new InvalidRowError("A property cannot be an array.");
    const digits = this.#match(number);
    if (digits !== undefined) return new NumberText(digits);
    const name = this.#match(word);
    if (name === undefined) this.#unexpected("a value");
    return words[name] as boolean | null;
  }

  #string(): string {
    const from = this.#at;
    const end = stringEnd(this.#text, from + 1);
    if (end === undefined) throw new InvalidRowError("A string is not closed.");
    this.#at = end;
    const inside = this.#text.slice(from + 1, end - 1);
    if (!escaped.test(inside)) return inside;
    try {
      return JSON.parse(`"${inside}"`) as string;
    } catch {
      throw new InvalidRowError(`The string at column ${from + 1} is not valid JSON.`);
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return undefined;
    this.#at += found.length;
    return found;
  }

  #skipSpace(): void {
    this.#at = skipSpace(this.#text, this.#at);
  }

  #accept(sign: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#accept(sign)) this.#unexpected(JSON.stringify(sign));
  }

  #unexpected(expected: string): never {
    const found = this.#text.slice(this.#at, this.#at + 10);
    const what = found === "" ? "the end" : JSON.stringify(found);
    throw new InvalidRowError(`Invalid JSON: expected ${expected} before ${what}.`);
  }
}

/** Returns the position of the first character at or after `at` that is not white space. */
export function skipSpace(text: string, at: number): number {
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return at;
    at += 1;
  }
}

/**
 * Returns the position after the closing quote of a string whose content begins at `at`. Returns
 * undefined if there is no closing quote.
 */
export function stringEnd(text: string, at: number): number | undefined {
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return undefined;
    let backslashes = 0;
    while (quote - 1 - backslashes >= at && text[quote - 1 - backslashes] === "\\") ++backslashes;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}
