// The base class of the custom elements: a shadow root, and a store that the page supplies or that
// the element opens by name.

import { openStore } from "../open-store.ts";
import type { Store } from "../types.ts";

// On a platform without HTMLElement (a server that renders pages) the import must still work.
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * A custom element with a shadow root. Its style sheets are constructed in script, so that the
 * strictest Content-Security-Policy allows them.
 *
 * `store` is a Store, which the page closes, or the name of a store. The element opens a named
 * store when it needs it. Elements that name the same store share one Store; the last element that
 * leaves the page closes it.
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

  /** Applies properties that the page set on the object before the element was defined. */
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
      if (!this.isConnected) this.#releaseStore(); // connected again: the element was only moved
    });
  }

  /** The shadow root. */
  protected get view(): ShadowRoot {
    return this.#view;
  }

  /**
   * Returns the supplied store, or opens the named one. Rejects as openStore does; the next call
   * tries again.
   */
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

  /** Called when `store` has changed. */
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

/** Defines a custom element, unless its name is already defined or the platform has none. */
export function define(name: string, element: CustomElementConstructor): void {
  const names = globalThis.customElements;
  if (names !== undefined && names.get(name) === undefined) names.define(name, element);
}
