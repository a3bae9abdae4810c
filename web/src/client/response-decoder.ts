// Decodes RPC response messages into entities, pages and errors (core/rpc/LAYOUT.md).
//
// A response may be a view of wasm memory, so decoding copies everything out of it. All text is
// decoded at once and then sliced. Binary values are views of one common copy.

import { base64, dateTimeText, doubleText } from "../edm/edm.ts";
import type { StoreErrorCode } from "../errors.ts";
import { StoreError, serviceError } from "../errors.ts";
import type { Explain, ExplainRange, ExplainWarning, PlanKind } from "../types.ts";
import {
  absentLength,
  column,
  flagHeaders,
  flagLocalError,
  flagUtf16,
  headerBytes,
  messageVersion,
  responseKind,
} from "./message-layout.ts";

export interface DecodeOptions {
  disableTypeConversion?: boolean; // every property becomes { value: text, type }
  // Copies each binary value separately, since the rows belong to different callers.
  copyBinaries?: boolean;
}

export interface EntityPage {
  rows: Record<string, unknown>[];
  next?: { partitionKey: string; rowKey: string };
}

// Decodes a response as soon as it arrives. A response that is not a promise is decoded before the
// function returns, since a transport may reuse its memory (transport.ts).
export function decodeOnArrival<R>(
  response: Uint8Array | Promise<Uint8Array>,
  decode: (response: Uint8Array) => R,
): R | Promise<R> {
  return response instanceof Promise ? response.then(decode) : decode(response);
}

// ---- The message ------------------------------------------------------------------------------

// The message being decoded. Decoding is synchronous, so there is only one at a time.
let words: Int32Array;
let doubles: Float64Array;
let longs: BigInt64Array;
let at = 0; // the next word
let text = "";
let textPosition = 0;
const emptyArea = new ArrayBuffer(0);
// Set by prepareBinaries: a copy, or a view of the response.
let binaryArea: ArrayBuffer | Uint8Array = emptyArea;
let binaryPosition = 0;

let utf8: TextDecoder | undefined;

// The typed arrays over wasm memory are reused until that memory grows.
let viewedBuffer: ArrayBufferLike | undefined;

function openResponse(response: Uint8Array, expected: number): void {
  let message = response;
  if (message.byteOffset % 8 !== 0) message = message.slice();
  useBuffer(message);
  at = message.byteOffset >>> 2; // unsigned: wasm memory may pass 2 GB
  const head = words[at] as number;
  const kind = head & 0xff;
  const flags = (head >> 16) & 0xff;
  const textAt = words[at + 1] as number;
  const textBytes = words[at + 2] as number;
  if (((head >> 8) & 0xff) !== messageVersion) {
    throw new StoreError(
      "VersionConflict",
      "The response was made by another version of entitable.",
    );
  }
  const utf16 = (flags & flagUtf16) !== 0;
  if (expected === responseKind.writeResult) decodeEtags(message, textAt, textBytes, utf16);
  else decodeText(message, textAt, textBytes, utf16);
  textPosition = 0;
  at += headerBytes / 4;
  if (kind === responseKind.error) throwError(flags);
  if (kind !== expected) {
    throw new StoreError("VersionConflict", `The response is of kind ${kind}, not ${expected}.`);
  }
}

function useBuffer(message: Uint8Array): void {
  const buffer = message.buffer;
  if (buffer === viewedBuffer) return;
  words = new Int32Array(buffer, 0, buffer.byteLength >>> 2);
  doubles = new Float64Array(buffer, 0, buffer.byteLength >>> 3);
  longs = new BigInt64Array(buffer, 0, buffer.byteLength >>> 3);
  // A buffer that holds only one response is not kept alive.
  viewedBuffer = message.byteLength === buffer.byteLength ? undefined : buffer;
}

function decodeText(message: Uint8Array, from: number, length: number, utf16: boolean): void {
  if (length === 0) {
    text = "";
  } else if (utf16) {
    text = decodeUtf16(new Uint16Array(message.slice(from, from + length).buffer));
  } else {
    const short = length <= shortText ? decodeShortAscii(message, from, length) : undefined;
    text = short ?? decodeUtf8(message, from, length);
  }
}

// ETags of rows written within the same second differ only in their last characters. Decoding the
// common prefix is most of the time to decode the response to a single write, so the prefix is
// cached.
const etagPrefixBytes = 36;
let etagPrefix = ""; // of the previous ETag
const etagPrefixWords = new Int32Array(etagPrefixBytes / 4);

function decodeEtags(message: Uint8Array, from: number, length: number, utf16: boolean): void {
  const known =
    length > etagPrefixBytes &&
    length <= shortText &&
    hasCachedEtagPrefix(message.byteOffset + from);
  const rest = known
    ? decodeShortAscii(message, from + etagPrefixBytes, length - etagPrefixBytes)
    : undefined;
  if (rest !== undefined) {
    text = etagPrefix + rest;
    return;
  }
  decodeText(message, from, length, utf16);
  const at = message.byteOffset + from;
  const isAscii = text.length === length;
  if (length <= etagPrefixBytes || !isAscii || (at & 3) !== 0) return;
  const word = at >>> 2;
  etagPrefix = text.slice(0, etagPrefixBytes);
  etagPrefixWords.set(words.subarray(word, word + etagPrefixWords.length));
}

function hasCachedEtagPrefix(at: number): boolean {
  if (etagPrefix === "" || (at & 3) !== 0) return false;
  const word = at >>> 2;
  for (let i = 0; i < etagPrefixWords.length; ++i) {
    if (words[word + i] !== etagPrefixWords[i]) return false;
  }
  return true;
}

function decodeUtf8(message: Uint8Array, from: number, length: number): string {
  // ignoreBOM: a leading U+FEFF is text, not a mark; dropping it would shift every string.
  utf8 ??= new TextDecoder("utf-8", { ignoreBOM: true });
  return utf8.decode(message.subarray(from, from + length));
}

// Up to this length, text is decoded without TextDecoder. A browser's TextDecoder allocates its
// string outside of the engine's heap, which is slow for a point read or an ETag.
const shortText = 256;

// Reused arrays, by length. Engines spread plain arrays into arguments several times faster than
// typed arrays.
const codeUnitArrays: number[][] = [];

// Returns undefined if the bytes are not all ASCII.
function decodeShortAscii(bytes: Uint8Array, from: number, length: number): string | undefined {
  codeUnitArrays[length] ??= new Array<number>(length).fill(0);
  const units = codeUnitArrays[length];
  let all = 0;
  for (let i = 0; i < length; ++i) {
    const unit = bytes[from + i] as number;
    units[i] = unit;
    all |= unit;
  }
  return all > 0x7f ? undefined : String.fromCharCode.apply(null, units);
}

// Not TextDecoder("utf-16le"), which replaces unpaired surrogates.
function decodeUtf16(units: Uint16Array): string {
  let out = "";
  const step = 8192; // as many arguments as every engine takes
  for (let i = 0; i < units.length; i += step) {
    out += String.fromCharCode(...units.subarray(i, i + step));
  }
  return out;
}

function closeResponse(): void {
  text = "";
  binaryArea = emptyArea;
  if (viewedBuffer === undefined) releaseViews();
}

// Drops all views of wasm memory. A view would keep the whole memory of a closed store alive.
export function releaseViews(): void {
  viewedBuffer = undefined;
  words = emptyWords;
  doubles = emptyDoubles;
  longs = emptyLongs;
}
const emptyWords = new Int32Array(0);
const emptyDoubles = new Float64Array(0);
const emptyLongs = new BigInt64Array(0);

function readWord(): number {
  return words[at++] as number;
}

function readText(): string {
  const from = textPosition;
  textPosition += words[at++] as number;
  return text.slice(from, textPosition);
}

function readOptionalText(): string | undefined {
  if (words[at] === absentLength) {
    ++at;
    return undefined;
  }
  return readText();
}

// Reads a u64 count, which is far below 2^53.
function readCount(): number {
  at += at & 1;
  const low = readWord() >>> 0;
  return low + (readWord() >>> 0) * 0x1_0000_0000;
}

// ---- Errors -----------------------------------------------------------------------------------

const localErrorCodes: Readonly<Record<string, StoreErrorCode>> = {
  OutOfMemory: "OutOfMemory",
  Corrupted: "Corrupted",
  FormatTooNew: "FormatTooNew",
};

function throwError(flags: number): never {
  const status = readWord();
  readWord(); // the failing operation; the message names it
  const code = readText();
  const message = readText();
  const headers: [string, string][] = [];
  for (let count = flags & flagHeaders ? readWord() : 0; count > 0; --count) {
    headers.push([readText().toLowerCase(), readText()]);
  }
  closeResponse();
  const storeCode = flags & flagLocalError ? localErrorCodes[code] : undefined;
  if (storeCode !== undefined) throw new StoreError(storeCode, message);
  const error = serviceError(status, code, message);
  // The official client puts the headers of an error response there.
  Object.assign(error.details ?? {}, Object.fromEntries(headers));
  throw error;
}

// ---- Pages ------------------------------------------------------------------------------------

// The columns of the rows of one shape, cached across pages. `template` is an object of that shape:
// its copies start with all properties and stay in the engine's fast mode, whereas adding
// properties one by one to an empty object would not.
interface Shape {
  columns: Int32Array; // verbatim from the message, for comparison
  namesText: string; // verbatim from the message, for comparison
  names: string[];
  types: number[];
  template: Record<string, unknown>;
}

const shapeCache = new Map<number, Shape>();
const cachedShapesMax = 1000;

const systemNames: Readonly<Record<number, string>> = {
  [column.etag]: "etag",
  [column.partitionKey]: "partitionKey",
  [column.rowKey]: "rowKey",
  [column.timestamp]: "timestamp",
};

function readShape(): Shape {
  const hint = readWord();
  const count = readWord();
  const units = readWord();
  const from = textPosition;
  textPosition += units;
  const cached = hint === 0 ? undefined : shapeCache.get(hint);
  if (cached !== undefined && isSameShape(cached, count, from, units)) {
    at += count;
    return cached;
  }
  const shape = decodeShape(count, from, units);
  if (hint !== 0) {
    if (shapeCache.size >= cachedShapesMax) shapeCache.clear();
    shapeCache.set(hint, shape);
  }
  return shape;
}

function isSameShape(shape: Shape, count: number, from: number, units: number): boolean {
  const { columns, namesText } = shape;
  if (columns.length !== count || namesText.length !== units) return false;
  for (let c = 0; c < count; ++c) {
    if (columns[c] !== words[at + c]) return false;
  }
  return text.startsWith(namesText, from);
}

// A custom property written through REST may have the name of a system property. The system
// property wins, since concurrency control depends on it; the custom column is read and dropped.
const hiddenColumn = 32;
const reservedNames: ReadonlySet<string> = new Set(Object.values(systemNames));

function decodeShape(count: number, namesFrom: number, units: number): Shape {
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
      types.push(type | hiddenColumn);
    } else {
      types.push(type);
      members.push(`${JSON.stringify(name)}:${placeholderJson(type)}`);
    }
  }
  // JSON.parse, because adding more than a dozen properties by computed name turns an object into a
  // dictionary, and because JSON.parse treats "__proto__" like any other name.
  const template = JSON.parse(`{${members.join(",")}}`);
  const namesText = text.slice(namesFrom, namesFrom + units);
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

function readRows(rowCount: number, shapes: readonly Shape[]): Record<string, unknown>[] {
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
          if (units !== absentLength) {
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
          row[name] = readBinary(w[p++] as number);
          break;
        case column.null:
          break; // as in the template
        default: {
          at = p;
          textPosition = t;
          readTyped((types[c] as number) & ~hiddenColumn);
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

// Reads rows for disableTypeConversion: every property except the system properties becomes {
// value: text, type }.
function readTypedRows(rowCount: number, shapes: readonly Shape[]): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  let partition = "";
  for (let r = 0; r < rowCount; ++r) {
    const { names, types, template } = shapes[readWord()] as Shape;
    const row = { ...template };
    for (let c = 0; c < types.length; ++c) {
      const type = types[c] as number;
      if (type === column.partitionKey) {
        partition = readOptionalText() ?? partition;
        row[names[c] as string] = partition;
      } else if (type >= column.etag && type < hiddenColumn) {
        row[names[c] as string] = readText();
      } else {
        const value = readTyped(type & ~hiddenColumn);
        if (type < hiddenColumn) row[names[c] as string] = value;
      }
    }
    rows.push(row);
  }
  return rows;
}

function readTyped(type: number): { value: string; type: string } | null {
  switch (type) {
    case column.string:
      return { value: readText(), type: "String" };
    case column.binary:
      return { value: base64(readBinary(readWord())), type: "Binary" };
    case column.boolean:
      return { value: String(readWord() !== 0), type: "Boolean" };
    case column.dateTime: {
      const milliseconds = readDouble();
      return { value: dateTimeText(milliseconds, readWord()), type: "DateTime" };
    }
    case column.double:
      return { value: doubleText(readDouble()), type: "Double" };
    case column.guid: {
      const value = text.slice(textPosition, textPosition + guidUnits);
      textPosition += guidUnits;
      return { value, type: "Guid" };
    }
    case column.int32:
      return { value: String(readWord()), type: "Int32" };
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

function readDouble(): number {
  at += at & 1;
  const value = doubles[at >>> 1] as number;
  at += 2;
  return value;
}

// A short binary area is copied value by value. A longer one is copied once and each value is a
// view of that copy, since a buffer costs as much as a dozen short copies. In Node, values are
// Buffers, as in the official client.
const smallBytes = 256;

function readBinary(length: number): Uint8Array {
  const from = binaryPosition;
  binaryPosition += length;
  if (binaryArea instanceof Uint8Array) return copyBinary(binaryArea, from, length);
  return nodeBuffer === undefined
    ? new Uint8Array(binaryArea, from, length)
    : nodeBuffer.from(binaryArea, from, length);
}

function copyBinary(area: Uint8Array, from: number, length: number): Uint8Array {
  if (nodeBuffer === undefined) return area.slice(from, from + length);
  const copy = nodeBuffer.allocUnsafe(length);
  copy.set(area.subarray(from, from + length));
  return copy;
}

interface NodeBuffer {
  from(buffer: ArrayBuffer, offset: number, length: number): Uint8Array;
  allocUnsafe(length: number): Uint8Array;
}

// Only in Node: a bundler's polyfill of Buffer is not used.
const host = globalThis as { process?: { versions?: { node?: string } }; Buffer?: NodeBuffer };
const nodeBuffer = host.process?.versions?.node === undefined ? undefined : host.Buffer;

function prepareBinaries(response: Uint8Array, binaryBytes: number, copyBinaries: boolean): void {
  binaryPosition = 0;
  if (binaryBytes === 0) return; // closeResponse() left an empty area
  const binaryBytesInResponse = response.subarray(response.length - binaryBytes);
  if (copyBinaries || binaryBytes <= smallBytes) {
    binaryArea = binaryBytesInResponse;
  } else {
    const area = new Uint8Array(binaryBytes);
    area.set(binaryBytesInResponse);
    binaryArea = area.buffer;
  }
}

export function decodePage(response: Uint8Array, options: DecodeOptions = {}): EntityPage {
  openResponse(response, responseKind.page);
  prepareBinaries(response, words[at - 1] as number, options.copyBinaries === true);
  const rowCount = readWord();
  const shapeCount = readWord();
  const partitionKey = readOptionalText();
  const rowKey = readOptionalText();
  const shapes: Shape[] = [];
  for (let s = 0; s < shapeCount; ++s) shapes.push(readShape());
  const read = options.disableTypeConversion === true ? readTypedRows : readRows;
  const page: EntityPage = { rows: read(rowCount, shapes) };
  if (partitionKey !== undefined) page.next = { partitionKey, rowKey: rowKey ?? "" };
  closeResponse();
  return page;
}

export function decodeEntity(
  response: Uint8Array,
  options: DecodeOptions = {},
): Record<string, unknown> {
  return decodePage(response, options).rows[0] as Record<string, unknown>;
}

// ---- Other responses --------------------------------------------------------------------------

export function decodeTables(response: Uint8Array): { names: string[]; next?: string } {
  openResponse(response, responseKind.tables);
  const count = readWord();
  const next = readOptionalText();
  const names: string[] = [];
  for (let i = 0; i < count; ++i) names.push(readText());
  closeResponse();
  return next === undefined ? { names } : { names, next };
}

// Decodes the ETag of a single write; undefined for a delete.
export function decodeWriteEtag(response: Uint8Array): string | undefined {
  openResponse(response, responseKind.writeResult);
  readWord(); // the count, which is 1
  const etag = readOptionalText();
  closeResponse();
  return etag;
}

// Decodes one ETag per operation; undefined for a delete and for a table operation.
export function decodeWriteEtags(response: Uint8Array): { etags: (string | undefined)[] } {
  openResponse(response, responseKind.writeResult);
  const count = readWord();
  const etags: (string | undefined)[] = [];
  for (let i = 0; i < count; ++i) etags.push(readOptionalText());
  closeResponse();
  return { etags };
}

// Throws the error that the response holds. Throws VersionConflict if the response is not an error.
export function throwResponseError(response: Uint8Array): never {
  openResponse(response, responseKind.error);
  throw new StoreError("VersionConflict", "The response is not an error.");
}

export function decodeExplain(response: Uint8Array): Explain {
  openResponse(response, responseKind.explanation);
  const kind = readText() as PlanKind;
  const serviceKind = readText() as PlanKind;
  const rowsRead = readCount();
  const rowsReturned = readCount();
  const bytesRead = readCount();
  const serviceRoundTrips = readCount();
  const serviceTransactions = readCount();
  const rangeCount = readWord();
  const warningCount = readWord();
  const ranges: ExplainRange[] = [];
  for (let i = 0; i < rangeCount; ++i) ranges.push(readRange());
  const warnings: ExplainWarning[] = [];
  for (let i = 0; i < warningCount; ++i) {
    warnings.push({ code: readText(), message: readText(), help: readText() });
  }
  closeResponse();
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

function readRange(): ExplainRange {
  const from = { partitionKey: readText(), rowKey: readText() };
  const partitionKey = readOptionalText();
  const rowKey = readOptionalText();
  if (partitionKey === undefined) return { from };
  return { from, to: { partitionKey, rowKey: rowKey ?? "" } };
}
