// Decodes a page of rows into entities (core/rpc/LAYOUT.md).

import { base64, dateTimeText, doubleText } from "../edm/edm.ts";
import { BinaryValues } from "./binary-values.ts";
import { absentLength, column } from "./message-layout.ts";
import type { MessageReader } from "./message-reader.ts";
import { hiddenColumn, type RowShape, type ShapeCache } from "./row-shapes.ts";

export interface DecodeOptions {
  disableTypeConversion?: boolean; // every property becomes { value: text, type }
  // Copies each binary value separately, since the rows belong to different callers.
  copyBinaries?: boolean;
}

export interface EntityPage {
  rows: Record<string, unknown>[];
  next?: { partitionKey: string; rowKey: string };
}

const guidUnits = 36;
const noBinaries = new BinaryValues(new Uint8Array(0), 0, false);

// `response`: the message that the reader reads.
export function decodePage(
  reader: MessageReader,
  response: Uint8Array,
  cache: ShapeCache,
  options: DecodeOptions,
): EntityPage {
  const { binaryBytes } = reader;
  const binaries =
    binaryBytes === 0
      ? noBinaries
      : new BinaryValues(response, binaryBytes, options.copyBinaries === true);
  const rowCount = reader.readWord();
  const shapeCount = reader.readWord();
  const partitionKey = reader.readOptionalText();
  const rowKey = reader.readOptionalText();
  const shapes: RowShape[] = [];
  for (let s = 0; s < shapeCount; ++s) shapes.push(cache.read(reader));
  const readAll = options.disableTypeConversion === true ? readTypedRows : readRows;
  const page: EntityPage = { rows: readAll(reader, binaries, rowCount, shapes) };
  if (partitionKey !== undefined) page.next = { partitionKey, rowKey: rowKey ?? "" };
  return page;
}

function readRows(
  reader: MessageReader,
  binaries: BinaryValues,
  rowCount: number,
  shapes: readonly RowShape[],
): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = new Array(rowCount);
  const { text, words, doubles, longs } = reader;
  let p = reader.at;
  let t = reader.textPosition;
  let from = 0;
  let partition = "";
  for (let r = 0; r < rowCount; ++r) {
    const { names, types, template } = shapes[words[p++] as number] as RowShape;
    const row = { ...template };
    for (let c = 0; c < types.length; ++c) {
      const name = names[c] as string;
      switch (types[c]) {
        case column.string:
        case column.etag:
        case column.rowKey:
        case column.timestamp:
          from = t;
          t += words[p++] as number;
          row[name] = text.slice(from, t);
          break;
        case column.partitionKey: {
          const units = words[p++] as number;
          if (units !== absentLength) {
            partition = text.slice(t, t + units);
            t += units;
          }
          row[name] = partition;
          break;
        }
        case column.int32:
          row[name] = words[p++];
          break;
        case column.boolean:
          row[name] = words[p++] !== 0;
          break;
        case column.double:
          p += p & 1;
          row[name] = doubles[p >>> 1];
          p += 2;
          break;
        case column.int64:
          p += p & 1;
          row[name] = longs[p >>> 1];
          p += 2;
          break;
        case column.dateTime:
          p += p & 1;
          row[name] = new Date(doubles[p >>> 1] as number);
          p += 3;
          break;
        case column.guid:
          row[name] = { value: text.slice(t, t + guidUnits), type: "Guid" };
          t += guidUnits;
          break;
        case column.binary:
          row[name] = binaries.read(words[p++] as number);
          break;
        case column.null:
          break; // as in the template
        default:
          reader.at = p;
          reader.textPosition = t;
          readTyped(reader, binaries, (types[c] as number) & ~hiddenColumn);
          p = reader.at;
          t = reader.textPosition;
      }
    }
    rows[r] = row;
  }
  reader.at = p;
  reader.textPosition = t;
  return rows;
}

// Reads rows for disableTypeConversion: every property except the system properties becomes
// { value: text, type }.
function readTypedRows(
  reader: MessageReader,
  binaries: BinaryValues,
  rowCount: number,
  shapes: readonly RowShape[],
): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  let partition = "";
  for (let r = 0; r < rowCount; ++r) {
    const { names, types, template } = shapes[reader.readWord()] as RowShape;
    const row = { ...template };
    for (let c = 0; c < types.length; ++c) {
      const type = types[c] as number;
      if (type === column.partitionKey) {
        partition = reader.readOptionalText() ?? partition;
        row[names[c] as string] = partition;
      } else if (type >= column.etag && type < hiddenColumn) {
        row[names[c] as string] = reader.readText();
      } else {
        const value = readTyped(reader, binaries, type & ~hiddenColumn);
        if (type < hiddenColumn) row[names[c] as string] = value;
      }
    }
    rows.push(row);
  }
  return rows;
}

export function readTyped(
  reader: MessageReader,
  binaries: BinaryValues,
  type: number,
): { value: string; type: string } | null {
  switch (type) {
    case column.string:
      return { value: reader.readText(), type: "String" };
    case column.binary:
      return { value: base64(binaries.read(reader.readWord())), type: "Binary" };
    case column.boolean:
      return { value: String(reader.readWord() !== 0), type: "Boolean" };
    case column.dateTime: {
      const milliseconds = reader.readDouble();
      return { value: dateTimeText(milliseconds, reader.readWord()), type: "DateTime" };
    }
    case column.double:
      return { value: doubleText(reader.readDouble()), type: "Double" };
    case column.guid:
      return { value: reader.readTextOfLength(guidUnits), type: "Guid" };
    case column.int32:
      return { value: String(reader.readWord()), type: "Int32" };
    case column.int64:
      return { value: String(reader.readLong()), type: "Int64" };
    default:
      return null; // selected, but absent
  }
}
