// Frees buffers early. A buffer without references stays in memory until the garbage collector
// runs, which waits for many megabytes of them.

const freedBytesMin = 4096; // freeing a smaller buffer costs more than it saves

// Frees bytes that are not used any more. They are empty afterwards. Has no effect if they are a
// part of a larger buffer, or if the environment cannot free buffers.
export function freeBytes(bytes: Uint8Array): void {
  if (bytes.length < freedBytesMin) return;
  const buffer: ArrayBufferLike & { transfer?: (size: number) => ArrayBuffer } = bytes.buffer;
  if (bytes.length !== buffer.byteLength) return;
  buffer.transfer?.(0);
}
