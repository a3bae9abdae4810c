// Tabs: a list of buttons, of which one is selected, and the panel of each. The arrow keys, Home
// and End move through the list.

import { h } from "./dom.ts";

export interface Tab {
  readonly name: string;
  readonly title: string;
  readonly panel: HTMLElement;
}

export class Tabs {
  /** The list of buttons. */
  readonly element: HTMLElement;
  readonly #tabs: readonly Tab[];
  readonly #buttons: readonly HTMLElement[];
  readonly #onSelect: (name: string) => void;
  #selected: string;

  /** The first tab is selected. `onSelect` is called after another one was selected. */
  constructor(label: string, tabs: readonly [Tab, ...Tab[]], onSelect: (name: string) => void) {
    this.#tabs = tabs;
    this.#onSelect = onSelect;
    this.#selected = tabs[0].name;
    this.#buttons = tabs.map(({ name, title, panel }) => {
      panel.id = `panel-${name}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", `tab-${name}`);
      const attributes = { type: "button", role: "tab", id: `tab-${name}` };
      const onclick = () => this.select(name);
      return h("button", { ...attributes, "aria-controls": panel.id, onclick }, title);
    });
    this.element = h(
      "div",
      { class: "tabs", part: "tabs", role: "tablist", "aria-label": label },
      ...this.#buttons,
    );
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.#mark();
  }

  get panels(): HTMLElement[] {
    return this.#tabs.map(({ panel }) => panel);
  }

  get selected(): string {
    return this.#selected;
  }

  select(name: string): void {
    if (name === this.#selected) return;
    this.#selected = name;
    this.#mark();
    this.#onSelect(name);
  }

  #mark(): void {
    for (const [index, { name, panel }] of this.#tabs.entries()) {
      const isSelected = name === this.#selected;
      panel.hidden = !isSelected;
      this.#buttons[index]?.setAttribute("aria-selected", String(isSelected));
      this.#buttons[index]?.setAttribute("tabindex", isSelected ? "0" : "-1");
    }
  }

  #key(event: KeyboardEvent): void {
    const index = this.#tabs.findIndex(({ name }) => name === this.#selected);
    const { length } = this.#tabs;
    const moves: Readonly<Record<string, number>> = {
      ArrowRight: (index + 1) % length,
      ArrowLeft: (index + length - 1) % length,
      Home: 0,
      End: length - 1,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.select((this.#tabs[next] as Tab).name);
    this.#buttons[next]?.focus();
  }
}
