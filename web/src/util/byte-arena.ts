// Copies short byte sequences one after the other into shared buffers. One buffer for each copy
// would be slower, and work for the garbage collector. To post such a copy to another thread, copy
// it again first (tabs/channel.ts), because posting a view sends its whole buffer.

export const arenaBytes = 65536;

// The longest copy that is put into a shared buffer. A longer one gets its own buffer, which can be
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
