// Reads the words and the text of one RPC response message (core/rpc/LAYOUT.md).
//
// A message may be a view of wasm memory, so reading copies everything out of it. All text is
// decoded at once and then sliced.

import { StoreError } from "../errors.ts";
import {
  absentLength,
  flagUtf16,
  headerBytes,
  messageVersion,
  responseKind,
} from "./message-layout.ts";
import { ResponseTextDecoder } from "./response-text.ts";

// Typed arrays that view the whole buffer of a message.
class BufferViews {
  readonly words: Int32Array;
  readonly doubles: Float64Array;
  readonly longs: BigInt64Array;

  constructor(buffer: ArrayBufferLike) {
    this.words = new Int32Array(buffer, 0, buffer.byteLength >>> 2);
    this.doubles = new Float64Array(buffer, 0, buffer.byteLength >>> 3);
    this.longs = new BigInt64Array(buffer, 0, buffer.byteLength >>> 3);
  }
}

// Stands for the views of a reader that is not open.
const closed: BufferViews = {
  get words(): never {
    throw closedError();
  },
  get doubles(): never {
    throw closedError();
  },
  get longs(): never {
    throw closedError();
  },
};

// A message can be read from open() to close(). Before and afterwards, reading throws.
export class MessageReader {
  at = 0; // the next word
  text = "";
  textPosition = 0;
  flags = 0;
  binaryBytes = 0; // at the end of the message
  #open = closed; // the views of the open message
  readonly #texts = new ResponseTextDecoder();
  // The views of wasm memory are reused until that memory grows.
  #buffer: ArrayBufferLike | undefined;
  #views = closed; // of #buffer

  get words(): Int32Array {
    return this.#open.words;
  }

  get doubles(): Float64Array {
    return this.#open.doubles;
  }

  get longs(): BigInt64Array {
    return this.#open.longs;
  }

  // Opens the message after its header, and returns its kind. Throws VersionConflict if another
  // version of the package wrote the message. REQUIRES: no message is open.
  open(response: Uint8Array): number {
    if (this.#open !== closed) throw new Error("Another response message is open.");
    const message = response.byteOffset % 8 === 0 ? response : response.slice();
    const views = this.#viewsOf(message);
    const { words } = views;
    const at = message.byteOffset >>> 2; // unsigned: wasm memory may pass 2 GB
    const head = words[at] as number;
    if (((head >> 8) & 0xff) !== messageVersion) {
      throw new StoreError(
        "VersionConflict",
        "The response was made by another version of entitable.",
      );
    }
    const kind = head & 0xff;
    const flags = (head >> 16) & 0xff;
    const textAt = words[at + 1] as number;
    const textBytes = words[at + 2] as number;
    const isUtf16 = (flags & flagUtf16) !== 0;
    this.text =
      kind === responseKind.writeResult
        ? this.#texts.decodeEtagText(message, textAt, textBytes, isUtf16, words)
        : this.#texts.decode(message, textAt, textBytes, isUtf16);
    this.textPosition = 0;
    this.flags = flags;
    this.binaryBytes = words[at + 3] as number;
    this.at = at + headerBytes / 4;
    this.#open = views;
    return kind;
  }

  close(): void {
    this.#open = closed;
    this.text = "";
  }

  readWord(): number {
    return this.words[this.at++] as number;
  }

  readWords(count: number): Int32Array {
    const from = this.at;
    this.at += count;
    return this.words.slice(from, this.at);
  }

  readText(): string {
    return this.readTextOfLength(this.words[this.at++] as number);
  }

  // Reads a text whose length the caller knows, in UTF-16 code units.
  readTextOfLength(units: number): string {
    const from = this.textPosition;
    this.textPosition = from + units;
    return this.text.slice(from, this.textPosition);
  }

  readOptionalText(): string | undefined {
    const units = this.words[this.at++] as number;
    return units === absentLength ? undefined : this.readTextOfLength(units);
  }

  // Reads a u64 count, which is far below 2^53.
  readLongAsNumber(): number {
    this.at += this.at & 1;
    const low = this.readWord() >>> 0;
    return low + (this.readWord() >>> 0) * 0x1_0000_0000;
  }

  readDouble(): number {
    this.at += this.at & 1;
    const value = this.doubles[this.at >>> 1] as number;
    this.at += 2;
    return value;
  }

  readLong(): bigint {
    this.at += this.at & 1;
    const value = this.longs[this.at >>> 1] as bigint;
    this.at += 2;
    return value;
  }

  #viewsOf(message: Uint8Array): BufferViews {
    const buffer = message.buffer;
    if (buffer === this.#buffer) return this.#views;
    const views = new BufferViews(buffer);
    // A buffer that holds only one message is not kept alive.
    const isReused = message.byteLength !== buffer.byteLength;
    this.#buffer = isReused ? buffer : undefined;
    this.#views = isReused ? views : closed;
    return views;
  }
}

function closedError(): Error {
  return new Error("A response message was read after it was closed.");
}
