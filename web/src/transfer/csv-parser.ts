// Parses comma-separated values (RFC 4180) into records, and formats them. The text can be divided
// into any chunks.
//
// Extensions to the RFC: a line may end with LF or CR alone. The separator is , ; | or tab: the one
// that first occurs outside quotes in the first record. Quotes inside an unquoted cell are text.

import { rowUnitsMax, tooLong } from "./row-reader.ts";

export interface CsvRecord {
  line: number;
  units: number;
  cells: string[];
  /**
   * Which cells were in quotes. An empty cell in quotes is an empty text; an empty cell without
   * quotes means that there is no value.
   */
  quoted: boolean[];
  problem?: string;
}

type ParserState = "start" | "plain" | "quoted" | "closed";

export class CsvParser {
  line = 1;
  hasFailed = false;
  #separator: string | undefined;
  #delimiters = /[,;|\t\r\n]/g; // the characters that end a cell
  #state: ParserState = "start";
  #record: CsvRecord = newRecord(1);
  #cell = "";
  #cr = false; // the last character was CR, so a following LF belongs to the same line end
  #records: CsvRecord[] = [];

  feed(text: string): CsvRecord[] {
    for (let at = 0; at < text.length && !this.hasFailed; ) {
      at = this.#state === "quoted" ? this.#parseQuoted(text, at) : this.#parseUnquoted(text, at);
    }
    this.#checkLength();
    return this.#drainRecords();
  }

  end(): CsvRecord[] {
    if (!this.hasFailed && this.#state === "quoted") {
      this.#fail("A quoted cell of this row is not closed.");
    } else if (!this.hasFailed && (this.#state !== "start" || this.#record.cells.length > 0)) {
      this.#endRecord();
    }
    return this.#drainRecords();
  }

  #drainRecords(): CsvRecord[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  // Parses up to the next quote. The character after it decides whether the quote closes the cell.
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

  // Parses one special character, or plain text up to the next one.
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
      const cell = this.#record.cells.length + 1;
      this.#record.problem ??= `There is text after the closing quote of cell ${cell}.`;
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

  // Counts the line ends in quoted text. CR LF counts as one.
  #countLines(text: string, from: number, end: number): void {
    for (let at = from; at < end; ++at) {
      const character = text.charCodeAt(at);
      if (character === 10) this.line += this.#cr ? 0 : 1;
      else if (character === 13) this.line += 1;
      this.#cr = character === 13;
    }
  }

  #checkLength(): void {
    if (!this.hasFailed && this.#record.units > rowUnitsMax) this.#fail(tooLong);
  }

  #fail(problem: string): void {
    this.#records.push({ ...this.#record, problem });
    this.hasFailed = true;
  }
}

function newRecord(line: number): CsvRecord {
  return { line, units: 0, cells: [], quoted: [] };
}

// ---- Writing ---------------------------------------------------------------------------------

const needsQuotes = /[",\r\n]/;

/** Formats a cell. Empty text gets quotes, because an empty cell without quotes means no value. */
export function formatCell(text: string): string {
  if (text === "") return '""';
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
