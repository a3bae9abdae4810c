// What both elements are: a shadow root, and a store that is given to them or that they open by its name.

import { openStore } from "../open-store.ts";
import type { Store } from "../types.ts";

// Where there are no elements (a server that renders), importing works all the same, and nothing is defined.
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * Shadow DOM with style sheets that the strictest Content-Security-Policy allows. `store` is a Store, which stays the page's to close, or the name of
 * one (as a property or an attribute), which the element opens when it needs it; elements of a page that name the same one share it, and the last that leaves the page closes it.
 */
export abstract class StoreElement extends Base {
  static readonly observedAttributes: readonly string[] = ["store"];

  readonly #view: ShadowRoot;
  #storeOrName: Store | string | undefined;
  #opened: SharedStore | undefined;

  constructor(...styles: string[]) {
    super();
    this.#view = this.attachShadow({ mode: "open", delegatesFocus: false });
    this.#view.adoptedStyleSheets = styles.map(sheetOf);
  }

  /** Takes over properties that were set before the element was defined, when they were none of it. */
  protected upgradeProperties(...names: readonly (keyof this)[]): void {
    for (const name of names) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete (this as Partial<this>)[name];
      this[name] = value;
    }
  }

  get store(): Store | string | undefined {
    return this.#storeOrName;
  }
  set store(value: Store | string | null | undefined) {
    const next = value ?? undefined;
    if (next === this.#storeOrName) return;
    this.#releaseStore();
    this.#storeOrName = next;
    this.storeChanged();
  }

  attributeChangedCallback(name: string, _: string | null, value: string | null): void {
    if (name === "store") this.store = value;
  }

  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (!this.isConnected) this.#releaseStore(); // unless it was only moved
    });
  }

  /** What is inside. */
  protected get view(): ShadowRoot {
    return this.#view;
  }

  /** The store that was given, or the one that was named, opened. Rejects as openStore does; asked again, it tries again. */
  protected async opened(): Promise<Store> {
    if (typeof this.#storeOrName === "object") return this.#storeOrName;
    this.#opened ??= share(this.#storeOrName ?? "default");
    const opened = this.#opened;
    try {
      return await opened.store;
    } catch (error) {
      if (this.#opened === opened) this.#releaseStore();
      throw error;
    }
  }

  /** Another store is used from now on. */
  protected storeChanged(): void {}

  #releaseStore(): void {
    if (this.#opened !== undefined) release(this.#opened);
    this.#opened = undefined;
  }
}

// ---- Stores by name --------------------------------------------------------------------------

interface SharedStore {
  readonly name: string;
  readonly store: Promise<Store>;
  users: number;
}

const shared = new Map<string, SharedStore>();

function share(name: string): SharedStore {
  let one = shared.get(name);
  if (one === undefined) {
    const opening = { name, store: openStore({ name }), users: 0 };
    opening.store.catch(() => forget(opening));
    shared.set(name, opening);
    one = opening;
  }
  one.users += 1;
  return one;
}

function forget(one: SharedStore): void {
  if (shared.get(one.name) === one) shared.delete(one.name);
}

function release(one: SharedStore): void {
  one.users -= 1;
  if (one.users > 0) return;
  forget(one);
  one.store.then(
    (store) => store.close(),
    () => {},
  );
}

// ---- Elements --------------------------------------------------------------------------------

const sheets = new Map<string, CSSStyleSheet>();

function sheetOf(css: string): CSSStyleSheet {
  let sheet = sheets.get(css);
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    sheets.set(css, sheet);
  }
  return sheet;
}

/** Names an element, once, where there are elements. */
export function define(name: string, element: CustomElementConstructor): void {
  const names = globalThis.customElements;
  if (names !== undefined && names.get(name) === undefined) names.define(name, element);
}
