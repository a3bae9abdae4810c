// The WebAssembly module of a Service Worker: compiled once per worker lifetime, and kept in Cache
// Storage from installation on. So the worker starts without a network and never gets the module of
// another version.

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

  // Rejects if the module cannot be loaded.
  get(): Promise<WebAssembly.Module> {
    this.#compiled ??= this.#load();
    this.#compiled.catch(() => {
      this.#compiled = undefined; // the next try may succeed
    });
    return this.#compiled;
  }

  // Fetches and caches the module. Rejects if the fetch fails, but not if the cache is full.
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

  // Removes a module of the wrong version.
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
  // Bypasses HTTP caches, which may have another version.
  const response = await fetch(url, { cache: "no-cache", credentials: "same-origin" });
  if (!response.ok) throw new Error(`HTTP status ${response.status} for ${response.url}`);
  return response;
}

// Not streaming, because many servers send the wrong MIME type.
async function compile(response: Response): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await response.arrayBuffer());
}
