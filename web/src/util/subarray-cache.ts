// A cache of views (typed arrays) of a reused buffer. Creating a view of a short message takes
// longer than copying its bytes, and is more work for the garbage collector than the rest of a
// call.

const cachedViewBytesMax = 1024; // longer views are rare and are not cached

export class SubarrayCache {
  #buffer: Uint8Array<ArrayBuffer> | undefined;
  #views: (Uint8Array<ArrayBuffer> | undefined)[] = []; // of #buffer, by size

  // Returns a view of buffer[from, from + size). A later call may return the same object.
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
