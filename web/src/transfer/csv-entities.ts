// Reads and writes entities as CSV. Each property has a second column for its type (FORMATS.md).

import type { StoreError } from "../errors.ts";
import type { EdmTypes, ExportOptions } from "../types.ts";
import { CsvParser, type CsvRecord, formatCell } from "./csv-parser.ts";
import type { TypedProperty } from "./json-entity.ts";
import type { TransferDependencies } from "./option-checks.ts";
import {
  type FileEntity,
  InvalidRowError,
  isGeneratedProperty,
  keyNames,
  newEntity,
  parseEdmType,
  type Row,
  type RowReader,
} from "./row-reader.ts";

const typeSuffix = "@type";

// ---- Reading ---------------------------------------------------------------------------------

interface Column {
  name: string;
  at: number;
  typeAt: number | undefined;
  fixed: EdmTypes | undefined; // the type of cells without a type
  last: EdmTypes | undefined; // the last type that a cell of this column had
}

interface Header {
  cells: number;
  partitionKey: number;
  rowKey: number;
  columns: Column[];
}

export class CsvReader implements RowReader {
  readonly #text = new CsvParser();
  readonly #types: Readonly<Record<string, EdmTypes>>;
  #header: Header | undefined;
  #headerFailed = false;

  constructor(types: Readonly<Record<string, EdmTypes>> = {}) {
    this.#types = types;
  }

  get line(): number {
    return this.#text.line;
  }

  get hasFailed(): boolean {
    return this.#headerFailed || this.#text.hasFailed;
  }

  feed(text: string): Row[] {
    return this.#rowsOf(this.#text.feed(text));
  }

  end(): Row[] {
    const rows = this.#rowsOf(this.#text.end());
    if (this.#header === undefined && !this.hasFailed) {
      this.#headerFailed = true;
      rows.push({ line: 1, units: 0, problem: "There is no header." });
    }
    return rows;
  }

  #rowsOf(records: readonly CsvRecord[]): Row[] {
    const rows: Row[] = [];
    for (const record of records) {
      if (this.#headerFailed) break;
      if (isBlank(record)) continue;
      const { line, units } = record;
      try {
        if (record.problem !== undefined) throw new InvalidRowError(record.problem);
        if (this.#header === undefined) this.#header = headerOf(record.cells, this.#types);
        else rows.push({ line, units, entity: entityOf(record, this.#header) });
      } catch (error) {
        if (!(error instanceof InvalidRowError)) throw error;
        this.#headerFailed = this.#header === undefined;
        rows.push({ line, units, problem: error.message });
      }
    }
    return rows;
  }
}

function isBlank({ cells, quoted, problem }: CsvRecord): boolean {
  return cells.length === 1 && cells[0] === "" && quoted[0] === false && problem === undefined;
}

function headerOf(cells: readonly string[], types: Readonly<Record<string, EdmTypes>>): Header {
  const columnIndexes = new Map<string, number>();
  for (const [at, name] of cells.entries()) {
    if (name === "") throw new InvalidRowError(`Column ${at + 1} has no name.`);
    if (columnIndexes.has(name)) throw new InvalidRowError(`There are two columns ${name}.`);
    columnIndexes.set(name, at);
  }
  const header: Header = {
    cells: cells.length,
    partitionKey: keyColumn(columnIndexes, "partitionKey"),
    rowKey: keyColumn(columnIndexes, "rowKey"),
    columns: [],
  };
  for (const [name, at] of columnIndexes) {
    if (name.endsWith(typeSuffix)) {
      const property = name.slice(0, -typeSuffix.length);
      if (!columnIndexes.has(property))
        throw new InvalidRowError(`The column ${name} has no matching property.`);
    } else if (!isGeneratedProperty(name) && !keyNames.has(name)) {
      const typeAt = columnIndexes.get(name + typeSuffix);
      const fixed = Object.hasOwn(types, name) ? types[name] : undefined;
      header.columns.push({ name, at, typeAt, fixed, last: undefined });
    }
  }
  return header;
}

function keyColumn(
  columnIndexes: ReadonlyMap<string, number>,
  key: "partitionKey" | "rowKey",
): number {
  const names = [...keyNames.keys()].filter((name) => keyNames.get(name) === key);
  const given = names.filter((name) => columnIndexes.has(name));
  if (given.length > 1)
    throw new InvalidRowError(`The columns ${given.join(" and ")} are the same key.`);
  const place = columnIndexes.get(given[0] ?? "");
  if (place === undefined) throw new InvalidRowError(`There is no column ${names[0]}.`);
  return place;
}

function entityOf({ cells, quoted }: CsvRecord, header: Header): FileEntity {
  if (cells.length !== header.cells) {
    throw new InvalidRowError(`The row has ${cells.length} cells, the header ${header.cells}.`);
  }
  const entity = newEntity(cells[header.partitionKey] as string, cells[header.rowKey] as string);
  for (const column of header.columns) {
    const value = cells[column.at] as string;
    const typeText = column.typeAt === undefined ? "" : (cells[column.typeAt] as string);
    if (typeText === "" && value === "" && quoted[column.at] === false) continue;
    const type = typeOf(column, typeText);
    if (type === undefined) continue;
    entity[column.name] = { type, value: type === "Boolean" ? value.toLowerCase() : value };
  }
  return entity;
}

// Returns the type of a cell. Returns undefined for Null: the entity does not have the property.
function typeOf(column: Column, text: string): EdmTypes | undefined {
  if (text === "") return column.fixed ?? column.last ?? "String";
  if (text === "Null" || text === "Edm.Null") return undefined;
  const type = parseEdmType(text);
  if (type === undefined) {
    throw new InvalidRowError(
      `${column.name}${typeSuffix} is ${JSON.stringify(text)}, which is not a type.`,
    );
  }
  column.last = type;
  return type;
}

// ---- Writing ---------------------------------------------------------------------------------

const systemColumns: readonly (readonly [name: string, property: string])[] = [
  ["PartitionKey", "partitionKey"],
  ["RowKey", "rowKey"],
  ["Timestamp", "timestamp"],
];

const lineEnd = "\r\n";

const numbers: ReadonlySet<EdmTypes> = new Set<EdmTypes>(["Int32", "Int64", "Double"]);

const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/;

// Formats text so that a spreadsheet does not run it as a formula (ExportOptions.safeCells).
function formatSafeCell(text: string): string {
  return formatCell(formulaStart.test(text) ? `'${text}` : text);
}

/**
 * Formats rows as CSV. `names`: the properties to write. `select`: the selected properties;
 * undefined: all.
 */
export class CsvWriter {
  readonly #system: readonly (readonly [name: string, property: string])[];
  readonly #names: readonly string[];
  readonly #known: ReadonlySet<string>;
  readonly #typed: boolean;
  readonly #formatText: (text: string) => string;
  readonly #newError: (message: string, hint: string) => StoreError;

  constructor(
    names: readonly string[],
    select: ReadonlySet<string> | undefined,
    { typed = true, safeCells = false }: Pick<ExportOptions, "typed" | "safeCells">,
    { StoreError }: Pick<TransferDependencies, "StoreError">,
  ) {
    this.#newError = (message, hint) => new StoreError("ValidationFailed", message, { hint });
    this.#system = systemColumns.filter(
      ([name, property]) => select === undefined || select.has(name) || select.has(property),
    );
    this.#names = names;
    this.#known = new Set([...names, ...systemColumns.map(([, property]) => property), "etag"]);
    this.#typed = typed;
    this.#formatText = safeCells ? formatSafeCell : formatCell;
  }

  header(): string {
    const properties = this.#names.flatMap((name) =>
      this.#typed ? [name, name + typeSuffix] : [name],
    );
    return (
      [...this.#system.map(([name]) => name), ...properties].map(formatCell).join(",") + lineEnd
    );
  }

  /** Formats a row. Throws StoreError if CSV cannot represent the entity. */
  row(entity: Readonly<Record<string, unknown>>): string {
    const cells = this.#system.map(([, property]) => this.#formatText(entity[property] as string));
    for (const name of this.#names) {
      const property = (entity[name] ?? null) as TypedProperty;
      cells.push(property === null ? "" : this.#value(property));
      if (this.#typed) cells.push(property === null ? "" : property.type);
    }
    for (const name in entity) if (!this.#known.has(name)) throw this.#isNew(name);
    const text = cells.join(",") + lineEnd;
    if (/\p{Surrogate}/u.test(text)) throw this.#notText(entity);
    return text;
  }

  #value({ type, value }: NonNullable<TypedProperty>): string {
    return numbers.has(type) ? formatCell(value) : this.#formatText(value);
  }

  #isNew(name: string): StoreError {
    return this.#newError(
      `The property ${name} was added while the table was exported, ` +
        "so the header does not have it.",
      "Export the table again, or name the properties with select.",
    );
  }

  #notText({ partitionKey, rowKey }: Readonly<Record<string, unknown>>): StoreError {
    return this.#newError(
      `The entity with partitionKey ${JSON.stringify(partitionKey)} and rowKey ` +
        `${JSON.stringify(rowKey)} has text with an unpaired surrogate, which CSV cannot hold.`,
      "Export the table as JSON.",
    );
  }
}
