// The bytes of entitable.wasm as base64, put beside this file by the wasm build.
declare const base64: string;
export default base64;
