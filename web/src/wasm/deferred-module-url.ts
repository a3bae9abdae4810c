// The URL of the deferred module (module.ts). It has its own file for code that does not import
// module.ts.

/** Returns the URL of the deferred module, or undefined if a bundler removed `import.meta.url`. */
export function deferredModuleUrl(): string | undefined {
  try {
    // The URL must be a literal, so that bundlers find and copy the file.
    return new URL("./entitable.rest.wasm", import.meta.url).href;
  } catch {
    return undefined;
  }
}
