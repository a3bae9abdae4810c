// Copies the binary values of a page out of its response message.
//
// A short binary area is copied value by value. A longer one is copied once and each value is a
// view of that copy, since a buffer costs as much as a dozen short copies. In Node, values are
// Buffers, as in the official client.

const shortArea = 256;

export class BinaryValues {
  readonly #area: ArrayBuffer | Uint8Array; // a copy, or a view of the response
  #position = 0;

  // `bytes`: the size of the binary area, which ends the response. `separately`: copies each value
  // separately, whatever the size of the area.
  constructor(response: Uint8Array, bytes: number, separately: boolean) {
    const area = response.subarray(response.length - bytes);
    this.#area = separately || bytes <= shortArea ? area : new Uint8Array(area).buffer;
  }

  // Returns the next value.
  read(length: number): Uint8Array {
    const from = this.#position;
    this.#position += length;
    const area = this.#area;
    if (ArrayBuffer.isView(area)) return copyBinary(area, from, length);
    return nodeBuffer === undefined
      ? new Uint8Array(area, from, length)
      : nodeBuffer.from(area, from, length);
  }
}

function copyBinary(area: Uint8Array, from: number, length: number): Uint8Array {
  if (nodeBuffer === undefined) return area.slice(from, from + length);
  const copy = nodeBuffer.allocUnsafe(length);
  copy.set(area.subarray(from, from + length));
  return copy;
}

interface NodeBuffer {
  from(buffer: ArrayBuffer, offset: number, length: number): Uint8Array;
  allocUnsafe(length: number): Uint8Array;
}

// Only in Node: a bundler's polyfill of Buffer is not used.
const host = globalThis as { process?: { versions?: { node?: string } }; Buffer?: NodeBuffer };
const nodeBuffer = host.process?.versions?.node === undefined ? undefined : host.Buffer;
