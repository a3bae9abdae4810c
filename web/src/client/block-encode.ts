// Operations and queries to request blocks (core/direct/LAYOUT.md).
//
// Blocks are built one behind the other in a buffer that is kept (slab.ts): words go straight to their place, strings are
// joined and encoded once. Nothing is written to a block any more that a caller got.

import { edmNumbers, kindOf, unknownTypeError } from "../edm.ts";
import { slabBytes, slabPieceBytes, slabStep } from "../slab.ts";
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

// ---- The slab ---------------------------------------------------------------------------------------------------

let bytes: Uint8Array<ArrayBuffer>;
let words: Int32Array;
let doubles: Float64Array;
let longs: BigInt64Array;
let encoder: TextEncoder | undefined;

let origin = 0; // the block's first word in the slab; even
let at = 0; // the next word of the block
let text = ""; // the text area, in the order of its words
let binaries: Uint8Array[] = [];

// The block goes on in another buffer, of so many bytes, and starts it.
function move(size: number): void {
  const moved = new Uint8Array(size);
  if (encoder === undefined) encoder = new TextEncoder();
  else moved.set(bytes.subarray(origin * 4, Math.min(bytes.length, (origin + at) * 4)));
  bytes = moved;
  words = new Int32Array(moved.buffer);
  doubles = new Float64Array(moved.buffer);
  longs = new BigInt64Array(moved.buffer);
  origin = 0;
}

// A buffer that grew further for a big block serves that one only.
const keptBytes = 1 << 20;

// With less left than most blocks take, a new buffer is begun.
const smallest = 512;

function begin(): void {
  at = 0;
  if (encoder === undefined || bytes.length - origin * 4 < smallest) move(slabBytes);
  at = headerBytes / 4;
  text = "";
  binaries = [];
}

function room(count: number): void {
  if ((origin + at + count) * 4 > bytes.length) {
    move(slabStep(Math.max(slabBytes, (at + count) * 8)));
  }
}

function putWord(value: number): void {
  room(1);
  words[origin + at++] = value;
}

function putText(value: string): void {
  putWord(value.length);
  text += value;
}

function putOptionalText(value: string | undefined): void {
  if (value === undefined) putWord(noneSigned);
  else putText(value);
}

// A call of TextEncoder's takes browsers 400 ns, however short the text is. False: it is to be called.
const shortText = 64;
function putShortText(to: number): boolean {
  if (text.length > shortText) return false;
  for (let i = 0; i < text.length; ++i) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return false;
    bytes[to + i] = unit;
  }
  return true;
}

// Writes text, binaries and header; gives the block.
function finish(kind: number): Uint8Array<ArrayBuffer> {
  const textAt = at * 4;
  let binaryBytes = 0;
  for (const b of binaries) binaryBytes += b.length;
  const most = textAt + text.length * 3 + binaryBytes; // UTF-8 takes at most three bytes a unit
  if (origin * 4 + most > bytes.length) move(slabStep(Math.max(slabBytes, most)));
  const start = origin * 4;
  let flags = 0;
  let textBytes = text.length;
  if (!putShortText(start + textAt)) {
    textBytes = (encoder as TextEncoder).encodeInto(text, bytes.subarray(start + textAt)).written;
    // Only text that is not all ASCII can hold an unpaired surrogate, which TextEncoder would replace.
    if (textBytes !== text.length && !isWellFormed(text)) {
      flags = flagUtf16;
      textBytes = text.length * 2;
      for (let i = 0, to = start + textAt; i < text.length; ++i, to += 2) {
        const unit = text.charCodeAt(i);
        bytes[to] = unit;
        bytes[to + 1] = unit >> 8;
      }
    }
  }
  let end = start + textAt + textBytes;
  for (const b of binaries) {
    bytes.set(b, end);
    end += b.length;
  }
  words[origin] = kind | (blockVersion << 8) | (flags << 16);
  words[origin + 1] = textAt;
  words[origin + 2] = textBytes;
  words[origin + 3] = binaryBytes;
  text = "";
  binaries = [];
  return taken(start, end);
}

// From the slab, if it is small; else a copy, and its place serves again.
function taken(start: number, end: number): Uint8Array<ArrayBuffer> {
  if (end - start <= slabPieceBytes) {
    origin = slabStep(end) / 4;
    return bytes.subarray(start, end);
  }
  const block = bytes.slice(start, end);
  if (bytes.length > keptBytes) origin = bytes.length / 4; // no block goes there any more
  return block;
}

const loneSurrogate = /\p{Surrogate}/u;
const wellFormed = (String.prototype as { isWellFormed?: (this: string) => boolean }).isWellFormed;
function isWellFormed(value: string): boolean {
  return wellFormed === undefined ? !loneSurrogate.test(value) : wellFormed.call(value);
}

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
  words[origin + countAt] = count;
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
  for (const operation of operations) putOperation(operation, types);
  const head = origin + headerBytes / 4;
  words[head] = transaction ? writeTransaction : 0;
  words[head + 1] = operations.length;
  words[head + 2] = names.length;
  words[head + 3] = table.length;
  let first = table;
  for (const name of names) {
    putWord(name.length);
    first += name;
  }
  text = first + text;
  return finish(requestKind.write);
}

function putOperation(
  operation: WriteOperation,
  types: Readonly<Record<string, EdmTypes | undefined>> | undefined,
): void {
  const operationAt = at;
  room(4);
  const head = origin + at;
  at += 4;
  words[head + 1] = putKey(operation.partitionKey);
  words[head + 2] = putKey(operation.rowKey);
  words[head + 3] = operation.etag === undefined ? noneSigned : operation.etag.length;
  if (operation.etag !== undefined) text += operation.etag;
  let count = 0;
  let place = 0;
  const entity = operation.entity as Record<string, unknown> | undefined;
  for (const name in entity) {
    const number = numberOf(name, place++);
    if (number < 0) continue;
    const value = entity[name];
    if (value === undefined || value === null) continue;
    room(4);
    words[origin + at] = number;
    if (putValue(value, name, types, operation)) {
      at += 4;
      ++count;
    }
  }
  words[origin + operationAt] = operationKind[operation.kind] | (count << 8);
}

// A key's length; its text joins the area. A key that is no string is refused by the core.
function putKey(key: unknown): number {
  if (typeof key === "string") {
    text += key;
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
  const record = origin + at;
  words[record + 1] = typeAndForm;
  words[record + 2] = value;
  words[record + 3] = 0;
}

function putDouble(typeAndForm: number, value: number): void {
  const record = origin + at;
  words[record + 1] = typeAndForm;
  doubles[(record >> 1) + 1] = value;
}

function putTextPayload(typeAndForm: number, value: string): void {
  putInt32(typeAndForm, value.length);
  text += value;
}

// A bigint outside 64 bits crosses as text, so that it is refused like any other Int64 text out of range.
function putBigint(type: number, value: bigint): void {
  if (type === edmNumbers.Int64 && BigInt.asIntN(64, value) === value) {
    const record = origin + at;
    words[record + 1] = type;
    longs[(record >> 1) + 1] = value;
  } else {
    putTextPayload(type | formText, String(value));
  }
}

function putBytes(value: Uint8Array): void {
  putInt32(edmNumbers.Binary, value.length);
  binaries.push(value);
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
