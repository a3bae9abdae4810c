// The shapes of a page's rows: the columns that several rows have in common
// (core/rpc/LAYOUT.md).

import { column } from "./message-layout.ts";
import type { MessageReader } from "./message-reader.ts";

// `template` is an object of the shape: its copies start with all properties and stay in the
// engine's fast mode, whereas adding properties one by one to an empty object would not.
export interface RowShape {
  columns: Int32Array; // verbatim from the message, for comparison
  namesText: string; // verbatim from the message, for comparison
  names: string[];
  types: number[]; // hiddenColumn is added to the type of a column that is not returned
  template: Record<string, unknown>;
}

// A custom property written through REST may have the name of a system property. The system
// property wins, since concurrency control depends on it; the custom column is read and dropped.
export const hiddenColumn = 32;

const systemNames: Readonly<Record<number, string>> = {
  [column.etag]: "etag",
  [column.partitionKey]: "partitionKey",
  [column.rowKey]: "rowKey",
  [column.timestamp]: "timestamp",
};
const reservedNames: ReadonlySet<string> = new Set(Object.values(systemNames));

const cachedShapesMax = 1000;

// Reads shapes, and caches them across pages by their number in the store.
export class ShapeCache {
  readonly #shapes = new Map<number, RowShape>();

  clear(): void {
    this.#shapes.clear();
  }

  read(reader: MessageReader): RowShape {
    const hint = reader.readWord();
    const count = reader.readWord();
    const units = reader.readWord();
    const cached = hint === 0 ? undefined : this.#shapes.get(hint);
    if (cached !== undefined && isSameShape(cached, reader, count, units)) {
      reader.at += count;
      reader.textPosition += units;
      return cached;
    }
    const shape = decodeShape(reader, count, units);
    if (hint !== 0) {
      if (this.#shapes.size >= cachedShapesMax) this.#shapes.clear();
      this.#shapes.set(hint, shape);
    }
    return shape;
  }
}

function isSameShape(
  shape: RowShape,
  reader: MessageReader,
  count: number,
  units: number,
): boolean {
  const { columns, namesText } = shape;
  if (columns.length !== count || namesText.length !== units) return false;
  const { words, at } = reader;
  for (let c = 0; c < count; ++c) {
    if (columns[c] !== words[at + c]) return false;
  }
  return reader.text.startsWith(namesText, reader.textPosition);
}

function decodeShape(reader: MessageReader, count: number, units: number): RowShape {
  const columns = reader.words.slice(reader.at, reader.at + count);
  reader.at += count;
  const namesText = reader.readTextOfLength(units);
  const names: string[] = [];
  const types: number[] = [];
  const members: string[] = [];
  let position = 0;
  for (const word of columns) {
    const type = word >>> 24;
    const end = position + (word & 0xffffff);
    const name = systemNames[type] ?? namesText.slice(position, end);
    position = end;
    names.push(name);
    if (type < column.etag && reservedNames.has(name)) {
      types.push(type | hiddenColumn);
    } else {
      types.push(type);
      members.push(`${JSON.stringify(name)}:${placeholderJson(type)}`);
    }
  }
  // JSON.parse, because adding more than a dozen properties by computed name turns an object into a
  // dictionary, and because JSON.parse treats "__proto__" like any other name.
  const template = JSON.parse(`{${members.join(",")}}`);
  return { columns, namesText, names, types, template };
}

// Returns a placeholder of the JSON type that the values of a column have. The JavaScript engine
// then gives the field the right internal type from the first row.
function placeholderJson(type: number): string {
  switch (type) {
    case column.null:
    case column.binary:
    case column.dateTime:
    case column.guid:
    case column.int64:
      return "null";
    case column.boolean:
      return "false";
    case column.double:
      return "0.5";
    case column.int32:
      return "0";
    default:
      return '""';
  }
}
