// Records the wasm memories that libraries create in this page or worker.

const memories = new Set<WebAssembly.Memory>();
export const wasmMemoryBytes = () =>
  [...memories].reduce((bytes, { buffer }) => bytes + buffer.byteLength, 0);

// Records the memory of every WebAssembly instance, whether it exports or imports the memory.
export function trackWasmMemories(): void {
  const track = (values: object) => {
    for (const value of Object.values(values))
      if (value instanceof WebAssembly.Memory) memories.add(value);
  };
  const { instantiate, instantiateStreaming } = WebAssembly;
  type Imports = WebAssembly.Imports | undefined;
  const withTracking = (
    imports: Imports,
    result: WebAssembly.Instance | WebAssembly.WebAssemblyInstantiatedSource,
  ) => {
    for (const module of Object.values(imports ?? {})) track(module);
    track("instance" in result ? result.instance.exports : result.exports);
    return result;
  };
  Object.assign(WebAssembly, {
    instantiate: async (source: BufferSource, imports: Imports) =>
      withTracking(imports, await instantiate(source, imports)),
    instantiateStreaming: async (source: Response, imports: Imports) =>
      withTracking(imports, await instantiateStreaming(source, imports)),
  });
}
