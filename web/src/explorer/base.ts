// What both elements are: a shadow root, and a store that is given to them or that they open by its name.

import { openStore } from "../open.ts";
import type { Store } from "../types.ts";

// Where there are no elements (a server that renders), importing works all the same, and nothing is defined.
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * Shadow DOM with style sheets that the strictest Content-Security-Policy allows. `store` is a Store, which stays the page's to close, or the name of
 * one (as a property or an attribute), which the element opens when it needs it and closes when it leaves the page.
 */
export abstract class StoreElement extends Base {
  static readonly observedAttributes: readonly string[] = ["store"];

  readonly #view: ShadowRoot;
  #given: Store | string | undefined;
  #opening: Promise<Store> | undefined;

  constructor(...styles: string[]) {
    super();
    this.#view = this.attachShadow({ mode: "open", delegatesFocus: false });
    this.#view.adoptedStyleSheets = styles.map(sheetOf);
  }

  /** Takes over properties that were set before the element was defined, when they were none of it. */
  protected takeOver(...names: readonly (keyof this)[]): void {
    for (const name of names) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete (this as Partial<this>)[name];
      this[name] = value;
    }
  }

  get store(): Store | string | undefined {
    return this.#given;
  }
  set store(value: Store | string | null | undefined) {
    const next = value ?? undefined;
    if (next === this.#given) return;
    this.#letGo();
    this.#given = next;
    this.storeChanged();
  }

  attributeChangedCallback(name: string, _: string | null, value: string | null): void {
    if (name === "store") this.store = value;
  }

  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (!this.isConnected) this.#letGo(); // unless it was only moved
    });
  }

  /** What is inside. */
  protected get view(): ShadowRoot {
    return this.#view;
  }

  /** The store that was given, or the one that was named, opened. Rejects as openStore does; asked again, it tries again. */
  protected async opened(): Promise<Store> {
    if (typeof this.#given === "object") return this.#given;
    if (this.#opening === undefined) {
      const opening = this.openNamed(this.#given);
      this.#opening = opening;
      opening.catch(() => {
        if (this.#opening === opening) this.#opening = undefined;
      });
    }
    return await this.#opening;
  }

  /** Opens what no Store was given for. */
  protected openNamed(name: string | undefined): Promise<Store> {
    return openStore(name === undefined ? {} : { name });
  }

  /** Another store is used from now on. */
  protected storeChanged(): void {}

  #letGo(): void {
    const opening = this.#opening;
    this.#opening = undefined;
    opening?.then(
      (store) => store.close(),
      () => {},
    );
  }
}

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
