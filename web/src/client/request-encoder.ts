// Encodes operations and queries as RPC request messages (core/rpc/LAYOUT.md).
//
// The words of a message are written to their final place. Text goes to a second buffer, since its
// place in the message is known only at the end.

import { builtinKind, edmTypeNumbers, unsupportedValueError } from "../edm/edm.ts";
import { StoreError } from "../errors.ts";
import type { EdmTypes } from "../types.ts";
import { ViewCache } from "../util/view-cache.ts";
import {
  absentLength,
  flagUtf16,
  formBoolean,
  formNumber,
  formText,
  formUnsupported,
  headerBytes,
  messageVersion,
  notStringLength,
  operationKind,
  requestKind,
  writeTransaction,
} from "./message-layout.ts";

export interface WriteOperation {
  kind: keyof typeof operationKind;
  partitionKey: string;
  rowKey: string;
  entity?: object;
  etag?: string; // replace, merge, delete: "*" or one ETag; required by delete
}

export interface EntityKey {
  partitionKey: string;
  rowKey: string;
}

export interface EntityQuery {
  filter?: string;
  select?: readonly string[]; // the client's or the service's names; empty: all
  top?: number; // default: 1000
  next?: { partitionKey: string; rowKey: string };
}

export interface TableQuery {
  filter?: string;
  top?: number;
  next?: string;
}

// ---- The buffers ------------------------------------------------------------------------------

let bytes = new Uint8Array(0); // the message
let words: Int32Array;
let doubles: Float64Array;
let longs: BigInt64Array;
let at = 0; // the next word

let textBuffer = new Uint8Array(0); // the text area so far
let textEnd = 0;
let isUtf16 = false; // the text area is UTF-16
let binaries: Uint8Array[] = [];

let encoder: TextEncoder | undefined;

const firstBytes = 8192;
const reusableBytesMax = 1 << 20; // a buffer that grew larger is not reused

function useBuffer(buffer: Uint8Array<ArrayBuffer>): void {
  bytes = buffer;
  words = new Int32Array(buffer.buffer);
  doubles = new Float64Array(buffer.buffer);
  longs = new BigInt64Array(buffer.buffer);
}

let isReadingEntities = false; // a getter of an entity may run meanwhile

function beginMessage(): void {
  if (isReadingEntities) throw reentrantCallError();
  if (bytes.length === 0 || bytes.length > reusableBytesMax) useBuffer(new Uint8Array(firstBytes));
  if (textBuffer.length === 0 || textBuffer.length > reusableBytesMax)
    textBuffer = new Uint8Array(firstBytes);
  encoder ??= new TextEncoder();
  at = headerBytes / 4;
  textEnd = 0;
  isUtf16 = false;
  binaries = noBinaries;
}
const noBinaries: Uint8Array[] = [];

function reentrantCallError(): StoreError {
  const message = "A getter of an entity called a store while that entity was being written.";
  return new StoreError("NotSupported", message, {
    hint: "Call the store before the write, and write the result.",
  });
}

// Runs `encodeMore`, which may encode messages while another message is in use or half written:
// that message stays as it is.
let scratchBuffer: Uint8Array<ArrayBuffer> | undefined;
export function withScratchBuffer(encodeMore: () => void): void {
  const inUse = bytes;
  const saved = { at, textBuffer, textEnd, isUtf16, binaries, isReadingEntities };
  useBuffer(scratchBuffer ?? new Uint8Array(firstBytes));
  if (isReadingEntities) textBuffer = new Uint8Array(firstBytes);
  isReadingEntities = false;
  try {
    encodeMore();
  } finally {
    scratchBuffer = bytes;
    useBuffer(inUse);
    ({ at, textBuffer, textEnd, isUtf16, binaries, isReadingEntities } = saved);
  }
}

function grownCopy(buffer: Uint8Array, used: number, size: number): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array((Math.max(size, buffer.length * 2) + 7) & ~7);
  more.set(buffer.subarray(0, used));
  return more;
}

function reserveWords(count: number): void {
  const size = (at + count) * 4;
  if (size > bytes.length) useBuffer(grownCopy(bytes, at * 4, size));
}

function putWord(value: number): void {
  reserveWords(1);
  words[at++] = value;
}

// ---- Text -------------------------------------------------------------------------------------

function putText(value: string): void {
  putWord(value.length);
  putTextBytes(value);
}

function putOptionalText(value: string | undefined): void {
  if (value === undefined) putWord(absentLength);
  else putText(value);
}

// Up to this length, copying the code units is faster than TextEncoder, whose call overhead does
// not depend on the length.
const shortText = 256;

function putTextBytes(value: string): void {
  const length = value.length;
  if (isUtf16 || length > shortText) {
    putEncodedText(value);
    return;
  }
  reserveText(length);
  const to = textBuffer;
  const from = textEnd;
  let all = 0;
  for (let i = 0; i < length; ++i) {
    const unit = value.charCodeAt(i);
    to[from + i] = unit;
    all |= unit;
  }
  if (all > 0x7f) putEncodedText(value);
  else textEnd = from + length;
}

function putEncodedText(value: string): void {
  reserveText(value.length * 3); // UTF-8 takes at most three bytes per code unit
  if (isUtf16) {
    putUtf16(value);
    return;
  }
  const { written } = (encoder as TextEncoder).encodeInto(value, textBuffer.subarray(textEnd));
  // Only text that is not all ASCII can hold an unpaired surrogate, which TextEncoder would
  // replace.
  if (written === value.length || isWellFormed(value)) {
    textEnd += written;
  } else {
    switchToUtf16();
    putUtf16(value);
  }
}

function putUtf16(value: string): void {
  reserveText(value.length * 2);
  for (let i = 0; i < value.length; ++i) {
    const unit = value.charCodeAt(i);
    textBuffer[textEnd++] = unit;
    textBuffer[textEnd++] = unit >> 8;
  }
}

// Converts the text area to UTF-16. Later text is appended as UTF-16.
function switchToUtf16(): void {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    textBuffer.subarray(0, textEnd),
  );
  isUtf16 = true;
  textEnd = 0;
  putUtf16(text);
}

function reserveText(size: number): void {
  if (textEnd + size > textBuffer.length)
    textBuffer = grownCopy(textBuffer, textEnd, textEnd + size);
}

const loneSurrogate = /\p{Surrogate}/u;
const wellFormed = (String.prototype as { isWellFormed?: (this: string) => boolean }).isWellFormed;
function isWellFormed(value: string): boolean {
  return wellFormed === undefined ? !loneSurrogate.test(value) : wellFormed.call(value);
}

// ---- The message ------------------------------------------------------------------------------

const noText: Uint8Array = new Uint8Array(0);

// Completes the message and returns it. `leadingText`: text that precedes the text area.
function finish(kind: number, leadingText = noText): Uint8Array {
  const textAt = at * 4;
  const textBytes = leadingText.length + textEnd;
  let end = textAt + textBytes;
  let binaryBytes = 0;
  for (const binary of binaries) binaryBytes += binary.length;
  if (end + binaryBytes > bytes.length) useBuffer(grownCopy(bytes, textAt, end + binaryBytes));
  bytes.set(leadingText, textAt);
  bytes.set(textViews.view(textBuffer, 0, textEnd), textAt + leadingText.length);
  for (const binary of binaries) {
    bytes.set(binary, end);
    end += binary.length;
  }
  words[0] = kind | (messageVersion << 8) | ((isUtf16 ? flagUtf16 : 0) << 16);
  words[1] = textAt;
  words[2] = textBytes;
  words[3] = binaryBytes;
  binaries = noBinaries;
  return messageViews.view(bytes, 0, end);
}
const messageViews = new ViewCache();
const textViews = new ViewCache();

// ---- Reading ----------------------------------------------------------------------------------

const serviceNames: Readonly<Record<string, string>> = {
  partitionKey: "PartitionKey",
  rowKey: "RowKey",
  timestamp: "Timestamp",
};

// The ETag is always returned, so selecting it has no effect.
function putSelect(select: readonly string[] | undefined): void {
  const countAt = at;
  putWord(0);
  if (select === undefined) return;
  let count = 0;
  for (const name of select) {
    if (name === "etag" || name === "odata.etag") continue;
    putText(Object.hasOwn(serviceNames, name) ? (serviceNames[name] as string) : name);
    ++count;
  }
  words[countAt] = count;
}

// `top` is one word. The core rejects any value that is not an integer from 0 to 1000; 1001
// represents all of them.
function putTop(top: number | undefined): void {
  if (top === undefined) putWord(absentLength);
  else putWord(Number.isInteger(top) && top >= 0 && top <= 1000 ? top : 1001);
}

export function encodeGet(
  table: string,
  partitionKey: string,
  rowKey: string,
  select?: readonly string[],
): Uint8Array {
  beginMessage();
  putText(table);
  putWord(putKey(partitionKey));
  putWord(putKey(rowKey));
  putSelect(select);
  return finish(requestKind.get);
}

// The response is a page of the rows before the first missing one.
export function encodeMultiGet(table: string, keys: readonly EntityKey[]): Uint8Array {
  beginMessage();
  putText(table);
  putWord(keys.length);
  for (const { partitionKey, rowKey } of keys) {
    putText(partitionKey);
    putText(rowKey);
  }
  return finish(requestKind.multiGet);
}

export function encodeQuery(table: string, query: EntityQuery): Uint8Array {
  return encodeEntityQuery(requestKind.query, table, query);
}

export function encodeExplain(table: string, query: EntityQuery): Uint8Array {
  return encodeEntityQuery(requestKind.explain, table, query);
}

function encodeEntityQuery(kind: number, table: string, query: EntityQuery): Uint8Array {
  beginMessage();
  putText(table);
  putOptionalText(query.filter);
  putTop(query.top);
  putOptionalText(query.next?.partitionKey);
  putOptionalText(query.next?.rowKey);
  putSelect(query.select);
  return finish(kind);
}

export function encodeListTables(query: TableQuery = {}): Uint8Array {
  beginMessage();
  putOptionalText(query.filter);
  putTop(query.top);
  putOptionalText(query.next);
  return finish(requestKind.listTables);
}

// ---- Writing ----------------------------------------------------------------------------------

export function encodeCreateTable(name: string): Uint8Array {
  beginMessage();
  putText(name);
  return finish(requestKind.createTable);
}

export function encodeDropTable(name: string): Uint8Array {
  beginMessage();
  putText(name);
  return finish(requestKind.dropTable);
}

// Property names are numbered per message, in the order of their first use. Known names are cached
// across messages. Entities mostly list the same names in the same order, so the name at the same
// place in the previous entity is tried first.
interface Name {
  readonly text: string;
  readonly stored: boolean;
  messageNumber: number; // the message in which `number` is valid
  number: number;
}

const knownNames = new Map<string, Name>();
const knownNamesMax = 10000;
let expectedNames: Name[] = []; // by place in the entity
let messageNumber = 0;
let names: string[] = []; // of this message

function beginNames(): void {
  ++messageNumber;
  names = [];
  if (knownNames.size > knownNamesMax) {
    knownNames.clear();
    expectedNames = [];
  }
}

// Returns the number of a name in this message; -1 if properties of that name are not stored.
function nameNumber(text: string, place: number): number {
  let name = expectedNames[place];
  if (name === undefined || name.text !== text) {
    name = knownName(text);
    expectedNames[place] = name;
  }
  if (!name.stored) return -1;
  if (name.messageNumber !== messageNumber) {
    name.messageNumber = messageNumber;
    name.number = names.push(text) - 1;
  }
  return name.number;
}

function knownName(text: string): Name {
  let name = knownNames.get(text);
  if (name === undefined) {
    name = { text, stored: isStored(text), messageNumber: 0, number: 0 };
    knownNames.set(text, name);
  }
  return name;
}

function isStored(name: string): boolean {
  switch (name) {
    case "partitionKey":
    case "rowKey":
    case "etag":
    case "timestamp":
      return false;
    default:
      return !name.startsWith("odata.");
  }
}

// Throws a TypeError if a value has no Edm type (unsupportedValueError); the core checks all other
// rules. `types` gives the Edm types of plain numbers.
export function encodeWrite(
  table: string,
  operations: readonly WriteOperation[],
  transaction: boolean,
  types?: Readonly<Record<string, EdmTypes | undefined>>,
): Uint8Array {
  beginMessage();
  beginNames();
  at += 4; // written when the names are known
  isReadingEntities = true;
  try {
    for (const operation of operations) putOperation(operation, types);
  } finally {
    isReadingEntities = false;
  }
  words[headerBytes / 4] = transaction ? writeTransaction : 0;
  words[headerBytes / 4 + 1] = operations.length;
  words[headerBytes / 4 + 2] = names.length;
  words[headerBytes / 4 + 3] = table.length;
  return finish(requestKind.write, putNames(table));
}

// The names of the previous message, which the next one mostly has too.
let lastNames = { table: "", names: [] as string[], lengths: new Int32Array(0), text: noText };
const lastNamesBytesMax = 4096;

function matchesLastNames(table: string): boolean {
  if (table !== lastNames.table || names.length !== lastNames.names.length) return false;
  for (let i = 0; i < names.length; ++i) if (names[i] !== lastNames.names[i]) return false;
  return true;
}

// Writes the lengths of the names of the table and the properties, and returns their text, which
// comes first in the text area.
function putNames(table: string): Uint8Array {
  if (!isUtf16 && matchesLastNames(table)) {
    reserveWords(names.length);
    const { lengths, text } = lastNames;
    // Faster than set() for a few words.
    for (let i = 0; i < lengths.length; ++i) words[at++] = lengths[i] as number;
    return text;
  }
  const namesAt = at;
  let first = textEnd;
  let units = table.length;
  putTextBytes(table);
  for (const name of names) {
    units += name.length;
    putWord(name.length);
    putTextBytes(name);
  }
  if (isUtf16) first = textEnd - 2 * units; // a name may have converted the text area
  const text = textBuffer.slice(first, textEnd);
  textEnd = first;
  if (!isUtf16 && text.length <= lastNamesBytesMax) {
    lastNames = { table, names, lengths: words.slice(namesAt, at), text };
  }
  return text;
}

function putOperation(
  operation: WriteOperation,
  types: Readonly<Record<string, EdmTypes | undefined>> | undefined,
): void {
  const operationAt = at;
  reserveWords(4);
  at += 4;
  words[operationAt + 1] = putKey(operation.partitionKey);
  words[operationAt + 2] = putKey(operation.rowKey);
  words[operationAt + 3] = operation.etag === undefined ? absentLength : operation.etag.length;
  if (operation.etag !== undefined) putTextBytes(operation.etag);
  let count = 0;
  let place = 0;
  const entity = operation.entity as Record<string, unknown> | undefined;
  for (const name in entity) {
    const number = nameNumber(name, place++);
    if (number < 0) continue;
    const value = entity[name];
    if (value === undefined || value === null) continue;
    reserveWords(4);
    words[at] = number;
    if (putValue(value, name, types, operation)) {
      at += 4;
      ++count;
    }
  }
  words[operationAt] = operationKind[operation.kind] | (count << 8);
}

// Writes a key's text and returns its length. The core rejects a key that is not a string.
function putKey(key: unknown): number {
  if (typeof key === "string") {
    putTextBytes(key);
    return key.length;
  }
  return key === undefined || key === null ? absentLength : notStringLength;
}

// Fills the property record at `at`, except for its name. Returns false if there is no value.
function putValue(
  value: unknown,
  name: string,
  types: Readonly<Record<string, EdmTypes | undefined>> | undefined,
  operation: WriteOperation,
): boolean {
  switch (typeof value) {
    case "string":
      putTextPayload(edmTypeNumbers.String, value);
      return true;
    case "number": {
      if (types !== undefined && Object.hasOwn(types, name)) {
        const type = types[name];
        if (type !== undefined) return putTyped(type, value);
      }
      if ((value | 0) === value) putInt32(edmTypeNumbers.Int32, value);
      else putDouble(edmTypeNumbers.Double, value);
      return true;
    }
    case "boolean":
      putInt32(edmTypeNumbers.Boolean, value ? 1 : 0);
      return true;
    case "bigint":
      putBigint(edmTypeNumbers.Int64, value);
      return true;
    case "object":
      switch (builtinKind(value as object)) {
        case "bytes":
          putBytes(value as Uint8Array);
          return true;
        case "date":
          putDate(edmTypeNumbers.DateTime, value as Date);
          return true;
      }
      {
        const pair = value as { type?: unknown; value?: unknown };
        if (pair.type !== undefined && pair.value !== undefined) {
          return putTyped(pair.type, pair.value);
        }
      }
  }
  throw unsupportedValueError(value, name, operation.partitionKey, operation.rowKey);
}

function putInt32(typeAndForm: number, value: number): void {
  words[at + 1] = typeAndForm;
  words[at + 2] = value;
  words[at + 3] = 0;
}

function putDouble(typeAndForm: number, value: number): void {
  words[at + 1] = typeAndForm;
  doubles[(at >> 1) + 1] = value;
}

function putTextPayload(typeAndForm: number, value: string): void {
  putInt32(typeAndForm, value.length);
  putTextBytes(value);
}

// A bigint beyond 64 bits is sent as text, so that the core rejects it like any Int64 text out of
// range.
function putBigint(type: number, value: bigint): void {
  if (type === edmTypeNumbers.Int64 && BigInt.asIntN(64, value) === value) {
    words[at + 1] = type;
    longs[(at >> 1) + 1] = value;
  } else {
    putTextPayload(type | formText, String(value));
  }
}

function putBytes(value: Uint8Array): void {
  putInt32(edmTypeNumbers.Binary, value.length);
  if (binaries === noBinaries) binaries = [value];
  else binaries.push(value);
}

const firstDate = Date.UTC(1601, 0, 1);
const lastDate = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

// A date that the service cannot store is sent as the official client's text form, and the core
// rejects it there.
function putDate(type: number, value: Date): void {
  const milliseconds = value.getTime();
  if (type === edmTypeNumbers.DateTime && milliseconds >= firstDate && milliseconds <= lastDate) {
    putDouble(type, milliseconds);
  } else if (Number.isNaN(milliseconds)) {
    putInt32(type | formUnsupported, 0);
  } else {
    putTextPayload(type | formText, value.toISOString());
  }
}

// Writes the value of a { type, value } pair as given; the core checks whether the value fits the
// type.
function putTyped(typeName: unknown, value: unknown): boolean {
  const type = Object.hasOwn(edmTypeNumbers, typeName as PropertyKey)
    ? edmTypeNumbers[typeName as EdmTypes]
    : 0;
  switch (typeof value) {
    case "string":
      putTextPayload(type | formText, value);
      return true;
    case "number":
      if (type === edmTypeNumbers.Double) putDouble(type, value);
      else putDouble(type | formNumber, value);
      return true;
    case "boolean":
      putInt32(type | formBoolean, value ? 1 : 0);
      return true;
    case "bigint":
      putBigint(type, value);
      return true;
    case "object":
      if (value === null) return false;
      switch (builtinKind(value)) {
        case "bytes":
          if (type !== edmTypeNumbers.Binary) break;
          putBytes(value as Uint8Array);
          return true;
        case "date":
          putDate(type, value as Date);
          return true;
      }
  }
  putInt32(type | formUnsupported, 0);
  return true;
}
