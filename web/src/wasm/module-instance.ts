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

// An engine and its forks share one instance.
export class ModuleInstance {
  readonly module: EntitableModule;
  readonly code: WebAssembly.Module;
  readonly deferredModuleUrl: string | undefined;
  readonly needed = new DeferredModuleNeeded(() => this.loadDeferredModule(), isHttpRequest);
  hasTrapped = false; // after a trap (a crash of the code), the memory may be corrupt
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
