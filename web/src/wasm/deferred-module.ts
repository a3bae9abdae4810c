// A deferred module (module.ts) of a module instance. It is linked when a call needs it.

import { callHeaderBytes, callKind, httpRequestKind } from "../util/engine-message-kinds.ts";
import { linkDeferredModule } from "./module.ts";
import type { DeferredModuleName } from "./module-urls.ts";
import { DeferredModuleNeeded } from "./parts-needed.ts";

// Returns whether a request message, or the one inside a call, is an HTTP request, which needs the
// deferred module "rest".
export function isHttpRequest(request: Uint8Array): boolean {
  return request[request[0] === callKind ? callHeaderBytes : 0] === httpRequestKind;
}

export class DeferredModule {
  readonly name: DeferredModuleName;
  // What calls return that need it. Of write messages, only HTTP requests need a deferred module.
  readonly needed = new DeferredModuleNeeded(() => this.load(), isHttpRequest);
  isLinked: boolean;
  hasFailed = false; // the last load() failed
  readonly #primaryExports: WebAssembly.Exports | undefined;
  readonly #url: string | undefined;
  #loading: Promise<void> | undefined;

  // `primaryExports`: undefined if the instance has the complete module.
  constructor(
    name: DeferredModuleName,
    primaryExports: WebAssembly.Exports | undefined,
    url: string | undefined,
  ) {
    this.name = name;
    this.isLinked = primaryExports === undefined;
    this.#primaryExports = primaryExports;
    this.#url = url;
  }

  load(): Promise<void> {
    if (this.#primaryExports === undefined || this.isLinked) return Promise.resolve();
    this.#loading ??= this.#link(this.#primaryExports).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #link(primaryExports: WebAssembly.Exports): Promise<void> {
    try {
      await linkDeferredModule(this.name, primaryExports, this.#url);
      this.isLinked = true;
      this.hasFailed = false;
    } catch (error) {
      this.hasFailed = true;
      throw error;
    }
  }
}
