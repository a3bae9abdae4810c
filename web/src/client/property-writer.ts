// Writes the values of an entity's properties into an RPC write message.

import { builtinKind, edmTypeNumbers, unsupportedValueError } from "../edm/edm.ts";
import type { EdmTypes } from "../types.ts";
import { formBoolean, formNumber, formText, formUnsupported } from "./message-layout.ts";
import type { MessageWriter } from "./message-writer.ts";

// Writes the value into the property record at the writer's next word; the caller writes the name.
// Returns false if the value is null or undefined.
export function putValue(
  writer: MessageWriter,
  value: unknown,
  name: string,
  types: Readonly<Record<string, EdmTypes | undefined>> | undefined,
  keys: { partitionKey: string; rowKey: string },
): boolean {
  switch (typeof value) {
    case "string":
      putTextPayload(writer, edmTypeNumbers.String, value);
      return true;
    case "number": {
      if (types !== undefined && Object.hasOwn(types, name)) {
        const type = types[name];
        if (type !== undefined) return putTyped(writer, type, value);
      }
      if ((value | 0) === value) putInt32(writer, edmTypeNumbers.Int32, value);
      else putDouble(writer, edmTypeNumbers.Double, value);
      return true;
    }
    case "boolean":
      putInt32(writer, edmTypeNumbers.Boolean, value ? 1 : 0);
      return true;
    case "bigint":
      putBigint(writer, edmTypeNumbers.Int64, value);
      return true;
    case "object":
      switch (builtinKind(value as object)) {
        case "bytes":
          putBytes(writer, value as Uint8Array);
          return true;
        case "date":
          putDate(writer, edmTypeNumbers.DateTime, value as Date);
          return true;
      }
      {
        const pair = value as { type?: unknown; value?: unknown };
        if (pair.type !== undefined && pair.value !== undefined) {
          return putTyped(writer, pair.type, pair.value);
        }
      }
  }
  throw unsupportedValueError(value, name, keys.partitionKey, keys.rowKey);
}

function putInt32(writer: MessageWriter, typeAndForm: number, value: number): void {
  writer.words[writer.at + 1] = typeAndForm;
  writer.words[writer.at + 2] = value;
  writer.words[writer.at + 3] = 0;
}

function putDouble(writer: MessageWriter, typeAndForm: number, value: number): void {
  writer.words[writer.at + 1] = typeAndForm;
  writer.doubles[(writer.at >> 1) + 1] = value;
}

function putTextPayload(writer: MessageWriter, typeAndForm: number, value: string): void {
  putInt32(writer, typeAndForm, value.length);
  writer.putTextWithoutLength(value);
}

// Writes a bigint. One beyond 64 bits is sent as text, and the core rejects it as out of range.
function putBigint(writer: MessageWriter, type: number, value: bigint): void {
  if (type === edmTypeNumbers.Int64 && BigInt.asIntN(64, value) === value) {
    writer.words[writer.at + 1] = type;
    writer.longs[(writer.at >> 1) + 1] = value;
  } else {
    putTextPayload(writer, type | formText, String(value));
  }
}

function putBytes(writer: MessageWriter, value: Uint8Array): void {
  putInt32(writer, edmTypeNumbers.Binary, value.length);
  writer.appendBinary(value);
}

const firstDate = Date.UTC(1601, 0, 1);
const lastDate = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

// Writes a date. One outside the service's range is sent as text, in the official client's form,
// and the core rejects it.
function putDate(writer: MessageWriter, type: number, value: Date): void {
  const milliseconds = value.getTime();
  if (type === edmTypeNumbers.DateTime && milliseconds >= firstDate && milliseconds <= lastDate) {
    putDouble(writer, type, milliseconds);
  } else if (Number.isNaN(milliseconds)) {
    putInt32(writer, type | formUnsupported, 0);
  } else {
    putTextPayload(writer, type | formText, value.toISOString());
  }
}

// Writes a value given as { type, value }. The core checks whether the value fits the type. Returns
// false if the value is null or undefined.
function putTyped(writer: MessageWriter, typeName: unknown, value: unknown): boolean {
  const type = Object.hasOwn(edmTypeNumbers, typeName as PropertyKey)
    ? edmTypeNumbers[typeName as EdmTypes]
    : 0;
  switch (typeof value) {
    case "string":
      putTextPayload(writer, type | formText, value);
      return true;
    case "number":
      if (type === edmTypeNumbers.Double) putDouble(writer, type, value);
      else putDouble(writer, type | formNumber, value);
      return true;
    case "boolean":
      putInt32(writer, type | formBoolean, value ? 1 : 0);
      return true;
    case "bigint":
      putBigint(writer, type, value);
      return true;
    case "object":
      if (value === null) return false;
      switch (builtinKind(value)) {
        case "bytes":
          if (type !== edmTypeNumbers.Binary) break;
          putBytes(writer, value as Uint8Array);
          return true;
        case "date":
          putDate(writer, type, value as Date);
          return true;
      }
  }
  putInt32(writer, type | formUnsupported, 0);
  return true;
}
