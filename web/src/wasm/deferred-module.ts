// The URL of the deferred module. A separate file, for importers that do not need module.ts.

/** Returns the URL of the deferred module, or undefined if a bundler removed `import.meta.url`. */
export function deferredModuleUrl(): string | undefined {
  try {
    // A literal URL, so that bundlers copy the file.
    return new URL("./entitable.rest.wasm", import.meta.url).href;
  } catch {
    return undefined;
  }
}
