// Instrumented modules: copies of the package's modules for the code of one playground. Their
// functions that open stores report to that playground. It therefore observes the stores that its
// own code opens, and not those of other code in the page.

import type { openStore } from "../open-store.ts";
import type { mockStore } from "../testing/mock-store.ts";
import type { LoggedRequest } from "../testing/types.ts";

/** Functions that load the modules that code may import, by module name. */
export type Modules = Readonly<Record<string, () => Promise<object>>>;

/** Receives events of the stores that a playground's code opens. */
export interface StoreListener {
  /** Called when a request to a mock store, or to a fork of one, has ended. */
  onRequest(request: LoggedRequest): void;
  /** Called when the code opens a store whose requests are not logged. */
  onUnobservedStore(): void;
}

export class ModuleInstrumenter {
  readonly #listener: () => StoreListener | undefined;
  #openers: Promise<ReadonlyMap<unknown, unknown>> | undefined;
  // Instrumented module by original module. Each is created only once, because the browser never
  // unloads imported modules.
  readonly #instrumented = new WeakMap<object, object>();

  /**
   * `listener` is called whenever the code opens a store. The StoreListener that it returns
   * receives that store's events.
   */
  constructor(listener: () => StoreListener | undefined) {
    this.#listener = listener;
  }

  /**
   * Returns the instrumented modules. The functions that open stores are replaced under every name
   * by which a module exports them.
   */
  instrumentAll(modules: Modules): Modules {
    const instrumented = Object.entries(modules).map(([name, load]) => {
      return [name, async () => this.#instrument(await load())] as const;
    });
    return Object.fromEntries(instrumented);
  }

  async #instrument(module: object): Promise<object> {
    this.#openers ??= loadOpeners(this.#listener);
    const openers = await this.#openers;
    const existing = this.#instrumented.get(module);
    if (existing !== undefined) return existing;
    const members = Object.entries(module);
    const own = members.map(([name, member]) => [name, openers.get(member) ?? member]);
    const opens = members.some(([, member]) => openers.has(member));
    const instrumented = opens ? Object.fromEntries(own) : module;
    this.#instrumented.set(module, instrumented);
    return instrumented;
  }
}

// Resolves to the replacement of each function that opens stores. Loads these functions only when
// code imports a module.
async function loadOpeners(
  listener: () => StoreListener | undefined,
): Promise<ReadonlyMap<unknown, unknown>> {
  const [stores, mocks] = await Promise.all([
    import("../open-store.ts"),
    import("../testing/mock-store.ts"),
  ]);
  const openMock: typeof mockStore = (options) => {
    const to = listener();
    return mocks.openMockWithListener(options, (request) => to?.onRequest(request));
  };
  const open: typeof openStore = (options) => {
    listener()?.onUnobservedStore();
    return stores.openStore(options);
  };
  return new Map<unknown, unknown>([
    [mocks.mockStore, openMock],
    [stores.openStore, open],
  ]);
}
