// Blocks of writes that wait for their turn, or are not stored yet: one behind the other in chunks of memory that serve again. A buffer
// for each would cost an engine a microsecond, and its garbage collector as much.

interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  used: number;
  held: number; // blocks in it
}

const chunkBytes = 256 * 1024;
const apartBytes = 64 * 1024; // a block of more is a chunk to itself
const sparesAtRest = 1;
// A fresh chunk costs the system a page fault for each 4 KB, which takes longer than what is copied into it. So while a burst goes on its
// chunks serve again, as many as a store may have to hold.
const sparesInBurst = 32;

// Where a block is, until it is released. A view of it is made when somebody wants one: of most blocks nobody does, and thousands that live
// until they are stored would be most of what the garbage collector finds alive.
export class KeptBlock {
  readonly chunk: Chunk;
  readonly at: number;
  readonly size: number;
  readonly place: number | undefined; // as whoever keeps it says

  constructor(chunk: Chunk, size: number, place: number | undefined) {
    this.chunk = chunk;
    this.at = chunk.used;
    this.size = size;
    this.place = place;
  }

  get block(): Uint8Array<ArrayBuffer> {
    return this.chunk.bytes.subarray(this.at, this.at + this.size);
  }
}

export class KeptBlocks {
  #chunk: Chunk | undefined; // where the next block goes
  readonly #spares: Chunk[] = [];

  // A copy.
  keep(block: Uint8Array, place?: number): KeptBlock {
    const chunk = this.#chunkFor(block.length);
    const kept = new KeptBlock(chunk, block.length, place);
    chunk.bytes.set(block, chunk.used);
    chunk.used += block.length;
    chunk.held += 1;
    return kept;
  }

  #chunkFor(size: number): Chunk {
    if (size > apartBytes) return emptyChunk(size);
    let chunk = this.#chunk;
    if (chunk === undefined || chunk.used + size > chunkBytes) {
      chunk = this.#spares.pop() ?? emptyChunk(chunkBytes);
      this.#chunk = chunk;
    }
    return chunk;
  }

  // Nobody looks at it any more. One that is never released only keeps its chunk from serving again.
  release(kept: KeptBlock): void {
    this.#release(kept, sparesAtRest);
  }

  // The same of many. `goesOn`: more are being kept.
  releaseAll(blocks: readonly KeptBlock[], goesOn: boolean): void {
    for (const kept of blocks) this.#release(kept, sparesInBurst);
    if (!goesOn) this.#spares.length = Math.min(this.#spares.length, sparesAtRest);
  }

  #release({ chunk }: KeptBlock, sparesMax: number): void {
    chunk.held -= 1;
    if (chunk.held > 0) return;
    chunk.used = 0;
    const serves = chunk !== this.#chunk && chunk.bytes.length === chunkBytes;
    if (serves && this.#spares.length < sparesMax) this.#spares.push(chunk);
  }
}

export const keptBlocks = new KeptBlocks(); // of all stores: a fork for a test costs none of its own

function emptyChunk(size: number): Chunk {
  return { bytes: new Uint8Array(size), used: 0, held: 0 };
}
