// Calls: request messages after a header with a client id and a call number, by which the store
// recognises a call that was already applied (core/dispatch/call_header.h).

import { callHeaderBytes, callKind } from "./engine-message-kinds.ts";

const callVersion = 1;

// Writes the header of a call at `at`. Byte by byte, which is faster than fill() and set() for so
// few bytes.
export function writeCallHeader(
  to: Uint8Array,
  at: number,
  client: Uint8Array,
  number: number,
): void {
  to[at] = callKind;
  to[at + 1] = callVersion;
  for (let i = 2; i < 8; ++i) to[at + i] = 0;
  let rest = number;
  for (let i = 8; i < 16; ++i) {
    to[at + i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  for (let i = 0; i < 16; ++i) to[at + 16 + i] = client[i] as number;
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
