// Encodes HTTP requests as request messages and decodes HTTP responses from response messages.
// core/rest/http_codec.h describes the layout.

import { StoreError } from "../errors.ts";
import type { RandomSource } from "../types.ts";
import { httpRequestKind, httpResponseKind } from "../util/engine-message-kinds.ts";

export type HeaderList = readonly (readonly [name: string, value: string])[];

export interface HttpRequest {
  method: string;
  url: string; // absolute, percent-encoded
  headers: HeaderList;
  body: Uint8Array;
  clientIp: string; // empty: the client is in the same process
  trusted?: boolean | undefined; // sent by this package itself: needs no authorization
  // The body was not received yet, so `body` is empty (Request::body_pending in core/rest/http.h).
  bodyPending?: boolean | undefined;
  id?: Uint8Array | undefined; // of newRequestId(); absent: a new one
}

export interface HttpResponse {
  status: number;
  reason: string;
  headers: HeaderList;
  body: Uint8Array<ArrayBuffer>; // not a view of the message
}

const version = 1;
const flagTrusted = 1;
const flagBodyPending = 2;
const requestIdOffset = 24;
const requestHeaderBytes = 40;
const responseHeaderBytes = 16;

// Returns an id for a request. The ids in its response are derived from it.
export function newRequestId(random: RandomSource): Uint8Array {
  const id = new Uint8Array(requestHeaderBytes - requestIdOffset);
  random.fill(id);
  return id;
}

// Returns whether the request message says that its body is pending.
export function isBodyPending(request: Uint8Array): boolean {
  return request[0] === httpRequestKind && ((request[2] as number) & flagBodyPending) !== 0;
}

// Encodes a request. `random` supplies the id of a request without one.
export function encodeHttpRequest(request: HttpRequest, random: RandomSource): Uint8Array {
  const strings = [request.method, request.url, request.clientIp];
  for (const [name, value] of request.headers) strings.push(name, value);
  const texts = strings.map(toByteString);
  let size = requestHeaderBytes + request.headers.length * 8 + request.body.length;
  for (const text of texts) size += text.length;
  const message = new Uint8Array(size);
  const view = new DataView(message.buffer);
  view.setUint8(0, httpRequestKind);
  view.setUint8(1, version);
  view.setUint8(
    2,
    (request.trusted ? flagTrusted : 0) + (request.bodyPending ? flagBodyPending : 0),
  );
  const [method, url, clientIp] = texts as [string, string, string];
  const lengths = [method.length, url.length, clientIp.length, request.body.length];
  for (const [i, length] of lengths.entries()) view.setUint32(4 + i * 4, length, true);
  view.setUint32(20, request.headers.length, true);
  if (request.id === undefined) random.fill(message.subarray(requestIdOffset, requestHeaderBytes));
  else message.set(request.id, requestIdOffset);
  let offset = requestHeaderBytes;
  for (const text of texts.slice(3)) {
    view.setUint32(offset, text.length, true);
    offset += 4;
  }
  for (const text of texts) offset = writeByteString(message, offset, text);
  message.set(request.body, offset);
  return message;
}

// Returns whether the message is an HTTP response. Otherwise it is an error message of the RPC
// format.
export function isHttpResponseMessage(message: Uint8Array): boolean {
  return message[0] === httpResponseKind;
}

export function decodeHttpResponse(message: Uint8Array): HttpResponse {
  if (message[1] !== version) {
    throw new StoreError(
      "VersionConflict",
      "The response was made by another version of entitable.",
    );
  }
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const reasonLength = view.getUint32(4, true);
  const bodyLength = view.getUint32(8, true);
  const count = view.getUint32(12, true);
  const bodyOffset = message.length - bodyLength;
  let offset = responseHeaderBytes + count * 8;
  const text = decodeByteString(message.subarray(offset, bodyOffset));
  const headers: [string, string][] = [];
  const reason = text.slice(0, reasonLength);
  offset = reasonLength;
  for (let i = 0; i < count; ++i) {
    const name = view.getUint32(responseHeaderBytes + i * 8, true);
    const value = view.getUint32(responseHeaderBytes + i * 8 + 4, true);
    headers.push([
      text.slice(offset, offset + name),
      text.slice(offset + name, offset + name + value),
    ]);
    offset += name + value;
  }
  const body = message.slice(bodyOffset) as Uint8Array<ArrayBuffer>;
  return { status: view.getUint16(2, true), reason, headers, body };
}

// Returns the text as a byte string: one character per byte. The platform's headers already are
// byte strings. Text with other characters is encoded as UTF-8.
function toByteString(text: string): string {
  for (let i = 0; i < text.length; ++i) {
    if (text.charCodeAt(i) > 0xff) return decodeByteString(new TextEncoder().encode(text));
  }
  return text;
}

function writeByteString(message: Uint8Array, from: number, text: string): number {
  for (let i = 0; i < text.length; ++i) message[from + i] = text.charCodeAt(i);
  return from + text.length;
}

let ascii: TextDecoder | undefined;

// Decodes bytes to one character per byte. TextDecoder cannot do that: its "latin1" is
// Windows-1252. ASCII, the usual case, is decoded by the fast UTF-8 decoder. If other bytes occur,
// its result is shorter or has a replacement character, and the slow function decodes again.
function decodeByteString(bytes: Uint8Array): string {
  ascii ??= new TextDecoder();
  const text = ascii.decode(bytes);
  if (text.length === bytes.length && !text.includes("\ufffd")) return text;
  return byteStringFromUnits(bytes);
}

function byteStringFromUnits(bytes: Uint8Array): string {
  const step = 8192; // fewer arguments than any engine's limit for a call
  let text = "";
  for (let offset = 0; offset < bytes.length; offset += step) {
    text += String.fromCharCode(...bytes.subarray(offset, offset + step));
  }
  return text;
}
