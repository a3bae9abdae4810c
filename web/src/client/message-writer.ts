// Writes the words, the text and the binary values of one RPC request message
// (core/rpc/LAYOUT.md).
//
// Words (32-bit fields) are written to their final position in the message. Text goes to a second
// buffer, because its position in the message is known only when all words are written.

import { SubarrayCache } from "../util/subarray-cache.ts";
import { absentLength, flagUtf16, headerBytes, messageVersion } from "./message-layout.ts";

const firstBytes = 8192;
const reusableBytesMax = 1 << 20; // a buffer that grew larger is not reused

// Up to this length, copying the code units is faster than TextEncoder, whose call overhead does
// not depend on the length.
const shortText = 256;

const noText = new Uint8Array(0);
const noBinaries: Uint8Array[] = [];

export class MessageWriter {
  words = new Int32Array(0);
  doubles = new Float64Array(0);
  longs = new BigInt64Array(0);
  at = 0; // index of the next word
  textEnd = 0;
  isUtf16 = false; // the text area is UTF-16

  #bytes = new Uint8Array(0); // the message
  #textBuffer = new Uint8Array(0); // the text area so far
  #binaries = noBinaries;
  readonly #encoder = new TextEncoder();
  readonly #messageViews = new SubarrayCache();
  readonly #textViews = new SubarrayCache();

  // Starts a message after its header.
  begin(): void {
    const size = this.#bytes.length;
    if (size === 0 || size > reusableBytesMax) this.#useBuffer(new Uint8Array(firstBytes));
    const textSize = this.#textBuffer.length;
    if (textSize === 0 || textSize > reusableBytesMax)
      this.#textBuffer = new Uint8Array(firstBytes);
    this.at = headerBytes / 4;
    this.textEnd = 0;
    this.isUtf16 = false;
    this.#binaries = noBinaries;
  }

  // Completes the message and returns a view of it, which is valid until invalidateMessage() or
  // begin(). `leadingText` is put before the text written so far.
  finish(kind: number, leadingText = noText): Uint8Array {
    const textAt = this.at * 4;
    const textBytes = leadingText.length + this.textEnd;
    let end = textAt + textBytes;
    let binaryBytes = 0;
    for (const binary of this.#binaries) binaryBytes += binary.length;
    if (end + binaryBytes > this.#bytes.length)
      this.#useBuffer(grownCopy(this.#bytes, textAt, end + binaryBytes));
    const bytes = this.#bytes;
    bytes.set(leadingText, textAt);
    bytes.set(this.#textViews.view(this.#textBuffer, 0, this.textEnd), textAt + leadingText.length);
    for (const binary of this.#binaries) {
      bytes.set(binary, end);
      end += binary.length;
    }
    const words = this.words;
    words[0] = kind | (messageVersion << 8) | ((this.isUtf16 ? flagUtf16 : 0) << 16);
    words[1] = textAt;
    words[2] = textBytes;
    words[3] = binaryBytes;
    this.#binaries = noBinaries;
    return this.#messageViews.view(bytes, 0, end);
  }

  // Clears the kind and version of the finished message, so that the core rejects later uses of
  // the message.
  invalidateMessage(): void {
    this.words[0] = 0;
  }

  reserveWords(count: number): void {
    const size = (this.at + count) * 4;
    if (size > this.#bytes.length) this.#useBuffer(grownCopy(this.#bytes, this.at * 4, size));
  }

  putWord(value: number): void {
    this.reserveWords(1);
    this.words[this.at++] = value;
  }

  putText(value: string): void {
    this.putWord(value.length);
    this.putTextWithoutLength(value);
  }

  putOptionalText(value: string | undefined): void {
    if (value === undefined) this.putWord(absentLength);
    else this.putText(value);
  }

  putTextWithoutLength(value: string): void {
    const length = value.length;
    if (this.isUtf16 || length > shortText) {
      this.#putEncodedText(value);
      return;
    }
    this.#reserveText(length);
    const to = this.#textBuffer;
    const from = this.textEnd;
    let all = 0;
    for (let i = 0; i < length; ++i) {
      const unit = value.charCodeAt(i);
      to[from + i] = unit;
      all |= unit;
    }
    if (all > 0x7f) this.#putEncodedText(value);
    else this.textEnd = from + length;
  }

  #putEncodedText(value: string): void {
    this.#reserveText(value.length * 3); // UTF-8 takes at most three bytes per code unit
    if (this.isUtf16) {
      this.#putUtf16(value);
      return;
    }
    const { written } = this.#encoder.encodeInto(value, this.#textBuffer.subarray(this.textEnd));
    // Text may have an unpaired surrogate, which TextEncoder would replace. All-ASCII text, whose
    // bytes equal its length, has none and needs no check.
    if (written === value.length || isWellFormed(value)) {
      this.textEnd += written;
    } else {
      this.#switchToUtf16();
      this.#putUtf16(value);
    }
  }

  #putUtf16(value: string): void {
    this.#reserveText(value.length * 2);
    for (let i = 0; i < value.length; ++i) {
      const unit = value.charCodeAt(i);
      this.#textBuffer[this.textEnd++] = unit;
      this.#textBuffer[this.textEnd++] = unit >> 8;
    }
  }

  // Converts the text area to UTF-16. Later text is appended as UTF-16.
  #switchToUtf16(): void {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      this.#textBuffer.subarray(0, this.textEnd),
    );
    this.isUtf16 = true;
    this.textEnd = 0;
    this.#putUtf16(text);
  }

  #reserveText(size: number): void {
    if (this.textEnd + size > this.#textBuffer.length)
      this.#textBuffer = grownCopy(this.#textBuffer, this.textEnd, this.textEnd + size);
  }

  // Removes the text written since position `from` and returns a copy of it.
  removeTextFrom(from: number): Uint8Array<ArrayBuffer> {
    const text = this.#textBuffer.slice(from, this.textEnd);
    this.textEnd = from;
    return text;
  }

  appendBinary(value: Uint8Array): void {
    if (this.#binaries === noBinaries) this.#binaries = [value];
    else this.#binaries.push(value);
  }

  #useBuffer(buffer: Uint8Array<ArrayBuffer>): void {
    this.#bytes = buffer;
    this.words = new Int32Array(buffer.buffer);
    this.doubles = new Float64Array(buffer.buffer);
    this.longs = new BigInt64Array(buffer.buffer);
  }
}

function grownCopy(buffer: Uint8Array, used: number, size: number): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array((Math.max(size, buffer.length * 2) + 7) & ~7);
  more.set(buffer.subarray(0, used));
  return more;
}

const loneSurrogate = /\p{Surrogate}/u;
const wellFormed = (String.prototype as { isWellFormed?: (this: string) => boolean }).isWellFormed;
function isWellFormed(value: string): boolean {
  return wellFormed === undefined ? !loneSurrogate.test(value) : wellFormed.call(value);
}
