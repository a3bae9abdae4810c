// Copies short byte sequences into shared buffers, one after the other. Allocating a buffer for
// each copy would be slower and would burden the garbage collector. A copy that is posted to
// another thread must be copied again first (tabs/channel.ts), because a view takes its whole
// buffer along.

export const arenaBytes = 65536;

// The longest copy that goes into the arena. Longer copies get their own buffer, which can also be
// transferred to another thread.
export const arenaCopyBytesMax = 4096;

// Every copy starts at a multiple of eight bytes.
const alignedSize = (bytes: number) => (bytes + 7) & ~7;

let arena = new Uint8Array(0);
let used = 0;

// Returns a copy of bytes[from, to).
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
