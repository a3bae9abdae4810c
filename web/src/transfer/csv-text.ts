// Records of comma-separated values (RFC 4180), whatever pieces the file comes in.
//
// Besides what the RFC has: lines may end with LF or CR alone; the separator is the first of , ; | and tab that stands in the
// first record outside quotes (a header's names hold none of them); and quotes inside an unquoted cell are text.

import { rowUnitsMax, tooLong } from "./rows.ts";

export interface CsvRecord {
  line: number;
  units: number;
  cells: string[];
  /** Which cells stood in quotes: an empty one is a text, and nothing is none. */
  quoted: boolean[];
  problem?: string;
}

type Place = "start" | "plain" | "quoted" | "closed";

export class CsvText {
  line = 1;
  broken = false;
  #separator: string | undefined;
  #signs = /[,;|\t\r\n]/g; // that end a cell
  #place: Place = "start";
  #record: CsvRecord = newRecord(1);
  #cell = "";
  #cr = false; // the last sign was one, so an LF is part of that line end
  #records: CsvRecord[] = [];

  feed(text: string): CsvRecord[] {
    for (let at = 0; at < text.length && !this.broken; ) {
      at = this.#place === "quoted" ? this.#takeQuoted(text, at) : this.#takeOutside(text, at);
    }
    this.#checkLength();
    return this.#taken();
  }

  end(): CsvRecord[] {
    if (!this.broken && this.#place === "quoted") {
      this.#break("A quote of this row is never closed.");
    } else if (!this.broken && (this.#place !== "start" || this.#record.cells.length > 0)) {
      this.#endRecord();
    }
    return this.#taken();
  }

  #taken(): CsvRecord[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  // Up to the next quote. Whether that one closes the cell, the sign behind it says.
  #takeQuoted(text: string, at: number): number {
    const quote = text.indexOf('"', at);
    const end = quote < 0 ? text.length : quote;
    this.#countLines(text, at, end);
    this.#add(text, at, end);
    if (quote < 0) return end;
    this.#place = "closed";
    this.#cr = false;
    return quote + 1;
  }

  // One sign that means something, with the text before it.
  #takeOutside(text: string, at: number): number {
    const sign = text[at] as string;
    if (this.#cr && sign === "\n") {
      this.#cr = false;
      return at + 1;
    }
    this.#cr = false;
    if (sign === '"' && this.#place === "start") {
      this.#place = "quoted";
      this.#record.quoted[this.#record.cells.length] = true;
      return at + 1;
    }
    if (sign === '"' && this.#place === "closed") {
      this.#add(text, at, at + 1);
      this.#place = "quoted";
      return at + 1;
    }
    if (sign === "\n" || sign === "\r") {
      this.#endRecord();
      this.#cr = sign === "\r";
      this.line += 1;
      this.#record.line = this.line;
      return at + 1;
    }
    if (this.#separates(sign)) {
      this.#endCell();
      return at + 1;
    }
    return this.#takePlain(text, at);
  }

  #takePlain(text: string, at: number): number {
    if (this.#place === "closed") {
      this.#record.problem ??= `There is text behind the closing quote of cell ${this.#record.cells.length + 1}.`;
    }
    this.#place = "plain";
    this.#signs.lastIndex = at;
    const end = this.#signs.exec(text)?.index ?? text.length;
    this.#add(text, at, end);
    return end;
  }

  #separates(sign: string): boolean {
    if (this.#separator === undefined && ",;|\t".includes(sign)) this.#decide(sign);
    return sign === this.#separator;
  }

  #decide(separator: string): void {
    this.#separator = separator;
    this.#signs = new RegExp(`[${separator}\\r\\n]`, "g");
  }

  #add(text: string, from: number, end: number): void {
    this.#cell += text.slice(from, end);
    this.#record.units += end - from;
  }

  #endCell(): void {
    this.#record.quoted[this.#record.cells.length] ??= false;
    this.#record.cells.push(this.#cell);
    this.#record.units += 1;
    this.#cell = "";
    this.#place = "start";
  }

  #endRecord(): void {
    this.#endCell();
    if (this.#separator === undefined) this.#decide(",");
    this.#records.push(this.#record);
    this.#record = newRecord(this.line);
  }

  // Line ends in quotes are text; CR LF is one of them.
  #countLines(text: string, from: number, end: number): void {
    for (let at = from; at < end; ++at) {
      const sign = text.charCodeAt(at);
      if (sign === 10) this.line += this.#cr ? 0 : 1;
      else if (sign === 13) this.line += 1;
      this.#cr = sign === 13;
    }
  }

  #checkLength(): void {
    if (!this.broken && this.#record.units > rowUnitsMax) this.#break(tooLong);
  }

  #break(problem: string): void {
    this.#records.push({ ...this.#record, problem });
    this.broken = true;
  }
}

function newRecord(line: number): CsvRecord {
  return { line, units: 0, cells: [], quoted: [] };
}

// ---- Writing ----------------------------------------------------------------------------------------------------------

const special = /[",\r\n]/;

/** One cell. Empty text stands in quotes, which tells it from none. */
export function cellOf(text: string): string {
  if (text === "") return '""';
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
