// The WebAssembly module of a Service Worker: compiled once while it lives, and kept in Cache Storage from its installation on, so
// that it starts without a network and never meets the module of another version.

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

  // Rejects if there is no module.
  get(): Promise<WebAssembly.Module> {
    this.#compiled ??= this.#load();
    this.#compiled.catch(() => {
      this.#compiled = undefined; // the next try may succeed
    });
    return this.#compiled;
  }

  // Fetches it. Rejects if there is none; a cache that is full is no reason.
  async install(): Promise<void> {
    const response = await fetchModule(this.#url);
    const kept = response.clone();
    await compile(response);
    const cache = await this.#caches.open(cacheName);
    await cache.put(this.#url, kept).catch(() => {});
  }

  // Removes those of other versions.
  async activate(): Promise<void> {
    for (const name of await this.#caches.keys()) {
      if (name.startsWith(prefix) && name !== cacheName) await this.#caches.delete(name);
    }
  }

  // It was not the right one.
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
  // Not one that a cache on the way has from another version.
  const response = await fetch(url, { cache: "no-cache", credentials: "same-origin" });
  if (!response.ok) throw new Error(`HTTP status ${response.status} for ${response.url}`);
  return response;
}

// Not streaming: servers that call it by another type are many.
async function compile(response: Response): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await response.arrayBuffer());
}
