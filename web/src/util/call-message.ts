// Calls: request messages after a header with a client id and a call number, by which the store
// recognises a call that was already applied (core/dispatch/call.h).

import { callHeaderBytes, callKind, messageVersion, requestKind } from "./engine-message-kinds.ts";

const callVersion = 1;

// Writes the header of a call at `at`.
export function writeCallHeader(
  to: Uint8Array,
  at: number,
  client: Uint8Array,
  number: number,
): void {
  to.fill(0, at, at + 16);
  to[at] = callKind;
  to[at + 1] = callVersion;
  for (let i = at + 8, rest = number; rest > 0; rest = Math.floor(rest / 256)) to[i++] = rest % 256;
  to.set(client, at + 16);
}

export function wrapInCall(
  request: Uint8Array,
  client: Uint8Array,
  number: number,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(callHeaderBytes + request.length);
  writeCallHeader(bytes, 0, client, number);
  bytes.set(request, callHeaderBytes);
  return bytes;
}

// Returns the call number (8 bytes) and client id (16 bytes) of a call; undefined if the message is
// not wrapped in a call.
export function callIdOf(request: Uint8Array): Uint8Array | undefined {
  return request[0] === callKind ? request.subarray(8, callHeaderBytes) : undefined;
}

// Returns the call number and the client id as callIdOf() does.
export function callId(client: Uint8Array, number: number): Uint8Array {
  return wrapInCall(new Uint8Array(0), client, number).subarray(8);
}

// Returns a copy of the message, without the call around it if there is one.
export function unwrapCall(request: Uint8Array): Uint8Array<ArrayBuffer> {
  return request[0] === callKind ? request.slice(callHeaderBytes) : new Uint8Array(request);
}

// Returns a call that never changes anything. It succeeds if the store knows a call with this
// number, and fails otherwise. Its message drops the table with the empty name, which no table has.
export function probeCall(client: Uint8Array, number: number): Uint8Array {
  const message = new Int32Array(5);
  message[0] = requestKind.dropTable | (messageVersion << 8);
  message[1] = message.byteLength; // where the text begins, which is empty
  return wrapInCall(new Uint8Array(message.buffer), client, number);
}
