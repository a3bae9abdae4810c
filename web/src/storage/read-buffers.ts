// Buffers that files are read into. They are used again and again: a new buffer for each file
// would leave gaps in the memory of the process, which then stays tens of megabytes larger.

import { freeBytes } from "../util/free-bytes.ts";

const buffersMax = 8; // more reads at the same time would wait for Node's threads anyway
const stepBytes = 64 * 1024; // sizes are multiples, so that most files fit into any buffer

// A buffer that grows as needed.
export class ReadBuffer {
  #bytes = new Uint8Array(0);

  // Returns that many bytes, with any content. They are valid until the next call.
  take(size: number): Uint8Array {
    if (size > this.#bytes.length) {
      freeBytes(this.#bytes);
      this.#bytes = new Uint8Array(Math.ceil(size / stepBytes) * stepBytes);
    }
    return this.#bytes.subarray(0, size);
  }
}

export class ReadBuffers {
  readonly #free: ReadBuffer[] = Array.from({ length: buffersMax }, () => new ReadBuffer());
  readonly #waiting: ((buffer: ReadBuffer) => void)[] = [];

  // Runs `read` with a buffer that nothing else uses until the promise settles. Waits for one in
  // the order of the calls.
  async use<T>(read: (buffer: ReadBuffer) => Promise<T>): Promise<T> {
    const buffer =
      this.#free.pop() ?? (await new Promise<ReadBuffer>((resolve) => this.#waiting.push(resolve)));
    try {
      return await read(buffer);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(buffer);
      else next(buffer);
    }
  }
}
