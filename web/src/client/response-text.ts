// Decodes the text area of RPC response messages (core/rpc/LAYOUT.md) as one string.

// Up to this length, text is decoded without TextDecoder. A browser's TextDecoder allocates its
// string outside of the engine's heap, which is slow for a point read or an ETag.
const shortText = 256;

// ETags of rows written within the same second differ only in their last characters.
const etagPrefixBytes = 36;

export class ResponseTextDecoder {
  #utf8: TextDecoder | undefined;
  // Reused arrays, by length. Engines spread plain arrays into arguments several times faster than
  // typed arrays.
  readonly #codeUnits: number[][] = [];
  #etagPrefix = ""; // of the previous ETag
  readonly #etagPrefixWords = new Int32Array(etagPrefixBytes / 4);

  // Decodes message[from, from + length).
  decode(message: Uint8Array, from: number, length: number, isUtf16: boolean): string {
    if (length === 0) return "";
    if (isUtf16) return decodeUtf16(new Uint16Array(message.slice(from, from + length).buffer));
    const short = length <= shortText ? this.#decodeShortAscii(message, from, length) : undefined;
    return short ?? this.#decodeUtf8(message, from, length);
  }

  // Like decode(), for text that begins with an ETag. Decoding the common prefix is most of the
  // time to decode the response to a single write, so the prefix is cached. `words`: the buffer of
  // the message.
  decodeEtagText(
    message: Uint8Array,
    from: number,
    length: number,
    isUtf16: boolean,
    words: Int32Array,
  ): string {
    const at = message.byteOffset + from;
    const isPrefixed = length > etagPrefixBytes && (at & 3) === 0;
    if (isPrefixed && length <= shortText && this.#beginsWithEtagPrefix(words, at >>> 2)) {
      const rest = length - etagPrefixBytes;
      const end = this.#decodeShortAscii(message, from + etagPrefixBytes, rest);
      if (end !== undefined) return this.#etagPrefix + end;
    }
    const text = this.decode(message, from, length, isUtf16);
    const isAscii = text.length === length;
    if (isPrefixed && isAscii) {
      this.#etagPrefix = text.slice(0, etagPrefixBytes);
      const word = at >>> 2;
      this.#etagPrefixWords.set(words.subarray(word, word + this.#etagPrefixWords.length));
    }
    return text;
  }

  #beginsWithEtagPrefix(words: Int32Array, word: number): boolean {
    if (this.#etagPrefix === "") return false;
    const prefix = this.#etagPrefixWords;
    for (let i = 0; i < prefix.length; ++i) {
      if (words[word + i] !== prefix[i]) return false;
    }
    return true;
  }

  // Returns undefined if the bytes are not all ASCII.
  #decodeShortAscii(bytes: Uint8Array, from: number, length: number): string | undefined {
    this.#codeUnits[length] ??= new Array<number>(length).fill(0);
    const units = this.#codeUnits[length];
    let all = 0;
    for (let i = 0; i < length; ++i) {
      const unit = bytes[from + i] as number;
      units[i] = unit;
      all |= unit;
    }
    return all > 0x7f ? undefined : String.fromCharCode.apply(null, units);
  }

  #decodeUtf8(message: Uint8Array, from: number, length: number): string {
    // ignoreBOM: a leading U+FEFF is text, not a mark; dropping it would shift every string.
    this.#utf8 ??= new TextDecoder("utf-8", { ignoreBOM: true });
    return this.#utf8.decode(message.subarray(from, from + length));
  }
}

// Not TextDecoder("utf-16le"), which replaces unpaired surrogates.
function decodeUtf16(units: Uint16Array): string {
  let out = "";
  const step = 8192; // as many arguments as every engine takes
  for (let i = 0; i < units.length; i += step) {
    out += String.fromCharCode(...units.subarray(i, i + step));
  }
  return out;
}
