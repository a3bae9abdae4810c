// Tabs: a list of buttons, of which one is selected, and the panel of each. The arrow keys, Home
// and End move through the list.

import type { Dom } from "./dom.ts";

/** The panel of each tab, by the tab's title. */
export type TabPanels = Readonly<Record<string, HTMLElement>>;

export class Tabs {
  /** The list of buttons. */
  readonly element: HTMLElement;
  readonly #dom: Dom;
  readonly #panels: [string, HTMLElement][] = [];
  readonly #buttons: HTMLElement[] = [];
  readonly #onSelect: () => void;
  selected = "";

  /** The first tab is selected. `onSelect` is called after another one was selected. */
  constructor(dom: Dom, label: string, panels: TabPanels, onSelect: () => void) {
    this.#dom = dom;
    this.#onSelect = onSelect;
    const attributes = { class: "tabs", part: "tabs", role: "tablist", "aria-label": label };
    this.element = dom.h("div", attributes);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    for (const [title, panel] of Object.entries(panels)) this.add(title, panel);
  }

  /** Adds a tab after the others. */
  add(title: string, panel: HTMLElement): void {
    const id = `tab-${this.#panels.length}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", id);
    const onclick = () => this.select(title);
    const button = this.#dom.h("button", { type: "button", role: "tab", id, onclick }, title);
    this.#panels.push([title, panel]);
    this.#buttons.push(button);
    this.element.append(button);
    this.#mark(this.selected || title);
  }

  /** Removes the last tab. */
  removeLast(): void {
    const [title] = this.#panels.pop() ?? [];
    this.#buttons.pop()?.remove();
    if (title === this.selected) this.select(this.#panels[0]?.[0] ?? "");
  }

  select(title: string): void {
    if (title === this.selected) return;
    this.#mark(title);
    this.#onSelect();
  }

  #mark(selected: string): void {
    this.selected = selected;
    for (const [index, [title, panel]] of this.#panels.entries()) {
      panel.hidden = title !== selected;
      this.#buttons[index]?.setAttribute("aria-selected", String(!panel.hidden));
      this.#buttons[index]?.setAttribute("tabindex", panel.hidden ? "-1" : "0");
    }
  }

  #key(event: KeyboardEvent): void {
    const { length } = this.#buttons;
    const index = this.#panels.findIndex(([title]) => title === this.selected);
    const moves: Readonly<Record<string, number>> = {
      ArrowRight: index + 1,
      ArrowLeft: index - 1 + length,
      Home: 0,
      End: length - 1,
    };
    const next = (moves[event.key] ?? Number.NaN) % length;
    const button = this.#buttons[next];
    if (button === undefined) return;
    event.preventDefault();
    this.select(this.#panels[next]?.[0] ?? "");
    button.focus();
  }
}
