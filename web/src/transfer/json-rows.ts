// Readers of JSON files. NDJSON has one entity per line. JSON is an array of entities, either on
// its own or in an object like the service's response to a query ({ "value": […] }).

import { entityFromJson } from "./json-entity.ts";
import { parseObject, skipSpace, stringEnd } from "./json-text.ts";
import { InvalidRowError, type Row, type RowReader, rowUnitsMax, tooLong } from "./row-reader.ts";

export class NdjsonReader implements RowReader {
  line = 1;
  readonly hasFailed = false; // an invalid line does not affect the next one
  #rest = "";
  #skipping = false; // the current line is too long, and the rest of it is skipped

  feed(text: string): Row[] {
    const rows: Row[] = [];
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      this.#finish(this.#rest + text.slice(from, end), rows);
      from = end + 1;
    }
    if (!this.#skipping) this.#rest += text.slice(from);
    if (this.#rest.length > rowUnitsMax) {
      rows.push({ line: this.line, units: this.#rest.length, problem: tooLong });
      this.#rest = "";
      this.#skipping = true;
    }
    return rows;
  }

  end(): Row[] {
    const rows: Row[] = [];
    this.#finish(this.#rest, rows);
    return rows;
  }

  #finish(text: string, rows: Row[]): void {
    if (!this.#skipping && text.trim() !== "") rows.push(rowOf(text, this.line));
    this.#rest = "";
    this.#skipping = false;
    this.line += 1;
  }
}

function rowOf(text: string, line: number): Row {
  const units = text.length;
  try {
    if (units > rowUnitsMax) throw new InvalidRowError(tooLong);
    return { line, units, entity: entityFromJson(parseObject(text)) };
  } catch (error) {
    if (!(error instanceof InvalidRowError)) throw error;
    return { line, units, problem: error.message };
  }
}

type ParserState = "before" | "members" | "first" | "element" | "after" | "behind";

// Reads a JSON file. A state machine parses the text between entities; an entity is parsed when all
// of its text has arrived.
export class JsonReader implements RowReader {
  line = 1;
  hasFailed = false;
  #text = "";
  #at = 0;
  #state: ParserState = "before";
  #wrapped = false;
  #rows: Row[] = [];

  feed(text: string): Row[] {
    this.#text = this.#text.slice(this.#at) + text;
    this.#at = 0;
    while (!this.hasFailed && this.#step(false));
    if (this.#text.length - this.#at > rowUnitsMax) this.#fail(tooLong);
    return this.#takeRows();
  }

  end(): Row[] {
    while (!this.hasFailed && this.#step(true));
    if (!this.hasFailed && this.#state !== "behind")
      this.#fail("The array of entities is not complete.");
    return this.#takeRows();
  }

  #takeRows(): Row[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  // Parses the next token or entity. Returns false if more text is needed, or if the file has
  // ended.
  #step(last: boolean): boolean {
    this.#moveTo(skipSpace(this.#text, this.#at));
    if (this.#at === this.#text.length) return false;
    const sign = this.#text[this.#at] as string;
    switch (this.#state) {
      case "before":
        if (sign === "[") return this.#advance("first");
        this.#wrapped = true;
        return sign === "{"
          ? this.#advance("members")
          : this.#fail("Expected an array of entities.");
      case "members":
        return this.#member(last);
      case "first":
        if (sign === "]") return this.#advance("behind");
        return this.#element(last);
      case "element":
        return this.#element(last);
      case "after":
        if (sign === ",") return this.#advance("element");
        return sign === "]" ? this.#advance("behind") : this.#fail('Expected "," or "]".');
      case "behind":
        if (!this.#wrapped) return this.#fail("Unexpected text after the array of entities.");
        this.#moveTo(this.#text.length); // ignores the object's other members
        return false;
    }
  }

  // Parses members of the object around the array, up to the member "value".
  #member(last: boolean): boolean {
    const none = 'Expected "value" with an array of entities.';
    if (this.#text[this.#at] !== '"') return this.#fail(none);
    const nameEnd = stringEnd(this.#text, this.#at + 1);
    if (nameEnd === undefined) return this.#needMore(last);
    const colon = skipSpace(this.#text, nameEnd);
    const value = skipSpace(this.#text, colon + 1);
    if (value >= this.#text.length) return this.#needMore(last);
    if (this.#text[colon] !== ":") return this.#fail('Expected ":".');
    if (this.#text.slice(this.#at, nameEnd) === '"value"') {
      this.#moveTo(value);
      return this.#text[value] === "[" ? this.#advance("first") : this.#fail(none);
    }
    const end = valueEnd(this.#text, value, last);
    const comma = end === undefined ? this.#text.length : skipSpace(this.#text, end);
    if (comma >= this.#text.length) return this.#needMore(last);
    this.#moveTo(comma);
    return this.#text[comma] === "," ? this.#advance("members") : this.#fail(none);
  }

  #element(last: boolean): boolean {
    const end = valueEnd(this.#text, this.#at, last);
    if (end === undefined) return this.#needMore(last);
    if (end === this.#at) return this.#fail("Expected an entity.");
    this.#rows.push(rowOf(this.#text.slice(this.#at, end), this.line));
    this.#moveTo(end);
    this.#state = "after";
    return true;
  }

  // Skips the current character and enters a state.
  #advance(state: ParserState): true {
    this.#at += 1;
    this.#state = state;
    return true;
  }

  // Returns false, so that parsing continues when more text has arrived. If no more text can arrive
  // (`last`), reports that the file is incomplete.
  #needMore(last: boolean): false {
    return last ? this.#fail("The value that begins here is not complete.") : false;
  }

  #moveTo(at: number): void {
    for (let end = this.#text.indexOf("\n", this.#at); end >= 0 && end < at; ) {
      this.line += 1;
      end = this.#text.indexOf("\n", end + 1);
    }
    this.#at = at;
  }

  #fail(problem: string): false {
    this.#rows.push({ line: this.line, units: 0, problem });
    this.hasFailed = true;
    return false;
  }
}

// Returns where the value that begins at `at` ends, without validating the value. Returns undefined
// if the value may continue in the next chunk.
function valueEnd(text: string, at: number, last: boolean): number | undefined {
  const sign = text[at] as string;
  if (sign === '"') return stringEnd(text, at + 1);
  if (sign !== "{" && sign !== "[") {
    const rest = /[,\]}\s]/g;
    rest.lastIndex = at;
    return rest.exec(text)?.index ?? (last ? text.length : undefined);
  }
  const signs = /["[\]{}]/g;
  signs.lastIndex = at;
  let depth = 0;
  for (let found = signs.exec(text); found !== null; found = signs.exec(text)) {
    if (found[0] === '"') {
      const end = stringEnd(text, found.index + 1);
      if (end === undefined) return undefined;
      signs.lastIndex = end;
    } else {
      depth += found[0] === "{" || found[0] === "[" ? 1 : -1;
      if (depth === 0) return found.index + 1;
    }
  }
  return undefined;
}
