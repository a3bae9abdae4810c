// Blocks of writes that wait for their turn, or are not stored yet: one behind the other in chunks of memory that serve again. A buffer
// for each would cost an engine a microsecond, and its garbage collector as much.

interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  used: number;
  held: number; // blocks in it
}

export interface KeptBlock {
  readonly block: Uint8Array; // valid until it is released
  readonly chunk: Chunk | undefined; // none: it is a buffer to itself
}

const chunkBytes = 256 * 1024;
const apartBytes = 64 * 1024; // a block of more is a buffer to itself
const sparesMax = 4;

export class KeptBlocks {
  #chunk: Chunk | undefined; // where the next block goes
  readonly #spares: Chunk[] = [];

  // A copy.
  keep(block: Uint8Array): KeptBlock {
    const size = block.length;
    if (size > apartBytes) return { block: block.slice(), chunk: undefined };
    let chunk = this.#chunk;
    if (chunk === undefined || chunk.used + size > chunkBytes) {
      chunk = this.#spares.pop() ?? { bytes: new Uint8Array(chunkBytes), used: 0, held: 0 };
      this.#chunk = chunk;
    }
    const kept = chunk.bytes.subarray(chunk.used, chunk.used + size);
    kept.set(block);
    chunk.used += size;
    chunk.held += 1;
    return { block: kept, chunk };
  }

  // Nobody looks at it any more. One that is never released only keeps its chunk from serving again.
  release({ chunk }: KeptBlock): void {
    if (chunk === undefined) return;
    chunk.held -= 1;
    if (chunk.held > 0) return;
    chunk.used = 0;
    if (chunk !== this.#chunk && this.#spares.length < sparesMax) this.#spares.push(chunk);
  }
}
