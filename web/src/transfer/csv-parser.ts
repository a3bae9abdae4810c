// Records of comma-separated values (RFC 4180), whatever pieces the file comes in.
//
// Besides what the RFC has: lines may end with LF or CR alone; the separator is the first of , ; | and tab that stands in the
// first record outside quotes (a header's names hold none of them); and quotes inside an unquoted cell are text.

import { rowUnitsMax, tooLong } from "./row-reader.ts";

export interface CsvRecord {
  line: number;
  units: number;
  cells: string[];
  /** Which cells stood in quotes: an empty one is a text, and nothing is none. */
  quoted: boolean[];
  problem?: string;
}

type ParserState = "start" | "plain" | "quoted" | "closed";

export class CsvParser {
  line = 1;
  broken = false;
  #separator: string | undefined;
  #delimiters = /[,;|\t\r\n]/g; // that end a cell
  #state: ParserState = "start";
  #record: CsvRecord = newRecord(1);
  #cell = "";
  #cr = false; // the last sign was one, so an LF is part of that line end
  #records: CsvRecord[] = [];

  feed(text: string): CsvRecord[] {
    for (let at = 0; at < text.length && !this.broken; ) {
      at = this.#state === "quoted" ? this.#parseQuoted(text, at) : this.#parseUnquoted(text, at);
    }
    this.#checkLength();
    return this.#drainRecords();
  }

  end(): CsvRecord[] {
    if (!this.broken && this.#state === "quoted") {
      this.#fail("A quote of this row is never closed.");
    } else if (!this.broken && (this.#state !== "start" || this.#record.cells.length > 0)) {
      this.#endRecord();
    }
    return this.#drainRecords();
  }

  #drainRecords(): CsvRecord[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  // Up to the next quote. Whether that one closes the cell, the sign behind it says.
  #parseQuoted(text: string, at: number): number {
    const quote = text.indexOf('"', at);
    const end = quote < 0 ? text.length : quote;
    this.#countLines(text, at, end);
    this.#appendToCell(text, at, end);
    if (quote < 0) return end;
    this.#state = "closed";
    this.#cr = false;
    return quote + 1;
  }

  // One sign that means something, with the text before it.
  #parseUnquoted(text: string, at: number): number {
    const character = text[at] as string;
    if (this.#cr && character === "\n") {
      this.#cr = false;
      return at + 1;
    }
    this.#cr = false;
    if (character === '"' && this.#state === "start") {
      this.#state = "quoted";
      this.#record.quoted[this.#record.cells.length] = true;
      return at + 1;
    }
    if (character === '"' && this.#state === "closed") {
      this.#appendToCell(text, at, at + 1);
      this.#state = "quoted";
      return at + 1;
    }
    if (character === "\n" || character === "\r") {
      this.#endRecord();
      this.#cr = character === "\r";
      this.line += 1;
      this.#record.line = this.line;
      return at + 1;
    }
    if (this.#isSeparator(character)) {
      this.#endCell();
      return at + 1;
    }
    return this.#parsePlain(text, at);
  }

  #parsePlain(text: string, at: number): number {
    if (this.#state === "closed") {
      this.#record.problem ??= `There is text behind the closing quote of cell ${this.#record.cells.length + 1}.`;
    }
    this.#state = "plain";
    this.#delimiters.lastIndex = at;
    const end = this.#delimiters.exec(text)?.index ?? text.length;
    this.#appendToCell(text, at, end);
    return end;
  }

  #isSeparator(character: string): boolean {
    if (this.#separator === undefined && ",;|\t".includes(character)) this.#setSeparator(character);
    return character === this.#separator;
  }

  #setSeparator(separator: string): void {
    this.#separator = separator;
    this.#delimiters = new RegExp(`[${separator}\\r\\n]`, "g");
  }

  #appendToCell(text: string, from: number, end: number): void {
    this.#cell += text.slice(from, end);
    this.#record.units += end - from;
  }

  #endCell(): void {
    this.#record.quoted[this.#record.cells.length] ??= false;
    this.#record.cells.push(this.#cell);
    this.#record.units += 1;
    this.#cell = "";
    this.#state = "start";
  }

  #endRecord(): void {
    this.#endCell();
    if (this.#separator === undefined) this.#setSeparator(",");
    this.#records.push(this.#record);
    this.#record = newRecord(this.line);
  }

  // Line ends in quotes are text; CR LF is one of them.
  #countLines(text: string, from: number, end: number): void {
    for (let at = from; at < end; ++at) {
      const character = text.charCodeAt(at);
      if (character === 10) this.line += this.#cr ? 0 : 1;
      else if (character === 13) this.line += 1;
      this.#cr = character === 13;
    }
  }

  #checkLength(): void {
    if (!this.broken && this.#record.units > rowUnitsMax) this.#fail(tooLong);
  }

  #fail(problem: string): void {
    this.#records.push({ ...this.#record, problem });
    this.broken = true;
  }
}

function newRecord(line: number): CsvRecord {
  return { line, units: 0, cells: [], quoted: [] };
}

// ---- Writing ---------------------------------------------------------------------------------

const needsQuotes = /[",\r\n]/;

/** One cell. Empty text stands in quotes, which tells it from none. */
export function formatCell(text: string): string {
  if (text === "") return '""';
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
