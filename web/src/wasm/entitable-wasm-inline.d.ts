// The type of entitable-wasm-inline.js, which the wasm build writes into this folder: the bytes of
// entitable.wasm in base64.
declare const base64: string;
export default base64;
