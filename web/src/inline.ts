// `entitable/inline`: the WebAssembly module in JavaScript, for bundles without files next to them.

import base64 from "./wasm/entitable-wasm-inline.js";

/** The bytes of the complete module: `openStore({ wasm })`. */
export const wasm: BufferSource = decode(base64);

function decode(encoded: string): Uint8Array<ArrayBuffer> {
  const text = atob(encoded);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}
