// Reads bytes from buffers, Blobs and streams chunk by chunk, and yields to the event loop in
// between.

import { AbortError, StoreError } from "../errors.ts";
import type { SnapshotSource } from "../types.ts";
import { yieldToEventLoop } from "./event-loop.ts";
import { isArrayBuffer } from "./platform-objects.ts";

const chunkBytesMax = 256 * 1024;
const bytesPerTurn = 8 * 1024 * 1024; // bytes that are copied before yielding to the event loop

/**
 * Yields the source's bytes in chunks of at most 256 KB, each in its own turn of the event loop.
 * Throws StoreError ValidationFailed if the source is none of the allowed types, AbortError if
 * `signal` aborts while it reads a Blob or a stream, and the source's own errors.
 */
async function* smallChunksFrom(
  source: SnapshotSource,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const bytes of chunksFrom(source, signal)) {
    for (let at = 0; at < bytes.length; at += chunkBytesMax) {
      yield bytes.subarray(at, at + chunkBytesMax);
      await yieldToEventLoop();
    }
  }
}

/**
 * Returns the source as a file (ChunkedFile in transport.ts). Its chunks() throws the errors of
 * smallChunksFrom(), and StoreError ConnectionLost if a stream would be read a second time, because
 * another owner must read it.
 */
export function chunkedFile(source: SnapshotSource): {
  chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  cancel(): void;
} {
  const isStream = typeof (source as Partial<ReadableStream>)?.getReader === "function";
  let state: "new" | "begun" | "ended" = "new";
  let failure: { error: unknown } | undefined;
  let reading = new AbortController();
  return {
    async *chunks() {
      if (failure !== undefined) throw failure.error;
      if (isStream && state !== "new") throw streamReadError(state === "ended");
      state = "begun";
      reading = new AbortController();
      const { signal } = reading;
      try {
        yield* smallChunksFrom(source, signal);
        state = "ended";
      } catch (error) {
        if (!signal.aborted) failure = { error };
        throw error;
      }
    },
    cancel: () => reading.abort(),
  };
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
export async function* chunksFrom(
  source: SnapshotSource,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const bytes = toBytes(source);
  if (bytes !== undefined) {
    yield bytes;
    return;
  }
  const blob = source as Partial<Blob>;
  if (typeof blob?.arrayBuffer === "function" && blob.stream === undefined) {
    yield new Uint8Array(await blob.arrayBuffer()); // the Blob of jsdom
    return;
  }
  const stream = blob?.stream?.() ?? (source as ReadableStream<Uint8Array>);
  if (typeof stream?.getReader !== "function") throw notBytesError();
  const reader = stream.getReader();
  let ended = false;
  const cancel = () => reader.cancel().catch(() => {});
  signal?.addEventListener("abort", cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (signal?.aborted) throw new AbortError();
      ended = done;
      if (done) return;
      const chunk = toBytes(value);
      if (chunk === undefined) throw notBytesError();
      yield chunk;
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    if (!ended) await cancel();
  }
}

function toBytes(source: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (ArrayBuffer.isView(source)) {
    return new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength);
  }
  return isArrayBuffer(source) ? new Uint8Array(source) : undefined;
}

// If all of the stream was read, the call may have had its effect.
function streamReadError(uncertain: boolean): StoreError {
  const message = "The store's owner changed, and a stream can be read only once.";
  const hint = "Restore from a new stream, or from bytes or a Blob, which can be read again.";
  return new StoreError("ConnectionLost", message, { hint, uncertain });
}

function notBytesError(): StoreError {
  return new StoreError(
    "ValidationFailed",
    "The source is not bytes, a Blob or a stream of bytes.",
  );
}
