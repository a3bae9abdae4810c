// The WebAssembly module of a Service Worker. It is put into Cache Storage at installation and
// compiled once per start of the worker. The worker therefore starts without a network, and never
// uses the module of another version.

import { buildId } from "../wasm/entitable.mjs";

const prefix = "entitable-wasm-";
const cacheName = prefix + buildId;

export class ModuleCache {
  readonly #url: string;
  readonly #caches: CacheStorage;
  #compiled: Promise<WebAssembly.Module> | undefined;

  constructor(url: string, caches: CacheStorage) {
    this.#url = url;
    this.#caches = caches;
  }

  // Returns the compiled module. Rejects if it cannot be loaded.
  get(): Promise<WebAssembly.Module> {
    this.#compiled ??= this.#load();
    this.#compiled.catch(() => {
      this.#compiled = undefined; // the next call tries again
    });
    return this.#compiled;
  }

  // Fetches, compiles and caches the module. Rejects if fetching or compiling fails, but not if the
  // cache is full.
  async install(): Promise<void> {
    const response = await fetchModule(this.#url);
    const kept = response.clone();
    await compile(response);
    const cache = await this.#caches.open(cacheName);
    await cache.put(this.#url, kept).catch(() => {});
  }

  // Removes the modules of other versions.
  async activate(): Promise<void> {
    for (const name of await this.#caches.keys()) {
      if (name.startsWith(prefix) && name !== cacheName) await this.#caches.delete(name);
    }
  }

  // Removes this version's module from the cache, because it turned out to be of another version.
  async invalidate(): Promise<void> {
    this.#compiled = undefined;
    await this.#caches.delete(cacheName).catch(() => {});
  }

  async #load(): Promise<WebAssembly.Module> {
    const kept = await this.#caches.match(this.#url, { cacheName }).catch(() => undefined);
    return await compile(kept ?? (await fetchModule(this.#url)));
  }
}

async function fetchModule(url: string): Promise<Response> {
  // Does not use HTTP caches, which may have another version.
  const response = await fetch(url, { cache: "no-cache", credentials: "same-origin" });
  if (!response.ok) throw new Error(`HTTP status ${response.status} for ${response.url}`);
  return response;
}

// Does not compile while streaming: that needs the MIME type application/wasm, which many servers
// do not send.
async function compile(response: Response): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await response.arrayBuffer());
}
