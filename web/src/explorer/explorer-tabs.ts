// Tabs: a list of buttons, of which one is selected, and the panel of each. The arrow keys, Home
// and End move through the list.

import type { Dom } from "./dom.ts";

/** The panel of each tab, by the tab's title. */
export type TabPanels = Readonly<Record<string, HTMLElement>>;

export class Tabs {
  /** The list of buttons. */
  readonly element: HTMLElement;
  readonly #panels: [string, HTMLElement][];
  readonly #buttons: readonly HTMLElement[];
  readonly #onSelect: () => void;
  selected = "";

  /** The first tab is selected. `onSelect` is called after another one was selected. */
  constructor({ h }: Dom, label: string, panels: TabPanels, onSelect: () => void) {
    this.#panels = Object.entries(panels);
    this.#onSelect = onSelect;
    this.#buttons = this.#panels.map(([title, panel], index) => {
      const id = `tab-${index}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", id);
      const onclick = () => this.select(title);
      return h("button", { type: "button", role: "tab", id, onclick }, title);
    });
    const attributes = { class: "tabs", part: "tabs", role: "tablist", "aria-label": label };
    this.element = h("div", attributes, ...this.#buttons);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.#mark(this.#panels[0]?.[0] ?? "");
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
