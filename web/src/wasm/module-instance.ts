// An instance of the wasm module. It has the complete module, or the primary module, to which
// deferred modules are linked when needed (module.ts).

import { DeferredModule } from "./deferred-module.ts";
import type { EntitableModule } from "./entitable.mjs";
import type { Instantiated } from "./module.ts";
import { type DeferredModuleUrls, deferredModuleNames } from "./module-urls.ts";

// Instances whose engines are all closed; the last is the one that was used last. The memory of an
// instance cannot shrink, and stays until the garbage collector removes the instance. New engines
// use these instances, because otherwise there would be the memory of both.
let unused: WeakRef<ModuleInstance>[] = [];

// An engine and its forks share one instance.
export class ModuleInstance {
  readonly module: EntitableModule;
  readonly code: WebAssembly.Module;
  readonly deferredModuleUrls: DeferredModuleUrls | undefined;
  readonly rest: DeferredModule;
  readonly live: DeferredModule;
  readonly snapshot: DeferredModule;
  readonly sync: DeferredModule;
  hasTrapped = false; // after a trap (a crash of the code), the memory may be corrupt
  #engines = 0; // open engines
  #isSound = true; // no closed engine may have corrupted the memory

  // Resolves to an unused instance of this code whose memory has at most `bytesMax` bytes, if there
  // is one.
  static async takeUnused(
    compiling: WebAssembly.Module | Promise<WebAssembly.Module>,
    urls: DeferredModuleUrls | undefined,
    bytesMax: number,
  ): Promise<ModuleInstance | undefined> {
    unused = unused.filter((reference) => reference.deref() !== undefined);
    if (bytesMax === 0 || unused.length === 0) return undefined;
    const code = await compiling;
    for (const reference of [...unused].reverse()) {
      const instance = reference.deref();
      if (instance === undefined || !instance.isOf(code, urls)) continue;
      if (instance.module.HEAPU8.length > bytesMax) continue;
      unused = unused.filter((other) => other !== reference);
      return instance;
    }
    return undefined;
  }

  constructor(
    { module, exports }: Instantiated,
    code: WebAssembly.Module,
    urls: DeferredModuleUrls | undefined,
  ) {
    this.module = module;
    this.code = code;
    this.deferredModuleUrls = urls;
    this.rest = new DeferredModule("rest", exports, urls?.rest);
    this.live = new DeferredModule("live", exports, urls?.live);
    this.snapshot = new DeferredModule("snapshot", exports, urls?.snapshot);
    this.sync = new DeferredModule("sync", exports, urls?.sync);
  }

  isOf(code: WebAssembly.Module, urls: DeferredModuleUrls | undefined): boolean {
    const ours = this.deferredModuleUrls;
    return this.code === code && deferredModuleNames.every((name) => ours?.[name] === urls?.[name]);
  }

  get deferredModules(): readonly DeferredModule[] {
    return [this.rest, this.live, this.snapshot, this.sync];
  }

  onEngineOpened(): void {
    this.#engines += 1;
  }

  // `isSound`: the engine's memory is not corrupt and was freed.
  onEngineClosed(isSound: boolean): void {
    this.#engines -= 1;
    this.#isSound &&= isSound;
    if (this.#engines === 0 && this.#isSound) unused.push(new WeakRef(this));
  }
}
