// A pool for the request messages of writes that are queued or not stored yet. Messages lie one
// behind the other in reused chunks of memory, since one buffer per message would be slow and
// burden the garbage collector.

interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  used: number;
  refCount: number; // messages in it
}

const chunkBytes = 256 * 1024;
const ownChunkBytes = 64 * 1024; // a longer message gets its own chunk
const freeChunksWhenIdle = 1;
// A new chunk costs a page fault for each 4 KB, which takes longer than copying the messages.
// Chunks are therefore reused during a burst, as many as a store may have to hold.
const freeChunksInBurst = 32;

// The place of a message in the pool, until the message is released. Its view is created on demand:
// most messages never need one, and thousands of views would burden the garbage collector.
export class PooledRequest {
  readonly chunk: Chunk;
  readonly at: number;
  readonly size: number;
  readonly callNumber: number | undefined; // as given to add()

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
  #chunk: Chunk | undefined; // where the next message goes
  readonly #freeChunks: Chunk[] = [];

  // Copies a message into the pool.
  add(request: Uint8Array, callNumber?: number): PooledRequest {
    const chunk = this.#chunkFor(request.length);
    const pooled = new PooledRequest(chunk, request.length, callNumber);
    chunk.bytes.set(request, chunk.used);
    chunk.used += request.length;
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

  // Releases a message, which must not be used afterwards. A message that is never released only
  // keeps its chunk from being reused.
  release(pooled: PooledRequest): void {
    this.#release(pooled, freeChunksWhenIdle);
  }

  // Releases many messages. `hasMore`: the pool still holds further messages of the caller.
  releaseAll(requests: readonly PooledRequest[], hasMore: boolean): void {
    for (const pooled of requests) this.#release(pooled, freeChunksInBurst);
    if (!hasMore) this.#freeChunks.length = Math.min(this.#freeChunks.length, freeChunksWhenIdle);
  }

  #release({ chunk }: PooledRequest, freeChunksMax: number): void {
    chunk.refCount -= 1;
    if (chunk.refCount > 0) return;
    chunk.used = 0;
    const isReusable = chunk !== this.#chunk && chunk.bytes.length === chunkBytes;
    if (isReusable && this.#freeChunks.length < freeChunksMax) this.#freeChunks.push(chunk);
  }
}

// Shared by all stores, so that a fork for a test needs none.
export const requestPool = new RequestPool();

function emptyChunk(size: number): Chunk {
  return { bytes: new Uint8Array(size), used: 0, refCount: 0 };
}
