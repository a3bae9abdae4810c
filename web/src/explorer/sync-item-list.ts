// A titled list of the panel "Sync". An item stays the same element as long as it shows the same,
// so it keeps the focus and what is open in it.

import type { Dom } from "./dom.ts";

export interface ItemListOptions<T> {
  readonly title: string;
  /** What an empty list says. Undefined: it is hidden. */
  readonly empty: string | undefined;
  /** Of equal keys, the items show the same. */
  readonly keyOf: (item: T) => string;
  readonly render: (item: T) => readonly Node[];
}

export class ItemList<T> {
  readonly element: HTMLElement;
  readonly #dom: Dom;
  readonly #options: ItemListOptions<T>;
  readonly #count: HTMLElement;
  readonly #list: HTMLElement;
  readonly #scroll: HTMLElement; // with the list
  readonly #note: HTMLElement;
  #elements = new Map<string, HTMLElement>(); // by the key, and the number of those with this key

  constructor(dom: Dom, options: ItemListOptions<T>) {
    const { h } = dom;
    this.#dom = dom;
    this.#options = options;
    this.#count = h("span", { class: "missed" });
    this.#list = h("ol", { class: "changed-rows" });
    this.#note = h("p", { class: "muted" });
    const bar = h(
      "div",
      { class: "bar" },
      h("strong", { class: "title" }, options.title),
      this.#count,
    );
    const attributes = { class: "scroll", role: "region", "aria-label": options.title };
    this.#scroll = h("div", { ...attributes, tabindex: "0" }, this.#list);
    this.element = h("div", { class: "item-list", tabindex: "-1" }, bar, this.#scroll, this.#note);
    this.show([], 0);
  }

  /** `total`: how many there are, of which `items` are the first. */
  show(items: readonly T[], total: number): void {
    const { formatCount, setChildren } = this.#dom;
    const { empty } = this.#options;
    const elements = new Map<string, HTMLElement>();
    for (const item of items) {
      const key = this.#options.keyOf(item);
      let number = 0;
      while (elements.has(`${number} ${key}`)) number += 1;
      const name = `${number} ${key}`;
      elements.set(name, this.#elements.get(name) ?? this.#render(item));
    }
    this.#elements = elements;
    const hadFocus = this.#list.querySelector(":focus") !== null;
    setChildren(this.#list, [...elements.values()]);
    if (hadFocus && this.#list.querySelector(":focus") === null) this.element.focus();
    const more = Math.max(0, total - items.length);
    const isEmpty = items.length === 0 && more === 0;
    this.#count.textContent = isEmpty ? "" : formatCount(items.length + more);
    this.#note.textContent = isEmpty ? (empty ?? "") : `and ${formatCount(more)} more.`;
    this.#note.hidden = more === 0 && !isEmpty;
    this.#scroll.hidden = items.length === 0;
    this.element.hidden = isEmpty && empty === undefined;
  }

  #render(item: T): HTMLElement {
    return this.#dom.h("li", {}, ...this.#options.render(item));
  }
}
