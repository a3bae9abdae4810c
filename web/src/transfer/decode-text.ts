// Decodes bytes as UTF-8, or as UTF-16 if they begin with the byte order mark of UTF-16. Invalid
// bytes are an error.

import type { ImportSource } from "../types.ts";
import type { TransferDependencies } from "./option-checks.ts";

const chunkUnits = 64 * 1024;
const byteOrderMark = "\ufeff";

/** Thrown when the bytes after the decoded text are invalid. */
export class InvalidTextError extends Error {
  constructor() {
    super("The next bytes are not valid UTF-8.");
    this.name = "InvalidTextError";
  }
}

/**
 * Yields the text in chunks, without a byte order mark. If bytes are invalid, yields the text
 * before them and then throws InvalidTextError.
 */
export async function* decodeText(
  source: ImportSource,
  chunksFrom: TransferDependencies["chunksFrom"],
): AsyncGenerator<string> {
  let begins = true;
  for await (const text of typeof source === "string"
    ? [source]
    : decodeChunks(chunksFrom(source))) {
    let at = begins && text.startsWith(byteOrderMark) ? 1 : 0;
    begins &&= text === "";
    for (; at < text.length; at += chunkUnits) yield text.slice(at, at + chunkUnits);
  }
}

async function* decodeChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = new Uint8Array(); // an incomplete character at the end of the last chunk
  let encoding: Encoding | undefined;
  for await (const chunk of chunks) {
    const bytes = concatenate(rest, chunk);
    if (encoding === undefined && bytes.length < 2) {
      rest = bytes;
      continue;
    }
    encoding ??= encodingOf(bytes);
    const whole =
      encoding === "utf-8" ? completeUtf8Length(bytes) : completeUtf16Length(bytes, encoding);
    rest = bytes.slice(whole);
    yield* decode(bytes.subarray(0, whole), encoding);
  }
  yield* decode(rest, encoding ?? "utf-8");
}

type Encoding = "utf-8" | "utf-16le" | "utf-16be";

function encodingOf(bytes: Uint8Array): Encoding {
  const first = ((bytes[0] as number) << 8) | (bytes[1] as number);
  return first === 0xfffe ? "utf-16le" : first === 0xfeff ? "utf-16be" : "utf-8";
}

function concatenate(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

// Returns the length of the bytes without an incomplete character at their end.
function completeUtf8Length(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; ++back) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return back < length ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function completeUtf16Length(bytes: Uint8Array, encoding: Encoding): number {
  const units = bytes.length & ~1;
  const high = bytes[encoding === "utf-16le" ? units - 1 : units - 2] ?? 0;
  return high >= 0xd8 && high < 0xdc ? units - 2 : units;
}

function* decode(bytes: Uint8Array, encoding: Encoding): Generator<string> {
  const decodeWith = (fatal: boolean) =>
    new TextDecoder(encoding, { fatal, ignoreBOM: true }).decode(bytes);
  let text: string;
  try {
    text = decodeWith(true);
  } catch {
    text = decodeWith(false);
    if (encoding === "utf-8") yield text.slice(0, validPrefixLength(text, bytes));
    throw new InvalidTextError();
  }
  yield text;
}

// Returns how many UTF-16 units of the decoded text encode to the same bytes again. After them, the
// decoder has replaced invalid bytes.
function validPrefixLength(text: string, bytes: Uint8Array): number {
  let at = 0;
  for (let units = 0; units < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(units) as number);
    for (const byte of new TextEncoder().encode(character)) {
      if (bytes[at++] !== byte) return units;
    }
    units += character.length;
  }
  return text.length;
}
