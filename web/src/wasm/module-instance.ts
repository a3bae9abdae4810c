// An instance of the wasm module, which may begin as the primary module alone.

import { callHeaderBytes, callKind, httpRequestKind } from "../util/message-kinds.ts";
import type { EntitableModule } from "./entitable.mjs";
import { type Instantiated, linkDeferredModule } from "./module.ts";
import { DeferredModuleNeeded } from "./parts-needed.ts";

// Returns whether the message, or the message inside the call, is an HTTP request. The deferred
// module handles these.
export function isHttpRequest(request: Uint8Array): boolean {
  return request[request[0] === callKind ? callHeaderBytes : 0] === httpRequestKind;
}

// An instance of the wasm module. An engine and its forks share one.
export class ModuleInstance {
  readonly module: EntitableModule;
  readonly code: WebAssembly.Module;
  readonly deferredModuleUrl: string | undefined;
  readonly needed = new DeferredModuleNeeded(() => this.loadDeferredModule(), isHttpRequest);
  hasTrapped = false; // its memory may be corrupt
  #primaryExports: WebAssembly.Exports | undefined; // undefined: the module is complete
  #loading: Promise<void> | undefined;

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
