// Operations and queries to request blocks (core/direct/LAYOUT.md).
//
// A block lies in a buffer that serves again: it dies when the next one is encoded, and whoever keeps it longer copies it. Words go
// straight to their place; text to a second buffer, since only the end tells where its area begins.

import { edmNumbers, kindOf, unknownTypeError } from "../edm.ts";
import { StoreError } from "../errors.ts";
import { KeptViews } from "../kept-views.ts";
import type { EdmTypes } from "../types.ts";
import {
  blockVersion,
  flagUtf16,
  formBoolean,
  formNumber,
  formText,
  formUnusable,
  headerBytes,
  noneSigned,
  notTextSigned,
  operationKind,
  requestKind,
  writeTransaction,
} from "./block-layout.ts";

export interface WriteOperation {
  kind: keyof typeof operationKind;
  partitionKey: string;
  rowKey: string;
  entity?: object;
  etag?: string; // replace, merge, delete: "*" or one ETag; a delete needs it, as on the wire
}

export interface EntityKey {
  partitionKey: string;
  rowKey: string;
}

export interface EntityQuery {
  filter?: string;
  select?: readonly string[]; // names as callers write them or as the service does; empty: everything
  top?: number; // absent: 1000
  next?: { partitionKey: string; rowKey: string };
}

export interface TableQuery {
  filter?: string;
  top?: number;
  next?: string;
}

// ---- The buffers ------------------------------------------------------------------------------------------------

let bytes = new Uint8Array(0); // the block
let words: Int32Array;
let doubles: Float64Array;
let longs: BigInt64Array;
let at = 0; // the next word

let letters = new Uint8Array(0); // the text area so far
let lettersAt = 0;
let wide = false; // the letters are UTF-16
let binaries: Uint8Array[] = [];

let encoder: TextEncoder | undefined;

const firstBytes = 8192;
const keptBytes = 1 << 20; // a buffer that grew further for a big block serves that one only

function use(buffer: Uint8Array<ArrayBuffer>): void {
  bytes = buffer;
  words = new Int32Array(buffer.buffer);
  doubles = new Float64Array(buffer.buffer);
  longs = new BigInt64Array(buffer.buffer);
}

let entitiesAreRead = false; // into the block: what their getters do comes in between

function begin(): void {
  if (entitiesAreRead) throw askedByGetter();
  if (bytes.length === 0 || bytes.length > keptBytes) use(new Uint8Array(firstBytes));
  if (letters.length === 0 || letters.length > keptBytes) letters = new Uint8Array(firstBytes);
  encoder ??= new TextEncoder();
  at = headerBytes / 4;
  lettersAt = 0;
  wide = false;
  binaries = none;
}
const none: Uint8Array[] = [];

function askedByGetter(): StoreError {
  const message =
    "A getter of an entity asked a store for something while that entity was being written.";
  return new StoreError("NotSupported", message, {
    hint: "Ask before, and write what came of it.",
  });
}

// `encodeMore` may encode blocks while one is in use, or is being written and a getter asks for something; that one stays as it is.
let spare: Uint8Array<ArrayBuffer> | undefined;
export function besides(encodeMore: () => void): void {
  const inUse = bytes;
  const written = { at, letters, lettersAt, wide, binaries, entitiesAreRead };
  use(spare ?? new Uint8Array(firstBytes));
  if (entitiesAreRead) letters = new Uint8Array(firstBytes);
  entitiesAreRead = false;
  try {
    encodeMore();
  } finally {
    spare = bytes;
    use(inUse);
    ({ at, letters, lettersAt, wide, binaries, entitiesAreRead } = written);
  }
}

function grown(buffer: Uint8Array, used: number, size: number): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array((Math.max(size, buffer.length * 2) + 7) & ~7);
  more.set(buffer.subarray(0, used));
  return more;
}

function room(count: number): void {
  const size = (at + count) * 4;
  if (size > bytes.length) use(grown(bytes, at * 4, size));
}

function putWord(value: number): void {
  room(1);
  words[at++] = value;
}

// ---- Text -------------------------------------------------------------------------------------------------------

function putText(value: string): void {
  putWord(value.length);
  putLetters(value);
}

function putOptionalText(value: string | undefined): void {
  if (value === undefined) putWord(noneSigned);
  else putText(value);
}

// A call of TextEncoder's takes browsers 400 ns, however short the text is.
const shortText = 256;

function putLetters(value: string): void {
  const length = value.length;
  if (wide || length > shortText) {
    putLong(value);
    return;
  }
  lettersRoom(length);
  const to = letters;
  const from = lettersAt;
  let all = 0;
  for (let i = 0; i < length; ++i) {
    const unit = value.charCodeAt(i);
    to[from + i] = unit;
    all |= unit;
  }
  if (all > 0x7f) putLong(value);
  else lettersAt = from + length;
}

function putLong(value: string): void {
  lettersRoom(value.length * 3); // UTF-8 takes at most three bytes a unit
  if (wide) {
    putUnits(value);
    return;
  }
  const { written } = (encoder as TextEncoder).encodeInto(value, letters.subarray(lettersAt));
  // Only text that is not all ASCII can hold an unpaired surrogate, which TextEncoder would replace.
  if (written === value.length || isWellFormed(value)) {
    lettersAt += written;
  } else {
    widen();
    putUnits(value);
  }
}

function putUnits(value: string): void {
  lettersRoom(value.length * 2);
  for (let i = 0; i < value.length; ++i) {
    const unit = value.charCodeAt(i);
    letters[lettersAt++] = unit;
    letters[lettersAt++] = unit >> 8;
  }
}

// The letters so far as UTF-16, and so are those that follow.
function widen(): void {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(letters.subarray(0, lettersAt));
  wide = true;
  lettersAt = 0;
  putUnits(text);
}

function lettersRoom(size: number): void {
  if (lettersAt + size > letters.length) letters = grown(letters, lettersAt, lettersAt + size);
}

const loneSurrogate = /\p{Surrogate}/u;
const wellFormed = (String.prototype as { isWellFormed?: (this: string) => boolean }).isWellFormed;
function isWellFormed(value: string): boolean {
  return wellFormed === undefined ? !loneSurrogate.test(value) : wellFormed.call(value);
}

// ---- The block --------------------------------------------------------------------------------------------------

const noText: Uint8Array = new Uint8Array(0);

// `head`: text that comes before the letters.
function finish(kind: number, head = noText): Uint8Array {
  const textAt = at * 4;
  const textBytes = head.length + lettersAt;
  let end = textAt + textBytes;
  let binaryBytes = 0;
  for (const binary of binaries) binaryBytes += binary.length;
  if (end + binaryBytes > bytes.length) use(grown(bytes, textAt, end + binaryBytes));
  bytes.set(head, textAt);
  bytes.set(letterViews.view(letters, 0, lettersAt), textAt + head.length);
  for (const binary of binaries) {
    bytes.set(binary, end);
    end += binary.length;
  }
  words[0] = kind | (blockVersion << 8) | ((wide ? flagUtf16 : 0) << 16);
  words[1] = textAt;
  words[2] = textBytes;
  words[3] = binaryBytes;
  binaries = none;
  return blockViews.view(bytes, 0, end);
}
const blockViews = new KeptViews();
const letterViews = new KeptViews();

// ---- Reading ----------------------------------------------------------------------------------------------------

const serviceNames: Readonly<Record<string, string>> = {
  partitionKey: "PartitionKey",
  rowKey: "RowKey",
  timestamp: "Timestamp",
};

// The ETag always comes, so asking for it asks for nothing.
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

// `top` crosses as a word; what is no whole number from 0 to 1000 is refused by the core, and one above does for all.
function putTop(top: number | undefined): void {
  if (top === undefined) putWord(noneSigned);
  else putWord(Number.isInteger(top) && top >= 0 && top <= 1000 ? top : 1001);
}

export function encodeGet(
  table: string,
  partitionKey: string,
  rowKey: string,
  select?: readonly string[],
): Uint8Array {
  begin();
  putText(table);
  putWord(putKey(partitionKey));
  putWord(putKey(rowKey));
  putSelect(select);
  return finish(requestKind.get);
}

// Answered by a page of the first so many rows that are all there.
export function encodeGetEach(table: string, keys: readonly EntityKey[]): Uint8Array {
  begin();
  putText(table);
  putWord(keys.length);
  for (const { partitionKey, rowKey } of keys) {
    putText(partitionKey);
    putText(rowKey);
  }
  return finish(requestKind.getEach);
}

export function encodeQuery(table: string, query: EntityQuery): Uint8Array {
  return encodeEntityQuery(requestKind.query, table, query);
}

export function encodeExplain(table: string, query: EntityQuery): Uint8Array {
  return encodeEntityQuery(requestKind.explain, table, query);
}

function encodeEntityQuery(kind: number, table: string, query: EntityQuery): Uint8Array {
  begin();
  putText(table);
  putOptionalText(query.filter);
  putTop(query.top);
  putOptionalText(query.next?.partitionKey);
  putOptionalText(query.next?.rowKey);
  putSelect(query.select);
  return finish(kind);
}

export function encodeListTables(query: TableQuery = {}): Uint8Array {
  begin();
  putOptionalText(query.filter);
  putTop(query.top);
  putOptionalText(query.next);
  return finish(requestKind.listTables);
}

// ---- Writing ----------------------------------------------------------------------------------------------------

export function encodeCreateTable(name: string): Uint8Array {
  begin();
  putText(name);
  return finish(requestKind.createTable);
}

export function encodeDropTable(name: string): Uint8Array {
  begin();
  putText(name);
  return finish(requestKind.dropTable);
}

// Names are numbered anew in every block, as they are first seen in it. What is known of a name is kept from block to
// block, and entities mostly list the same names in the same order: so the name that stood at this place in the entity
// before is tried first.
interface Name {
  readonly text: string;
  readonly stored: boolean;
  block: number; // the block in which `number` holds
  number: number;
}

const knownNames = new Map<string, Name>();
const knownNamesMax = 10000;
let expectedNames: Name[] = []; // by place in the entity
let block = 0;
let names: string[] = []; // of this block

function beginNames(): void {
  ++block;
  names = [];
  if (knownNames.size > knownNamesMax) {
    knownNames.clear();
    expectedNames = [];
  }
}

// The name's number in this block; -1: not stored.
function numberOf(text: string, place: number): number {
  let name = expectedNames[place];
  if (name === undefined || name.text !== text) {
    name = knownName(text);
    expectedNames[place] = name;
  }
  if (!name.stored) return -1;
  if (name.block !== block) {
    name.block = block;
    name.number = names.push(text) - 1;
  }
  return name.number;
}

function knownName(text: string): Name {
  let name = knownNames.get(text);
  if (name === undefined) {
    name = { text, stored: isStored(text), block: 0, number: 0 };
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

// Rejects with a TypeError if a value has no Edm type (unknownTypeError); every other rule is the core's.
// `types` fixes the type of plain numbers.
export function encodeWrite(
  table: string,
  operations: readonly WriteOperation[],
  transaction: boolean,
  types?: Readonly<Record<string, EdmTypes | undefined>>,
): Uint8Array {
  begin();
  beginNames();
  at += 4; // written when the names are known
  entitiesAreRead = true;
  try {
    for (const operation of operations) putOperation(operation, types);
  } finally {
    entitiesAreRead = false;
  }
  words[headerBytes / 4] = transaction ? writeTransaction : 0;
  words[headerBytes / 4 + 1] = operations.length;
  words[headerBytes / 4 + 2] = names.length;
  words[headerBytes / 4 + 3] = table.length;
  return finish(requestKind.write, putNames(table));
}

// The names of the block before: mostly those of the next one too.
let named = { table: "", names: [] as string[], lengths: new Int32Array(0), text: noText };
const namedBytesMax = 4096;

function isNamed(table: string): boolean {
  if (table !== named.table || names.length !== named.names.length) return false;
  for (let i = 0; i < names.length; ++i) if (names[i] !== named.names[i]) return false;
  return true;
}

// The names of the table and of the properties, whose text comes first though it is known last. Gives that.
function putNames(table: string): Uint8Array {
  if (!wide && isNamed(table)) {
    room(names.length);
    const { lengths, text } = named;
    for (let i = 0; i < lengths.length; ++i) words[at++] = lengths[i] as number; // set() takes longer for a few
    return text;
  }
  const namesAt = at;
  let first = lettersAt;
  let units = table.length;
  putLetters(table);
  for (const name of names) {
    units += name.length;
    putWord(name.length);
    putLetters(name);
  }
  if (wide) first = lettersAt - 2 * units; // one of them may have widened what was before
  const text = letters.slice(first, lettersAt);
  lettersAt = first;
  if (!wide && text.length <= namedBytesMax) {
    named = { table, names, lengths: words.slice(namesAt, at), text };
  }
  return text;
}

function putOperation(
  operation: WriteOperation,
  types: Readonly<Record<string, EdmTypes | undefined>> | undefined,
): void {
  const operationAt = at;
  room(4);
  at += 4;
  words[operationAt + 1] = putKey(operation.partitionKey);
  words[operationAt + 2] = putKey(operation.rowKey);
  words[operationAt + 3] = operation.etag === undefined ? noneSigned : operation.etag.length;
  if (operation.etag !== undefined) putLetters(operation.etag);
  let count = 0;
  let place = 0;
  const entity = operation.entity as Record<string, unknown> | undefined;
  for (const name in entity) {
    const number = numberOf(name, place++);
    if (number < 0) continue;
    const value = entity[name];
    if (value === undefined || value === null) continue;
    room(4);
    words[at] = number;
    if (putValue(value, name, types, operation)) {
      at += 4;
      ++count;
    }
  }
  words[operationAt] = operationKind[operation.kind] | (count << 8);
}

// A key's length; its text joins the area. A key that is no string is refused by the core.
function putKey(key: unknown): number {
  if (typeof key === "string") {
    putLetters(key);
    return key.length;
  }
  return key === undefined || key === null ? noneSigned : notTextSigned;
}

// Fills the record at `at` except for its name. False: there is no value after all.
function putValue(
  value: unknown,
  name: string,
  types: Readonly<Record<string, EdmTypes | undefined>> | undefined,
  operation: WriteOperation,
): boolean {
  switch (typeof value) {
    case "string":
      putTextPayload(edmNumbers.String, value);
      return true;
    case "number": {
      if (types !== undefined && Object.hasOwn(types, name)) {
        const type = types[name];
        if (type !== undefined) return putTyped(type, value);
      }
      if ((value | 0) === value) putInt32(edmNumbers.Int32, value);
      else putDouble(edmNumbers.Double, value);
      return true;
    }
    case "boolean":
      putInt32(edmNumbers.Boolean, value ? 1 : 0);
      return true;
    case "bigint":
      putBigint(edmNumbers.Int64, value);
      return true;
    case "object":
      switch (kindOf(value as object)) {
        case "bytes":
          putBytes(value as Uint8Array);
          return true;
        case "date":
          putDate(edmNumbers.DateTime, value as Date);
          return true;
      }
      {
        const pair = value as { type?: unknown; value?: unknown };
        if (pair.type !== undefined && pair.value !== undefined) {
          return putTyped(pair.type, pair.value);
        }
      }
  }
  throw unknownTypeError(value, name, operation.partitionKey, operation.rowKey);
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
  putLetters(value);
}

// A bigint outside 64 bits crosses as text, so that it is refused like any other Int64 text out of range.
function putBigint(type: number, value: bigint): void {
  if (type === edmNumbers.Int64 && BigInt.asIntN(64, value) === value) {
    words[at + 1] = type;
    longs[(at >> 1) + 1] = value;
  } else {
    putTextPayload(type | formText, String(value));
  }
}

function putBytes(value: Uint8Array): void {
  putInt32(edmNumbers.Binary, value.length);
  if (binaries === none) binaries = [value];
  else binaries.push(value);
}

const firstDate = Date.UTC(1601, 0, 1);
const lastDate = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

// Dates that the service can't store cross in the text form that the official client would send, and are refused
// for what they are there.
function putDate(type: number, value: Date): void {
  const milliseconds = value.getTime();
  if (type === edmNumbers.DateTime && milliseconds >= firstDate && milliseconds <= lastDate) {
    putDouble(type, milliseconds);
  } else if (Number.isNaN(milliseconds)) {
    putInt32(type | formUnusable, 0);
  } else {
    putTextPayload(type | formText, value.toISOString());
  }
}

// { type, value }: the value as given. Whether it fits is the core's decision.
function putTyped(typeName: unknown, value: unknown): boolean {
  const type = Object.hasOwn(edmNumbers, typeName as PropertyKey)
    ? edmNumbers[typeName as EdmTypes]
    : 0;
  switch (typeof value) {
    case "string":
      putTextPayload(type | formText, value);
      return true;
    case "number":
      if (type === edmNumbers.Double) putDouble(type, value);
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
      switch (kindOf(value)) {
        case "bytes":
          if (type !== edmNumbers.Binary) break;
          putBytes(value as Uint8Array);
          return true;
        case "date":
          putDate(type, value as Date);
          return true;
      }
  }
  putInt32(type | formUnusable, 0);
  return true;
}
