// A pool for the request messages of writes that are queued or not stored yet. Messages are copied
// one after the other into reused chunks of memory. One buffer per message would be slow, and work
// for the garbage collector.

import { writeCallHeader } from "../util/call-message.ts";
import { callHeaderBytes } from "../util/engine-message-kinds.ts";
import { freeBytes } from "../util/free-bytes.ts";

interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  used: number;
  refCount: number; // number of messages in the chunk that are in use
}

const chunkBytes = 256 * 1024;
const ownChunkBytes = 64 * 1024; // a longer message gets a chunk of its own
const freeChunksWhenIdle = 1;
// A new chunk costs a page fault for each 4 KB, which takes longer than copying the messages.
// During a burst of writes, this many free chunks are therefore kept for reuse.
const freeChunksInBurst = 32;

// The position of a message in the pool, until the message is released. A view of the bytes is
// created only on demand: most messages never need one, and thousands of views would be work for
// the garbage collector.
export class PooledRequest {
  readonly chunk: Chunk;
  readonly at: number;
  readonly size: number;
  readonly callNumber: number | undefined; // the argument of add() or addCall()

  constructor(chunk: Chunk, size: number, callNumber: number | undefined) {
    this.chunk = chunk;
    this.at = chunk.used;
    this.size = size;
    this.callNumber = callNumber;
  }

  get request(): Uint8Array<ArrayBuffer> {
    return this.chunk.bytes.subarray(this.at, this.at + this.size);
  }
}

export class RequestPool {
  #chunk: Chunk | undefined; // the chunk that gets the next message
  readonly #freeChunks: Chunk[] = [];

  // Copies a message into the pool.
  add(request: Uint8Array, callNumber?: number): PooledRequest {
    const pooled = this.#allocate(request.length, callNumber);
    pooled.chunk.bytes.set(request, pooled.at);
    return pooled;
  }

  // Copies a message into the pool, wrapped in a call.
  addCall(request: Uint8Array, client: Uint8Array, callNumber: number): PooledRequest {
    const pooled = this.#allocate(callHeaderBytes + request.length, callNumber);
    const { bytes } = pooled.chunk;
    writeCallHeader(bytes, pooled.at, client, callNumber);
    bytes.set(request, pooled.at + callHeaderBytes);
    return pooled;
  }

  #allocate(size: number, callNumber: number | undefined): PooledRequest {
    const chunk = this.#chunkFor(size);
    const pooled = new PooledRequest(chunk, size, callNumber);
    chunk.used += size;
    chunk.refCount += 1;
    return pooled;
  }

  #chunkFor(size: number): Chunk {
    if (size > ownChunkBytes) return emptyChunk(size);
    let chunk = this.#chunk;
    if (chunk === undefined || chunk.used + size > chunkBytes) {
      chunk = this.#freeChunks.pop() ?? emptyChunk(chunkBytes);
      this.#chunk = chunk;
    }
    return chunk;
  }

  // Releases a message, which must not be used afterwards. If a message is never released, its
  // chunk is not reused but garbage-collected.
  release(pooled: PooledRequest): void {
    this.#release(pooled, freeChunksWhenIdle);
  }

  // Releases many messages. `hasMore`: the caller has further messages in the pool.
  releaseMany(requests: readonly PooledRequest[], hasMore: boolean): void {
    for (const pooled of requests) this.#release(pooled, freeChunksInBurst);
    if (!hasMore) this.#freeChunks.length = Math.min(this.#freeChunks.length, freeChunksWhenIdle);
  }

  #release({ chunk }: PooledRequest, freeChunksMax: number): void {
    chunk.refCount -= 1;
    if (chunk.refCount > 0) return;
    chunk.used = 0;
    if (chunk === this.#chunk) return;
    const isReusable = chunk.bytes.length === chunkBytes;
    if (isReusable && this.#freeChunks.length < freeChunksMax) this.#freeChunks.push(chunk);
    else freeBytes(chunk.bytes);
  }
}

// All stores share one pool, so that a fork for a test needs no chunk of its own.
export const requestPool = new RequestPool();

function emptyChunk(size: number): Chunk {
  return { bytes: new Uint8Array(size), used: 0, refCount: 0 };
}
