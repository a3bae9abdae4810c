// Small pieces of bytes that live on: parts of a common buffer, one after the other. A buffer of its own costs an engine nearly a
// microsecond, and is given back by its garbage collector. Whoever posts such a piece copies it first (tabs/channel.ts): with a view
// its whole buffer would travel.

export const arenaBytes = 65536;

// The largest piece that is a part. Beyond it, a buffer of its own hardly counts, and can be handed to another thread.
export const arenaCopyBytesMax = 4096;

// How far a piece reaches with what separates it from the next one, which starts where eight bytes do.
const alignedSize = (bytes: number) => (bytes + 7) & ~7;

let arena = new Uint8Array(0);
let used = 0;

// A copy of bytes[from, to).
export function copyToArena(bytes: Uint8Array, from: number, to: number): Uint8Array<ArrayBuffer> {
  const size = to - from;
  if (size > arenaCopyBytesMax) return bytes.slice(from, to) as Uint8Array<ArrayBuffer>;
  if (used + size > arena.length) {
    arena = new Uint8Array(arenaBytes);
    used = 0;
  }
  const copy = arena.subarray(used, used + size);
  copy.set(bytes.subarray(from, to));
  used += alignedSize(size);
  return copy;
}
