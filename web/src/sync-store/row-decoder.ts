// Decodes rows whose custom properties may have the names of system properties. The client's
// entities cannot have such properties, but the rows of other clients can.

import { BinaryValues } from "../client/binary-values.ts";
import { column } from "../client/message-layout.ts";
import type { MessageReader } from "../client/message-reader.ts";
import { readTyped } from "../client/page-decoder.ts";
import { hiddenColumn, type RowShape, type ShapeCache } from "../client/row-shapes.ts";
import type { Ticks } from "../sync/hidden-tables.ts";
import type { Value } from "../sync/value.ts";
import type { RowKey } from "./hidden-keys.ts";
import type { BinaryProperties } from "./opaque-value.ts";
import { ticksOf } from "./timestamps.ts";

export interface HiddenRow extends RowKey {
  readonly properties: ReadonlyMap<string, Value>;
  /** Of a row of an opaque table: its Binary properties, which are not among the others. */
  readonly binary: BinaryProperties;
  readonly etag: string; // as the Timestamp says
  readonly timestamp: Ticks;
}

export interface RowPage {
  readonly rows: readonly HiddenRow[];
  readonly next: RowKey | undefined;
}

/**
 * Reads a page (core/rpc/LAYOUT.md) without a selection. `response`: the reader's message.
 * `isOpaque`: it is of an opaque table, whose Binary properties are large.
 */
export function decodeRowPage(
  reader: MessageReader,
  response: Uint8Array,
  cache: ShapeCache,
  isOpaque: boolean,
): RowPage {
  const binaries = new BinaryValues(response, reader.binaryBytes, false);
  const rowCount = reader.readWord();
  const shapeCount = reader.readWord();
  const partitionKey = reader.readOptionalText();
  const rowKey = reader.readOptionalText() ?? "";
  const shapes: RowShape[] = [];
  for (let s = 0; s < shapeCount; ++s) shapes.push(cache.read(reader));
  const rows: HiddenRow[] = [];
  for (let r = 0; r < rowCount; ++r) {
    const shape = shapes[reader.readWord()] as RowShape;
    const partitionBefore = rows.at(-1)?.partitionKey ?? "";
    rows.push(readRow(reader, binaries, shape, partitionBefore, isOpaque));
  }
  return { rows, next: partitionKey === undefined ? undefined : { partitionKey, rowKey } };
}

function readRow(
  reader: MessageReader,
  binaries: BinaryValues,
  { names, types }: RowShape,
  partitionBefore: string,
  isOpaque: boolean,
): HiddenRow {
  const row = { partitionKey: partitionBefore, rowKey: "", etag: "", timestamp: 0n };
  const properties = new Map<string, Value>();
  const binary = new Map<string, Uint8Array>();
  for (const [c, type] of types.entries()) {
    if (type === column.partitionKey)
      row.partitionKey = reader.readOptionalText() ?? partitionBefore;
    else if (type === column.rowKey) row.rowKey = reader.readText();
    else if (type === column.etag) row.etag = reader.readText();
    else if (type === column.timestamp) row.timestamp = ticksOf(reader.readText());
    else if (isOpaque && (type & ~hiddenColumn) === column.binary)
      binary.set(names[c] as string, binaries.read(reader.readWord()));
    else {
      const value = readTyped(reader, binaries, type & ~hiddenColumn);
      properties.set(names[c] as string, typedValue(value as Value));
    }
  }
  return { ...row, properties, binary };
}

/** readTyped() returns all values as text. */
function typedValue({ type, value }: Value): Value {
  if (type === "Int32" || type === "Double") return { type, value: Number(value) } as Value;
  if (type === "Boolean") return { type, value: String(value) === "true" } as Value;
  return { type, value } as Value;
}
