// Small pieces of bytes that live on: parts of a common buffer, one after the other. A buffer of its own costs an engine nearly a
// microsecond, and is given back by its garbage collector. Whoever posts such a piece copies it first (tabs/channel.ts): with a view
// its whole buffer would travel.

export const slabBytes = 65536;

// The largest piece that is a part. Beyond it, a buffer of its own hardly counts, and can be handed to another thread.
export const slabPieceBytes = 4096;

// How far a piece reaches with what separates it from the next one, which starts where eight bytes do.
const slabStep = (bytes: number) => (bytes + 7) & ~7;

let slab = new Uint8Array(0);
let used = 0;

// A copy of bytes[from, to).
export function slabCopy(bytes: Uint8Array, from: number, to: number): Uint8Array<ArrayBuffer> {
  const size = to - from;
  if (size > slabPieceBytes) return bytes.slice(from, to) as Uint8Array<ArrayBuffer>;
  if (used + size > slab.length) {
    slab = new Uint8Array(slabBytes);
    used = 0;
  }
  const piece = slab.subarray(used, used + size);
  piece.set(bytes.subarray(from, to));
  used += slabStep(size);
  return piece;
}
