// Reply blocks to entities, pages and errors (core/direct/LAYOUT.md).
//
// A reply may be a view of wasm memory that dies with the next call: everything is taken out of it at once. Text is
// decoded in one go and sliced; binaries are views of one copy.

import { base64, dateTimeText, doubleText } from "../edm.ts";
import type { StoreErrorCode } from "../errors.ts";
import { StoreError, serviceError } from "../errors.ts";
import type { Explain, ExplainRange, ExplainWarning, PlanKind } from "../types.ts";
import {
  blockVersion,
  column,
  flagHeaders,
  flagLocalFailure,
  flagUtf16,
  headerBytes,
  noneSigned,
  replyKind,
} from "./block-layout.ts";

export interface DecodeOptions {
  disableTypeConversion?: boolean; // every property becomes { value: text, type }
  apart?: boolean; // the rows of a page have nothing in common: their binaries are copied one by one
}

export interface EntityPage {
  rows: Record<string, unknown>[];
  next?: { partitionKey: string; rowKey: string };
}

// ---- The frame ----------------------------------------------------------------------------------------------------

// What is being read. One at a time, since nothing here waits.
let words: Int32Array;
let doubles: Float64Array;
let longs: BigInt64Array;
let at = 0; // the next word
let text = "";
let textPosition = 0;
const emptyArea = new ArrayBuffer(0);
let binaryArea: ArrayBuffer | Uint8Array = emptyArea; // set by takeBinaries: a copy, or what dies with the reply
let binaryPosition = 0;

let utf8: TextDecoder | undefined;

// Views over wasm memory are made once and serve until it grows.
let viewed: ArrayBufferLike | undefined;

function open(reply: Uint8Array, expected: number): void {
  let block = reply;
  if (block.byteOffset % 8 !== 0) block = block.slice();
  view(block);
  at = block.byteOffset >>> 2; // unsigned: wasm memory may pass 2 GB
  const head = words[at] as number;
  const kind = head & 0xff;
  const flags = (head >> 16) & 0xff;
  const textAt = words[at + 1] as number;
  const textBytes = words[at + 2] as number;
  if (((head >> 8) & 0xff) !== blockVersion) {
    throw new StoreError("VersionConflict", "The reply was made by another version of entitable.");
  }
  const utf16 = (flags & flagUtf16) !== 0;
  if (expected === replyKind.written) decodeEtags(block, textAt, textBytes, utf16);
  else decodeText(block, textAt, textBytes, utf16);
  textPosition = 0;
  at += headerBytes / 4;
  if (kind === replyKind.error) throwError(flags);
  if (kind !== expected) {
    throw new StoreError("VersionConflict", `The reply is of kind ${kind}, not ${expected}.`);
  }
}

function view(block: Uint8Array): void {
  const buffer = block.buffer;
  if (buffer === viewed) return;
  words = new Int32Array(buffer, 0, buffer.byteLength >>> 2);
  doubles = new Float64Array(buffer, 0, buffer.byteLength >>> 3);
  longs = new BigInt64Array(buffer, 0, buffer.byteLength >>> 3);
  // A buffer that holds nothing but one reply is not kept alive.
  viewed = block.byteLength === buffer.byteLength ? undefined : buffer;
}

function decodeText(block: Uint8Array, from: number, length: number, utf16: boolean): void {
  if (length === 0) {
    text = "";
  } else if (utf16) {
    text = decodeUnits(new Uint16Array(block.slice(from, from + length).buffer));
  } else {
    const short = length <= shortText ? shortAscii(block, from, length) : undefined;
    text = short ?? decodeUtf8(block, from, length);
  }
}

// ETags of rows that are written within a second differ in their last letters only, and what is before those is most of the time that it
// takes to decode the reply to a single write.
const startBytes = 36;
let start = ""; // of the ETag before
const startWords = new Int32Array(startBytes / 4);

function decodeEtags(block: Uint8Array, from: number, length: number, utf16: boolean): void {
  const known = length > startBytes && length <= shortText && hasStart(block.byteOffset + from);
  const rest = known ? shortAscii(block, from + startBytes, length - startBytes) : undefined;
  if (rest !== undefined) {
    text = start + rest;
    return;
  }
  decodeText(block, from, length, utf16);
  const at = block.byteOffset + from;
  const isAscii = text.length === length;
  if (length <= startBytes || !isAscii || (at & 3) !== 0) return;
  const word = at >>> 2;
  start = text.slice(0, startBytes);
  startWords.set(words.subarray(word, word + startWords.length));
}

function hasStart(at: number): boolean {
  if (start === "" || (at & 3) !== 0) return false;
  const word = at >>> 2;
  for (let i = 0; i < startWords.length; ++i) {
    if (words[word + i] !== startWords[i]) return false;
  }
  return true;
}

function decodeUtf8(block: Uint8Array, from: number, length: number): string {
  // ignoreBOM: a leading U+FEFF is text, not a mark; dropping it would shift every string.
  utf8 ??= new TextDecoder("utf-8", { ignoreBOM: true });
  return utf8.decode(block.subarray(from, from + length));
}

// A browser's TextDecoder makes a string outside of the engine's heap, which its garbage collector has to give back: dear for the row of a
// point read, let alone an ETag.
const shortText = 256;

// By their length. Engines take arguments out of plain arrays several times as quickly as out of bytes.
const unitsOf: number[][] = [];

// Undefined: it is not all ASCII.
function shortAscii(bytes: Uint8Array, from: number, length: number): string | undefined {
  unitsOf[length] ??= new Array<number>(length).fill(0);
  const units = unitsOf[length];
  let all = 0;
  for (let i = 0; i < length; ++i) {
    const unit = bytes[from + i] as number;
    units[i] = unit;
    all |= unit;
  }
  return all > 0x7f ? undefined : String.fromCharCode.apply(null, units);
}

// Not TextDecoder("utf-16le"), which replaces unpaired surrogates.
function decodeUnits(units: Uint16Array): string {
  let out = "";
  const step = 8192; // as many arguments as every engine takes
  for (let i = 0; i < units.length; i += step) {
    out += String.fromCharCode(...units.subarray(i, i + step));
  }
  return out;
}

function close(): void {
  text = "";
  binaryArea = emptyArea;
  if (viewed === undefined) letGo();
}

// Keeps no view of wasm memory any more. When a store is closed, its whole memory would hang on them.
export function letGo(): void {
  viewed = undefined;
  words = emptyWords;
  doubles = emptyDoubles;
  longs = emptyLongs;
}
const emptyWords = new Int32Array(0);
const emptyDoubles = new Float64Array(0);
const emptyLongs = new BigInt64Array(0);

function takeWord(): number {
  return words[at++] as number;
}

function takeText(): string {
  const from = textPosition;
  textPosition += words[at++] as number;
  return text.slice(from, textPosition);
}

function takeOptionalText(): string | undefined {
  if (words[at] === noneSigned) {
    ++at;
    return undefined;
  }
  return takeText();
}

// A u64 that counts something: far below 2^53.
function takeCount(): number {
  at += at & 1;
  const low = takeWord() >>> 0;
  return low + (takeWord() >>> 0) * 0x1_0000_0000;
}

// ---- Errors -------------------------------------------------------------------------------------------------------

const localFailures: Readonly<Record<string, StoreErrorCode>> = {
  OutOfMemory: "OutOfMemory",
  Corrupted: "Corrupted",
  FormatTooNew: "FormatTooNew",
};

function throwError(flags: number): never {
  const status = takeWord();
  takeWord(); // the failing operation; the message names it
  const code = takeText();
  const message = takeText();
  const headers: [string, string][] = [];
  for (let count = flags & flagHeaders ? takeWord() : 0; count > 0; --count) {
    headers.push([takeText().toLowerCase(), takeText()]);
  }
  close();
  const storeCode = flags & flagLocalFailure ? localFailures[code] : undefined;
  if (storeCode !== undefined) throw new StoreError(storeCode, message);
  const error = serviceError(status, code, message);
  // Where the official client puts the headers of a response that is an error.
  Object.assign(error.details ?? {}, Object.fromEntries(headers));
  throw error;
}

// ---- Pages --------------------------------------------------------------------------------------------------------

// The columns that rows of one shape have, kept from page to page. `template` is an object of that shape: a copy of
// it has all its properties at once and in fast mode, where an empty object grows by one after the other.
interface Shape {
  columns: Int32Array; // as they stand in the block, to compare
  namesText: string; // likewise
  names: string[];
  types: number[];
  template: Record<string, unknown>;
}

const keptShapes = new Map<number, Shape>();
const keptShapesMax = 1000;

const systemNames: Readonly<Record<number, string>> = {
  [column.etag]: "etag",
  [column.partitionKey]: "partitionKey",
  [column.rowKey]: "rowKey",
  [column.timestamp]: "timestamp",
};

function takeShape(): Shape {
  const hint = takeWord();
  const count = takeWord();
  const units = takeWord();
  const from = textPosition;
  textPosition += units;
  const kept = hint === 0 ? undefined : keptShapes.get(hint);
  if (kept !== undefined && isSame(kept, count, from, units)) {
    at += count;
    return kept;
  }
  const shape = readShape(count, from, units);
  if (hint !== 0) {
    if (keptShapes.size >= keptShapesMax) keptShapes.clear();
    keptShapes.set(hint, shape);
  }
  return shape;
}

function isSame(shape: Shape, count: number, from: number, units: number): boolean {
  const { columns, namesText } = shape;
  if (columns.length !== count || namesText.length !== units) return false;
  for (let c = 0; c < count; ++c) {
    if (columns[c] !== words[at + c]) return false;
  }
  return text.startsWith(namesText, from);
}

// A custom property may be called like one of the four system members (written through REST). The system member
// wins, since concurrency control rests on it; such a column is read and dropped.
const hidden = 32;
const reservedNames: ReadonlySet<string> = new Set(Object.values(systemNames));

function readShape(count: number, namesFrom: number, units: number): Shape {
  const columns = words.slice(at, at + count);
  at += count;
  const names: string[] = [];
  const types: number[] = [];
  const members: string[] = [];
  let position = namesFrom;
  for (const word of columns) {
    const type = word >>> 24;
    const end = position + (word & 0xffffff);
    const name = systemNames[type] ?? text.slice(position, end);
    position = end;
    names.push(name);
    if (type < column.etag && reservedNames.has(name)) {
      types.push(type | hidden);
    } else {
      types.push(type);
      members.push(`${JSON.stringify(name)}:${neutral(type)}`);
    }
  }
  // JSON.parse, since adding more than a dozen properties by computed name turns an object into a dictionary, and
  // since it makes "__proto__" a property like any other.
  const template = JSON.parse(`{${members.join(",")}}`);
  const namesText = text.slice(namesFrom, namesFrom + units);
  return { columns, namesText, names, types, template };
}

// Something of the kind that will stand there, so that the engine's guess about the field is right from the first row.
function neutral(type: number): string {
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

function takeRows(rowCount: number, shapes: readonly Shape[]): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = new Array(rowCount);
  const source = text;
  const w = words;
  let p = at;
  let t = textPosition;
  let from = 0;
  let partition = "";
  for (let r = 0; r < rowCount; ++r) {
    const shape = shapes[w[p++] as number] as Shape;
    const { names, types } = shape;
    const row = { ...shape.template };
    for (let c = 0; c < types.length; ++c) {
      const name = names[c] as string;
      switch (types[c]) {
        case column.string:
        case column.etag:
        case column.rowKey:
        case column.timestamp:
          from = t;
          t += w[p++] as number;
          row[name] = source.slice(from, t);
          break;
        case column.partitionKey: {
          const units = w[p++] as number;
          if (units !== noneSigned) {
            from = t;
            t += units;
            partition = source.slice(from, t);
          }
          row[name] = partition;
          break;
        }
        case column.int32:
          row[name] = w[p++];
          break;
        case column.boolean:
          row[name] = w[p++] !== 0;
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
          from = t;
          t += guidUnits;
          row[name] = { value: source.slice(from, t), type: "Guid" };
          break;
        case column.binary:
          row[name] = takeBinary(w[p++] as number);
          break;
        case column.null:
          break; // as the template has it
        default: {
          at = p;
          textPosition = t;
          takeTyped((types[c] as number) & ~hidden);
          p = at;
          t = textPosition;
        }
      }
    }
    rows[r] = row;
  }
  at = p;
  textPosition = t;
  return rows;
}

const guidUnits = 36;

// disableTypeConversion: every property but the system members as { value: text, type }.
function takeTypedRows(rowCount: number, shapes: readonly Shape[]): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  let partition = "";
  for (let r = 0; r < rowCount; ++r) {
    const { names, types, template } = shapes[takeWord()] as Shape;
    const row = { ...template };
    for (let c = 0; c < types.length; ++c) {
      const type = types[c] as number;
      if (type === column.partitionKey) {
        partition = takeOptionalText() ?? partition;
        row[names[c] as string] = partition;
      } else if (type >= column.etag && type < hidden) {
        row[names[c] as string] = takeText();
      } else {
        const value = takeTyped(type & ~hidden);
        if (type < hidden) row[names[c] as string] = value;
      }
    }
    rows.push(row);
  }
  return rows;
}

function takeTyped(type: number): { value: string; type: string } | null {
  switch (type) {
    case column.string:
      return { value: takeText(), type: "String" };
    case column.binary:
      return { value: base64(takeBinary(takeWord())), type: "Binary" };
    case column.boolean:
      return { value: String(takeWord() !== 0), type: "Boolean" };
    case column.dateTime: {
      const milliseconds = takeDouble();
      return { value: dateTimeText(milliseconds, takeWord()), type: "DateTime" };
    }
    case column.double:
      return { value: doubleText(takeDouble()), type: "Double" };
    case column.guid: {
      const value = text.slice(textPosition, textPosition + guidUnits);
      textPosition += guidUnits;
      return { value, type: "Guid" };
    }
    case column.int32:
      return { value: String(takeWord()), type: "Int32" };
    case column.int64: {
      at += at & 1;
      const value = String(longs[at >>> 1]);
      at += 2;
      return { value, type: "Int64" };
    }
    default:
      return null; // selected, but absent
  }
}

function takeDouble(): number {
  at += at & 1;
  const value = doubles[at >>> 1] as number;
  at += 2;
  return value;
}

// Few bytes are copied value by value. More are copied once, and each value is a view of that copy: a buffer costs as much as
// a dozen small copies. In Node a Buffer, as from the official client.
const smallBytes = 256;

function takeBinary(length: number): Uint8Array {
  const from = binaryPosition;
  binaryPosition += length;
  if (binaryArea instanceof Uint8Array) return copyOf(binaryArea, from, length);
  return nodeBuffer === undefined
    ? new Uint8Array(binaryArea, from, length)
    : nodeBuffer.from(binaryArea, from, length);
}

function copyOf(area: Uint8Array, from: number, length: number): Uint8Array {
  if (nodeBuffer === undefined) return area.slice(from, from + length);
  const copy = nodeBuffer.allocUnsafe(length);
  copy.set(area.subarray(from, from + length));
  return copy;
}

interface NodeBuffer {
  from(buffer: ArrayBuffer, offset: number, length: number): Uint8Array;
  allocUnsafe(length: number): Uint8Array;
}

// Only in Node: a bundler's stand-in is no reason.
const host = globalThis as { process?: { versions?: { node?: string } }; Buffer?: NodeBuffer };
const nodeBuffer = host.process?.versions?.node === undefined ? undefined : host.Buffer;

function takeBinaries(reply: Uint8Array, binaryBytes: number, apart: boolean): void {
  binaryPosition = 0;
  if (binaryBytes === 0) return; // close() left an empty area
  const inReply = reply.subarray(reply.length - binaryBytes);
  if (apart || binaryBytes <= smallBytes) {
    binaryArea = inReply;
  } else {
    const area = new Uint8Array(binaryBytes);
    area.set(inReply);
    binaryArea = area.buffer;
  }
}

export function decodePage(reply: Uint8Array, options: DecodeOptions = {}): EntityPage {
  open(reply, replyKind.page);
  takeBinaries(reply, words[at - 1] as number, options.apart === true);
  const rowCount = takeWord();
  const shapeCount = takeWord();
  const partitionKey = takeOptionalText();
  const rowKey = takeOptionalText();
  const shapes: Shape[] = [];
  for (let s = 0; s < shapeCount; ++s) shapes.push(takeShape());
  const take = options.disableTypeConversion === true ? takeTypedRows : takeRows;
  const page: EntityPage = { rows: take(rowCount, shapes) };
  if (partitionKey !== undefined) page.next = { partitionKey, rowKey: rowKey ?? "" };
  close();
  return page;
}

export function decodeEntity(
  reply: Uint8Array,
  options: DecodeOptions = {},
): Record<string, unknown> {
  return decodePage(reply, options).rows[0] as Record<string, unknown>;
}

// ---- Other replies --------------------------------------------------------------------------------------------------

export function decodeTables(reply: Uint8Array): { names: string[]; next?: string } {
  open(reply, replyKind.tables);
  const count = takeWord();
  const next = takeOptionalText();
  const names: string[] = [];
  for (let i = 0; i < count; ++i) names.push(takeText());
  close();
  return next === undefined ? { names } : { names, next };
}

// The ETag of a single write; undefined for a delete.
export function decodeWritten(reply: Uint8Array): string | undefined {
  open(reply, replyKind.written);
  takeWord(); // one
  const etag = takeOptionalText();
  close();
  return etag;
}

// One ETag per operation, undefined for a delete and for a table operation.
export function decodeWrite(reply: Uint8Array): { etags: (string | undefined)[] } {
  open(reply, replyKind.written);
  const count = takeWord();
  const etags: (string | undefined)[] = [];
  for (let i = 0; i < count; ++i) etags.push(takeOptionalText());
  close();
  return { etags };
}

// For a reply that should be an error: throws what it says, or that it is none.
export function throwReply(reply: Uint8Array): never {
  open(reply, replyKind.error);
  throw new StoreError("VersionConflict", "The reply is not an error.");
}

export function decodeExplain(reply: Uint8Array): Explain {
  open(reply, replyKind.explanation);
  const kind = takeText() as PlanKind;
  const serviceKind = takeText() as PlanKind;
  const rowsRead = takeCount();
  const rowsReturned = takeCount();
  const bytesRead = takeCount();
  const serviceRoundTrips = takeCount();
  const serviceTransactions = takeCount();
  const rangeCount = takeWord();
  const warningCount = takeWord();
  const ranges: ExplainRange[] = [];
  for (let i = 0; i < rangeCount; ++i) ranges.push(takeRange());
  const warnings: ExplainWarning[] = [];
  for (let i = 0; i < warningCount; ++i) {
    warnings.push({ code: takeText(), message: takeText(), help: takeText() });
  }
  close();
  return {
    kind,
    ranges,
    rowsRead,
    rowsReturned,
    bytesRead,
    serviceKind,
    serviceRoundTrips,
    serviceTransactions,
    warnings,
  };
}

function takeRange(): ExplainRange {
  const from = { partitionKey: takeText(), rowKey: takeText() };
  const partitionKey = takeOptionalText();
  const rowKey = takeOptionalText();
  if (partitionKey === undefined) return { from };
  return { from, to: { partitionKey, rowKey: rowKey ?? "" } };
}
