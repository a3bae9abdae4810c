// The bytes of entitable.wasm as base64. The wasm build writes the JavaScript into this folder.
declare const base64: string;
export default base64;
