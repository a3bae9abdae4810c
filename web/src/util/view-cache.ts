// Views of short blocks in a buffer that serves again and again. Making a view takes an engine longer than copying what a short block holds, and
// gives its garbage collector more to do than the rest of a call; so those that were made serve again.

const cachedViewBytesMax = 1024; // of a view: of longer ones there are few

export class ViewCache {
  #buffer: Uint8Array<ArrayBuffer> | undefined;
  #views: (Uint8Array<ArrayBuffer> | undefined)[] = []; // of that buffer, by size

  view(buffer: Uint8Array<ArrayBuffer>, from: number, size: number): Uint8Array<ArrayBuffer> {
    if (size > cachedViewBytesMax) return buffer.subarray(from, from + size);
    if (buffer !== this.#buffer) {
      this.#buffer = buffer;
      this.#views = new Array(cachedViewBytesMax + 1).fill(undefined);
    }
    const kept = this.#views[size];
    if (kept !== undefined && kept.byteOffset === from + buffer.byteOffset) return kept;
    const made = buffer.subarray(from, from + size);
    this.#views[size] = made;
    return made;
  }
}
