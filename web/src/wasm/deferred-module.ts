// Where the module's second half is (module.ts), by itself for those that only need to know that.

/** Undefined: a bundler left nothing to tell by. */
export function deferredModuleUrl(): string | undefined {
  try {
    return new URL("./entitable.rest.wasm", import.meta.url).href; // literal, so that bundlers find it
  } catch {
    return undefined;
  }
}
