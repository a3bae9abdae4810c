// The list of a store's tables, with the number of entities in each.

import type { TableStats } from "../types.ts";
import { formatCount, h } from "./dom.ts";

export interface TableListOptions {
  readonly choose: (table: string) => void;
  readonly add: () => void;
  readonly refresh: () => void;
}

export class TableList {
  readonly element: HTMLElement;
  readonly #list = h("ul", {});
  readonly #none = h("p", { class: "muted", hidden: true }, "No tables yet.");
  readonly #choose: (table: string) => void;
  #chosen: string | undefined;

  constructor({ choose, add, refresh }: TableListOptions) {
    this.#choose = choose;
    const refreshButton = h(
      "button",
      {
        type: "button",
        class: "small",
        "aria-label": "Read the tables again",
        title: "Read the tables again",
        onclick: refresh,
      },
      "↻",
    );
    this.element = h(
      "nav",
      { class: "tables", part: "tables", "aria-label": "Tables" },
      h(
        "div",
        { class: "bar" },
        h("span", { class: "name", "aria-hidden": "true" }, "Tables"),
        refreshButton,
      ),
      this.#list,
      this.#none,
      h("button", { type: "button", onclick: add }, "New table…"),
    );
  }

  show(tables: readonly TableStats[]): void {
    const root = this.element.getRootNode() as ShadowRoot;
    const focused = (root.activeElement as HTMLElement | null)?.dataset?.["table"];
    this.#none.hidden = tables.length > 0;
    this.#list.replaceChildren(...tables.map((table) => this.#item(table)));
    this.mark(this.#chosen);
    if (focused !== undefined) this.#button(focused)?.focus();
  }

  /** Highlights the chosen table in the list; undefined: none. */
  mark(chosen: string | undefined): void {
    this.#chosen = chosen;
    for (const button of this.#list.querySelectorAll<HTMLElement>("button")) {
      if (button.dataset["table"] === chosen) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  #item({ name, rows }: TableStats): HTMLElement {
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", "data-table": name, onclick: () => this.#choose(name) },
        h("span", { class: "name" }, name),
        h("span", { class: "rows" }, formatCount(rows)),
        h("span", { class: "unseen" }, rows === 1 ? " entity" : " entities"),
      ),
    );
  }

  #button(table: string): HTMLElement | undefined {
    const buttons = [...this.#list.querySelectorAll<HTMLElement>("button")];
    return buttons.find((button) => button.dataset["table"] === table);
  }
}
