// An instance of the wasm module. It has the complete module, or the primary module, to which the
// deferred module is linked when needed (module.ts).

import { callHeaderBytes, callKind, httpRequestKind } from "../util/engine-message-kinds.ts";
import type { EntitableModule } from "./entitable.mjs";
import { type Instantiated, linkDeferredModule } from "./module.ts";
import { DeferredModuleNeeded } from "./parts-needed.ts";

// Returns whether a request message, or the one inside a call, is an HTTP request, which needs the
// deferred module.
export function isHttpRequest(request: Uint8Array): boolean {
  return request[request[0] === callKind ? callHeaderBytes : 0] === httpRequestKind;
}

// Instances whose engines are all closed; the last is the one that was used last. The memory of an
// instance cannot shrink, and stays until the garbage collector removes the instance. New engines
// use these instances, because otherwise there would be the memory of both.
let unused: WeakRef<ModuleInstance>[] = [];

// An engine and its forks share one instance.
export class ModuleInstance {
  readonly module: EntitableModule;
  readonly code: WebAssembly.Module;
  readonly deferredModuleUrl: string | undefined;
  readonly needed = new DeferredModuleNeeded(() => this.loadDeferredModule(), isHttpRequest);
  hasTrapped = false; // after a trap (a crash of the code), the memory may be corrupt
  #primaryExports: WebAssembly.Exports | undefined; // undefined: the module is complete
  #loading: Promise<void> | undefined;
  #engines = 0; // open engines
  #isSound = true; // no closed engine may have corrupted the memory

  // Resolves to an unused instance of this code whose memory has at most `bytesMax` bytes, if there
  // is one.
  static async takeUnused(
    compiling: WebAssembly.Module | Promise<WebAssembly.Module>,
    deferredModuleUrl: string | undefined,
    bytesMax: number,
  ): Promise<ModuleInstance | undefined> {
    unused = unused.filter((reference) => reference.deref() !== undefined);
    if (bytesMax === 0 || unused.length === 0) return undefined;
    const code = await compiling;
    for (const reference of [...unused].reverse()) {
      const instance = reference.deref();
      const isAlike = instance?.code === code && instance.deferredModuleUrl === deferredModuleUrl;
      if (!isAlike || instance.module.HEAPU8.length > bytesMax) continue;
      unused = unused.filter((other) => other !== reference);
      return instance;
    }
    return undefined;
  }

  constructor(
    { module, exports }: Instantiated,
    code: WebAssembly.Module,
    deferredModuleUrl: string | undefined,
  ) {
    this.module = module;
    this.code = code;
    this.deferredModuleUrl = deferredModuleUrl;
    this.#primaryExports = exports;
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

  get isComplete(): boolean {
    return this.#primaryExports === undefined;
  }

  loadDeferredModule(): Promise<void> {
    if (this.#primaryExports === undefined) return Promise.resolve();
    this.#loading ??= linkDeferredModule(this.#primaryExports, this.deferredModuleUrl)
      .then(() => {
        this.#primaryExports = undefined;
      })
      .finally(() => {
        this.#loading = undefined;
      });
    return this.#loading;
  }
}
