// Reads bytes from buffers, Blobs and streams chunk by chunk, and yields to the event loop in
// between.

import { StoreError } from "../errors.ts";
import type { SnapshotSource } from "../types.ts";
import { yieldToEventLoop } from "./event-loop.ts";

const chunkBytesMax = 256 * 1024;
const bytesPerTurn = 8 * 1024 * 1024; // bytes that are copied before yielding to the event loop

/**
 * Yields the source's bytes in chunks of at most 256 KB, each in its own turn of the event loop.
 * Throws StoreError ValidationFailed if the source is none of the allowed types, and the source's
 * own errors.
 */
export async function* smallChunksFrom(
  source: SnapshotSource,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const bytes of chunksFrom(source)) {
    for (let at = 0; at < bytes.length; at += chunkBytesMax) {
      yield bytes.subarray(at, at + chunkBytesMax);
      await yieldToEventLoop();
    }
  }
}

/**
 * Resolves to all bytes of the source. They are a copy, unless the source is a byte array. Rejects
 * with the errors of smallChunksFrom().
 */
export async function readAllBytes(source: SnapshotSource): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of chunksFrom(source)) chunks.push(chunk);
  return await concatChunks(chunks);
}

/**
 * Returns the concatenated chunks. Yields to the event loop from time to time. A single chunk is
 * not copied.
 */
export async function concatChunks(
  chunks: readonly Uint8Array<ArrayBuffer>[],
): Promise<Uint8Array<ArrayBuffer>> {
  if (chunks.length === 1) return chunks[0] as Uint8Array<ArrayBuffer>;
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  let yieldedAt = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
    if (at - yieldedAt < bytesPerTurn) continue;
    yieldedAt = at;
    await yieldToEventLoop();
  }
  return bytes;
}

/** Yields the chunks that the source supplies. Throws the errors of smallChunksFrom(). */
export async function* chunksFrom(source: SnapshotSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const bytes = toBytes(source);
  if (bytes !== undefined) {
    yield bytes;
    return;
  }
  const stream = (source as Partial<Blob>)?.stream?.() ?? (source as ReadableStream<Uint8Array>);
  if (typeof stream?.getReader !== "function") throw notBytesError();
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      ended = done;
      if (done) return;
      const chunk = toBytes(value);
      if (chunk === undefined) throw notBytesError();
      yield chunk;
    }
  } finally {
    if (!ended) await reader.cancel().catch(() => {});
  }
}

function toBytes(source: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (ArrayBuffer.isView(source)) {
    return new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength);
  }
  return source instanceof ArrayBuffer ? new Uint8Array(source) : undefined;
}

function notBytesError(): StoreError {
  return new StoreError(
    "ValidationFailed",
    "The source is not bytes, a Blob or a stream of bytes.",
  );
}
