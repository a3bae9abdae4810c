// A list whose items have keys. The element of an item stays as long as the item is there, and with
// it the focus; then the section around the list gets the focus.
import { h } from "../dom.ts";

export interface ItemView<T> {
  readonly element: HTMLElement;
  readonly update: (item: T) => void;
}

export class KeyedList<T> {
  readonly element: HTMLElement;
  readonly #views = new Map<string, ItemView<T>>();
  readonly #keyOf: (item: T) => string;
  readonly #make: (item: T) => ItemView<T>;

  constructor(label: string, keyOf: (item: T) => string, make: (item: T) => ItemView<T>) {
    this.element = h("ul", { "aria-label": label });
    this.#keyOf = keyOf;
    this.#make = make;
  }

  show(items: readonly T[]): void {
    const keys = new Set(items.map(this.#keyOf));
    for (const [key, { element }] of this.#views) {
      if (keys.has(key)) continue;
      if (element.contains(document.activeElement)) this.element.closest("section")?.focus();
      element.remove();
      this.#views.delete(key);
    }
    for (const [index, item] of items.entries()) {
      const { element, update } = this.#viewOf(item);
      update(item);
      const there = this.element.children[index];
      if (there !== element) this.element.insertBefore(element, there ?? null);
    }
    this.element.hidden = items.length === 0;
  }

  #viewOf(item: T): ItemView<T> {
    const key = this.#keyOf(item);
    const view = this.#views.get(key) ?? this.#make(item);
    this.#views.set(key, view);
    return view;
  }
}
