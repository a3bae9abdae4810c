// Modules as the code of one block imports them: the functions that open stores are the block's own there, so that it hears what its code opens, and not what
// others in the page do at the same time.

import { openStore } from "../open-store.ts";
import { mockStore, openMockWithListener } from "../testing/mock-store.ts";
import type { LoggedRequest } from "../testing/types.ts";

/** The modules that code may import, by the name under which it does. */
export type Modules = Readonly<Record<string, () => Promise<object>>>;

/** Who hears of the stores that some code opens. */
export interface StoreListener {
  /** A request to a mock store, or to a fork of one, has ended. */
  onRequest(request: LoggedRequest): void;
  /** A store is being opened whose requests nobody hears. */
  onUnobservedStore(): void;
}

export class InstrumentedModules {
  readonly #openers: ReadonlyMap<unknown, unknown>; // by those that they replace
  readonly #instrumented = new WeakMap<object, object>(); // each is made once: whatever code imported stays in the page

  /** `listener` is asked at each opening who hears of that store, from then on. */
  constructor(listener: () => StoreListener | undefined) {
    const openMock: typeof mockStore = (options) => {
      const to = listener();
      return openMockWithListener(options, (request) => to?.onRequest(request));
    };
    const open: typeof openStore = (options) => {
      listener()?.onUnobservedStore();
      return openStore(options);
    };
    this.#openers = new Map<unknown, unknown>([
      [mockStore, openMock],
      [openStore, open],
    ]);
  }

  /** Under whatever name a module exports one of these functions. */
  of(modules: Modules): Modules {
    const instrumented = Object.entries(modules).map(([name, load]) => {
      return [name, async () => this.#instrument(await load())] as const;
    });
    return Object.fromEntries(instrumented);
  }

  #instrument(module: object): object {
    const existing = this.#instrumented.get(module);
    if (existing !== undefined) return existing;
    const members = Object.entries(module);
    const own = members.map(([name, member]) => [name, this.#openers.get(member) ?? member]);
    const opens = members.some(([, member]) => this.#openers.has(member));
    const instrumented = opens ? Object.fromEntries(own) : module;
    this.#instrumented.set(module, instrumented);
    return instrumented;
  }
}
