// Blocks of writes that wait for their turn, or are not stored yet: one behind the other in chunks of memory that serve again. A buffer
// for each would cost an engine a microsecond, and its garbage collector as much.

interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  used: number;
  refCount: number; // blocks in it
}

const chunkBytes = 256 * 1024;
const ownChunkBytes = 64 * 1024; // a block of more is a chunk to itself
const freeChunksWhenIdle = 1;
// A fresh chunk costs the system a page fault for each 4 KB, which takes longer than what is copied into it. So while a burst goes on its
// chunks serve again, as many as a store may have to hold.
const freeChunksInBurst = 32;

// Where a block is, until it is released. A view of it is made when somebody wants one: of most blocks nobody does, and thousands that live
// until they are stored would be most of what the garbage collector finds alive.
export class PooledRequest {
  readonly chunk: Chunk;
  readonly at: number;
  readonly size: number;
  readonly callNumber: number | undefined; // as whoever keeps it says

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
  #chunk: Chunk | undefined; // where the next block goes
  readonly #freeChunks: Chunk[] = [];

  // A copy.
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

  // Nobody looks at it any more. One that is never released only keeps its chunk from serving again.
  release(pooled: PooledRequest): void {
    this.#release(pooled, freeChunksWhenIdle);
  }

  // The same of many. `hasMore`: more are being kept.
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

export const requestPool = new RequestPool(); // of all stores: a fork for a test costs none of its own

function emptyChunk(size: number): Chunk {
  return { bytes: new Uint8Array(size), used: 0, refCount: 0 };
}
