// The base class of the custom elements. It has a shadow root, and a store that the page supplies
// or that the element opens by name.

import type { Store } from "../types.ts";
import { inMicrotask } from "../util/event-loop.ts";

// The module must load on a platform without HTMLElement (a server that renders pages).
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * A custom element with a shadow root and a store. Its style sheets are constructed in script,
 * which every Content-Security-Policy allows.
 *
 * `store` is either a Store, which the page must close, or the name of a store; an empty name means
 * no store. The element opens a named store when it first needs it. Elements that name the same
 * store share one Store, which is closed when the last of these elements leaves the page.
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

  /** Applies properties that the page set before the element's class was defined. */
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
    const next = value || undefined; // Preact removes a property by setting it to ""
    if (next === this.#storeOrName) return;
    this.#releaseStore();
    this.#storeOrName = next;
    this.storeChanged();
  }

  attributeChangedCallback(name: string, _: string | null, value: string | null): void {
    if (name === "store") this.store = value;
  }

  disconnectedCallback(): void {
    inMicrotask(() => {
      if (this.isConnected) return; // it was only moved
      this.#releaseStore();
      this.storeReleased();
    });
  }

  /** The shadow root. */
  protected get view(): ShadowRoot {
    return this.#view;
  }

  /**
   * Returns the supplied store, or opens the named one. Rejects with the error of openStore(); the
   * next call then tries again.
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

  /** Called after the element has left the page. */
  protected storeReleased(): void {}

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
    const opening = { name, store: openByName(name), users: 0 };
    opening.store.catch(() => forget(opening));
    shared.set(name, opening);
    one = opening;
  }
  one.users += 1;
  return one;
}

// Loads the package with the first store that an element opens.
async function openByName(name: string): Promise<Store> {
  const { openStore } = await import("../open-store.ts");
  return await openStore({ name });
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

/**
 * Defines a custom element. Has no effect if the name is already defined, or if the platform has no
 * custom elements.
 */
export function defineElement(name: string, element: CustomElementConstructor): void {
  const names = globalThis.customElements;
  if (names !== undefined && names.get(name) === undefined) names.define(name, element);
}
